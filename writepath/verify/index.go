package verify

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds on the work for one word of a fact. What lies beyond is taken not to be there.
const (
	maxBucket = 4096 // words of a source with one beginning
	maxUnits  = 1000 // units that a word is looked for in
	// maxFigures is how many different numbers, and dates, of a source are known.
	maxFigures = 10_000
)

// index knows what a source says.
type index struct {
	*lexicon
	textTokens
	at       time.Time
	counts   []quantity // each once, as dates
	dates    []date
	entries  map[string]*entry
	buckets  map[string][]*entry // by the first characters
	cache    map[string][]*entry // matches of a fact's words
	han      hanIndex
	hanAt    map[string][]int // units by pair of characters, or by a character alone
	numbers  map[string][]quantity
	speakers map[string]bool
	moves    int // how many days the source's relative words may move a date
}

// entry is one word of the source.
type entry struct {
	text     string
	lower    bool // somewhere written without a capital
	inside   bool // somewhere written with a capital, not at the beginning
	positive bool // somewhere not negated, or asked
	negative bool // somewhere negated, or asked
	units    []int
	full     bool // there are more units
}

func (l *lexicon) index(src *Source) *index {
	ix := &index{
		lexicon: l, textTokens: l.cut(src.Text), at: src.Time, entries: map[string]*entry{}, buckets: map[string][]*entry{},
		cache: map[string][]*entry{}, han: newHanIndex(), hanAt: map[string][]int{}, numbers: map[string][]quantity{}, speakers: map[string]bool{},
	}
	negated := negatedTokens(ix.tokens)
	figures := l.figuresOf(ix.tokens, negated)
	for i := range ix.units {
		for name := range strings.FieldsSeq(ix.units[i].speaker) {
			ix.speakers[name] = true
		}
	}
	for i := range ix.tokens {
		t := &ix.tokens[i]
		switch t.kind {
		case word:
			e := ix.see(t)
			asked := ix.units[t.unit].question
			ix.units[t.unit].third = ix.units[t.unit].third || l.thirdPerson[t.text]
			e.positive = e.positive || asked || !negated[i]
			e.negative = e.negative || asked || negated[i]
		case han:
			ix.han.add(t.text)
			for p := range pairsOf(t.text) {
				if n := len(ix.hanAt[p]); n < maxUnits && (n == 0 || ix.hanAt[p][n-1] != t.unit) {
					ix.hanAt[p] = append(ix.hanAt[p], t.unit)
				}
			}
		case number, kana:
		}
		ix.moves = max(ix.moves, ix.move(t))
	}
	for _, text := range src.Context {
		for _, t := range l.cut(text).tokens {
			switch t.kind {
			case word:
				t.unit = -1
				e := ix.see(&t)
				e.positive, e.negative = true, true
			case han:
				ix.han.add(t.text)
			case number, kana:
			}
		}
	}
	ix.addFigures(&figures)
	return ix
}

// addFigures takes each number and date once.
func (ix *index) addFigures(f *figures) {
	type key struct {
		value, of string
		negated   bool
	}
	seen := map[key]bool{}
	for _, q := range f.numbers {
		k := key{q.values[0], q.of, q.negated}
		if seen[k] || len(ix.counts) == maxFigures {
			continue
		}
		seen[k] = true
		ix.counts = append(ix.counts, q)
		for _, v := range q.values {
			ix.numbers[v] = append(ix.numbers[v], q)
		}
	}
	dates := map[date]bool{}
	for _, readings := range f.dates {
		for _, d := range readings {
			if !dates[d] && len(dates) < maxFigures {
				dates[d] = true
				ix.dates = append(ix.dates, d)
			}
		}
	}
}

// move returns how many days a word may move a date.
func (ix *index) move(t *token) int {
	if t.kind != han {
		return ix.relative[t.text]
	}
	days := 0
	for w, n := range ix.relative {
		if w[0] >= utf8.RuneSelf && strings.Contains(t.text, w) {
			days = max(days, n)
		}
	}
	return days
}

func (ix *index) see(t *token) *entry {
	e := ix.entries[t.text]
	if e == nil {
		e = &entry{text: t.text}
		ix.entries[t.text] = e
		b := bucket(t.text)
		ix.buckets[b] = append(ix.buckets[b], e)
		if rest := strings.TrimPrefix(t.text, "ge"); rest != t.text && len(rest) > 3 {
			b = bucket(rest)
			ix.buckets[b] = append(ix.buckets[b], e)
		}
		if g := ix.groups[t.text]; g != 0 {
			ix.buckets["="+itoa(g)] = append(ix.buckets["="+itoa(g)], e)
		}
	}
	e.lower = e.lower || !t.cap
	e.inside = e.inside || t.cap && !t.first
	switch n := len(e.units); {
	case t.unit < 0 || n > 0 && e.units[n-1] == t.unit:
	case n == maxUnits:
		e.full = true
	default:
		e.units = append(e.units, t.unit)
	}
	return e
}

// bucket returns what words that can match have in common.
func bucket(w string) string {
	n := 3
	if isHangul(w) {
		n = 2
	}
	return cutRunes(w, n)
}

// matches returns the source's words that a fact's word can be a form of.
func (ix *index) matches(t *token) []*entry {
	key := t.text
	if t.cap {
		key = "^" + key
	}
	if found, ok := ix.cache[key]; ok {
		return found
	}
	var found []*entry
	look := func(name string) {
		list := ix.buckets[name]
		for _, e := range list[:min(len(list), maxBucket)] {
			if ix.same(t.text, e.text, t.cap && !e.lower) {
				found = append(found, e)
			}
		}
	}
	look(bucket(t.text))
	if rest := strings.TrimPrefix(t.text, "ge"); rest != t.text && len(rest) > 3 {
		look(bucket(rest))
	}
	if g := ix.groups[t.text]; g != 0 {
		look("=" + itoa(g))
	}
	if len(found) == 0 {
		if e := ix.entries[t.text]; e != nil {
			found = append(found, e)
		}
	}
	ix.cache[key] = found
	return found
}

// negatedTokens says which tokens stand in the scope of a negation: its clause from the
// conjunct that has it on, or the part of it behind a word like "without".
func negatedTokens(tokens []token) []bool {
	out := make([]bool, len(tokens))
	negated, scope := false, -1
	for begin := 0; begin < len(tokens); {
		if tokens[begin].scope != scope {
			negated, scope = false, tokens[begin].scope
		}
		end := begin
		for end < len(tokens) && tokens[end].unit == tokens[begin].unit {
			negated = negated || tokens[end].negate && !tokens[end].after
			end++
		}
		behind := negated
		for i := begin; i < end; i++ {
			behind = behind || tokens[i].after
			out[i] = behind
		}
		begin = end
	}
	return out
}
