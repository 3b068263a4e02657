package entity

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Entity is something that a name can mean, as its registry has it.
type Entity struct {
	ID mem.ID
	// Namespace is where it is at home: those who see the namespace see it.
	Namespace acl.Namespace
	// Name is how it was first written, Key the canonical form; see CanonicalKey.
	Name, Key string
	Type      Type
	// Aliases are other names that it goes by.
	Aliases []Alias
	// MergedInto is the entity that this one turned out to be, zero if none.
	MergedInto mem.ID
}

// Alias is another name of an entity, as the people of a namespace use it.
type Alias struct {
	// Name is how it was written, Key the canonical form.
	Name, Key string
	Namespace acl.Namespace
}

// Reason says why a name may mean an entity.
type Reason string

// The reasons, the best first.
const (
	// SameName: the canonical names are equal.
	SameName Reason = "same_name"
	// KnownAlias: the entity has gone by this name before.
	KnownAlias Reason = "alias"
	// Initials: a name is abbreviated, as in Ada L. or A. Lovelace.
	Initials Reason = "initials"
	// MiddleName: a middle name is left out.
	MiddleName Reason = "middle_name"
	// FamilyName: the family name alone.
	FamilyName Reason = "family_name"
	// Acronym: the first letters of an organization's name.
	Acronym Reason = "acronym"
	// Spelling: the names differ in accents, or in how umlauts are written.
	Spelling Reason = "spelling"
	// GivenName: the given name alone. Many people share one.
	GivenName Reason = "given_name"
	// Longer: the entity is known by a shorter form of the name. It may be somebody else's.
	Longer Reason = "longer"
)

// rank orders reasons, the best first.
func (r Reason) rank() int {
	return slices.Index([]Reason{SameName, KnownAlias, Initials, MiddleName, FamilyName, Acronym, Spelling, GivenName, Longer}, r)
}

// exact reports that the name is the entity's own.
func (r Reason) exact() bool { return r == SameName || r == KnownAlias }

// links reports whether the reason is enough to link when nothing else fits.
func (r Reason) links() bool { return r != GivenName && r != Longer }

// Short is another form of a name.
type Short struct {
	Key    string
	Reason Reason
}

// maxWords is the number of words of the longest name that has short forms.
const maxWords = 6

// ShortKeys returns the canonical forms under which a name may also be met, for looking up
// what might be meant: each once, without the canonical key itself, at most eight. A name that
// has no other form, and an empty one, have none.
func ShortKeys(name string, t Type) []Short {
	key := CanonicalKey(name)
	var out []Short
	add := func(k string, reason Reason) {
		if k != key && k != "" && !slices.ContainsFunc(out, func(s Short) bool { return s.Key == k }) {
			out = append(out, Short{k, reason})
		}
	}
	if t.formal() || key == "" {
		return nil
	}
	words := strings.Fields(key)
	if n := len(words); n > 1 && n <= maxWords {
		first, last := words[0], words[n-1]
		if t == Person || t == Other && wordsOnly(words) {
			if n > 2 {
				add(first+" "+last, MiddleName)
			}
			if utf8.RuneCountInString(last) > 1 {
				add(first+" "+initial(last), Initials)
				add(last, FamilyName)
			}
			if utf8.RuneCountInString(first) > 1 {
				add(initial(first)+" "+last, Initials)
				add(first, GivenName)
			}
		}
		if t == Organization || t == Other {
			add(acronym(words), Acronym)
		}
	}
	add(withoutAccents(key), Spelling)
	add(withoutAccents(germanSpelling(key)), Spelling)
	return out
}

func wordsOnly(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) })
}

func initial(word string) string {
	_, size := utf8.DecodeRuneInString(word)
	return word[:size]
}

// acronym returns the first letters of three words or more, "" if there are fewer.
func acronym(words []string) string {
	var b strings.Builder
	n := 0
	for _, w := range words {
		switch w {
		case "of", "the", "and", "for", "&", "de", "la", "für", "und", "y", "et", "des", "du", "der":
			continue
		}
		b.WriteString(initial(w))
		n++
	}
	if n < 3 {
		return ""
	}
	return b.String()
}

// Candidate is an entity that a name may mean, and why.
type Candidate struct {
	Entity mem.ID
	Reason Reason
}

// Candidates returns the entities among known that a name may mean, the best reason first and
// among equals the one that is at home nearest; each with its best reason. It decides nothing:
// see Resolve. A name with an empty canonical key has none.
func Candidates(name string, t Type, known []Entity) []Candidate {
	ranked := newIndex(known).candidates(CanonicalKey(name), name, t)
	out := make([]Candidate, len(ranked))
	for i, c := range ranked {
		out[i] = c.Candidate
	}
	return out
}

// ranked is a candidate with what it is compared by.
type ranked struct {
	Candidate
	at    int // its place among the known
	root  mem.ID
	depth int
	same  bool // of the same type
}

// index finds entities by name.
type index struct {
	known []Entity
	byID  map[mem.ID]int
	// byKey has every form of every name.
	byKey map[string][]form
}

type form struct {
	at     int
	reason Reason
	depth  int
}

func newIndex(known []Entity) *index {
	x := &index{known: slices.Clone(known), byID: make(map[mem.ID]int, len(known)), byKey: map[string][]form{}}
	for i := range x.known {
		x.add(i)
	}
	return x
}

func (x *index) add(i int) {
	e := &x.known[i]
	e.Key = cmp.Or(e.Key, CanonicalKey(e.Name))
	key := e.Key
	if !e.ID.IsZero() {
		x.byID[e.ID] = i
	}
	home := depth(e.Namespace)
	x.byKey[key] = append(x.byKey[key], form{i, SameName, home})
	for _, a := range e.Aliases {
		x.byKey[a.Key] = append(x.byKey[a.Key], form{i, KnownAlias, depth(a.Namespace)})
	}
	for _, s := range ShortKeys(key, e.Type) {
		x.byKey[s.Key] = append(x.byKey[s.Key], form{i, s.Reason, home})
	}
}

// settle makes an entity that a text was the first to name one like the others.
func (x *index) settle(at int) {
	e := &x.known[at]
	x.byID[e.ID] = at
	home := depth(e.Namespace)
	place := func(key string) {
		for i := range x.byKey[key] {
			if f := &x.byKey[key][i]; f.at == at {
				f.depth = home
			}
		}
	}
	place(e.Key)
	for _, s := range ShortKeys(e.Key, e.Type) {
		place(s.Key)
	}
}

// learn adds an alias of a known entity.
func (x *index) learn(id mem.ID, a Alias) {
	at, ok := x.byID[id]
	if !ok {
		return
	}
	e := &x.known[at]
	e.Aliases = append(slices.Clip(e.Aliases), a)
	x.byKey[a.Key] = append(x.byKey[a.Key], form{at, KnownAlias, depth(a.Namespace)})
}

func depth(n acl.Namespace) int { return len(n.Ancestors()) }

// root follows the merges of an entity to what it is now, as far as it is known.
func (x *index) root(at int) mem.ID {
	id := x.known[at].ID
	for range x.known {
		i, ok := x.byID[id]
		if !ok || x.known[i].MergedInto.IsZero() {
			return id
		}
		id = x.known[i].MergedInto
	}
	return id
}

func (x *index) candidates(key, name string, t Type) []ranked {
	if key == "" {
		return nil
	}
	best := map[int]ranked{}
	keep := func(f form, reason Reason) {
		e := &x.known[f.at]
		if !t.fits(e.Type) {
			return
		}
		c := ranked{Candidate: Candidate{e.ID, reason}, at: f.at, root: x.root(f.at), depth: f.depth, same: t == e.Type}
		if old, ok := best[f.at]; !ok || compare(c, old) < 0 {
			best[f.at] = c
		}
	}
	for _, f := range x.byKey[key] {
		keep(f, f.reason)
	}
	for _, s := range ShortKeys(name, t) {
		for _, f := range x.byKey[s.Key] {
			if f.reason != SameName {
				continue
			}
			if s.Reason == Spelling {
				keep(f, Spelling)
			} else {
				keep(f, Longer)
			}
		}
	}
	out := make([]ranked, 0, len(best))
	for _, c := range best {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ranked) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		return a.at - b.at
	})
	return out
}

// compare orders candidates: an own name before any other form, the nearest first.
func compare(a, b ranked) int {
	if a.Reason.exact() != b.Reason.exact() {
		if a.Reason.exact() {
			return -1
		}
		return 1
	}
	if a.Reason.exact() {
		return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(a.Reason.rank(), b.Reason.rank()), differ(a.same, b.same))
	}
	return cmp.Or(cmp.Compare(a.Reason.rank(), b.Reason.rank()), cmp.Compare(b.depth, a.depth), differ(a.same, b.same))
}

func differ(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}
