package entity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cjk finds names in scripts that have no capitals.
func (r *reading) cjk() {
	var spans []span
	text := r.text
	r.japanese = japanese(text)
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		if c < 0x2E80 {
			i += size
			continue
		}
		if closing, ok := brackets[c]; ok {
			if n := strings.Index(text[i+size:], closing); n > 0 && n <= MaxName && r.quoted(text[i+size:i+size+n], text[i+size+n+len(closing):], c) {
				r.add(i+size, i+size+n, Other, Likely)
				spans = append(spans, span{i, i + size + n + len(closing)})
				i += size + n + len(closing)
				continue
			}
		}
		if !cjk(c) {
			i += size
			continue
		}
		end := i
		for end < len(text) {
			d, n := utf8.DecodeRuneInString(text[end:])
			if !cjk(d) && d != '・' {
				break
			}
			end += n
		}
		spans = append(spans, r.ideographs(i, end)...)
		i = end
	}
	r.take(spans)
}

//nolint:gochecknoglobals // a table that is never written
var brackets = map[rune]string{'「': "」", '『': "』", '《': "》", '【': "】"}

// quoted reports whether what is between quotation marks is a name and not something said.
func (r *reading) quoted(inside, after string, open rune) bool {
	if utf8.RuneCountInString(inside) > 16 || strings.ContainsAny(inside, "。、！？!?，\n") {
		return false
	}
	if open == '《' {
		return true
	}
	for _, said := range []string{"と言", "といい", "と話", "と聞", "と答", "と思", "って"} {
		if strings.HasPrefix(after, said) {
			return false
		}
	}
	last, _ := utf8.DecodeLastRuneInString(inside)
	return !unicode.Is(unicode.Hiragana, last) && open != '【'
}

// ideographs finds the names in text[start:end], which has no other characters.
func (r *reading) ideographs(start, end int) []span {
	var spans []span
	for i := start; i < end; {
		n, t := r.ideographicName(i, end, spans)
		if n > 0 {
			r.add(i, i+n, t, Likely)
			spans = append(spans, span{i, i + n})
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(r.text[i:])
		i += size
	}
	return spans
}

func (r *reading) ideographicName(i, end int, before []span) (int, Type) {
	s := r.text[i:end]
	atEdge := i == 0 || len(before) > 0 && before[len(before)-1].end == i || r.edge(i)
	if !atEdge {
		return 0, Other
	}
	if n := r.titled(i, end); n > 0 {
		return n, Person
	}
	if n := firm(s); n > 0 {
		return n, Organization
	}
	if n := longest(ideographicOrgs, s); n > 0 {
		return n, Organization
	}
	if n := longest(ideographicPlaces, s); n > 0 {
		return n, Place
	}
	if n := dotted(s); n > 0 {
		return n, Person
	}
	return 0, Other
}

// edge reports whether a name can begin at i: where the kind of character changes, behind a
// particle or a verb.
func (r *reading) edge(i int) bool {
	prev, _ := utf8.DecodeLastRuneInString(r.text[:i])
	here, _ := utf8.DecodeRuneInString(r.text[i:])
	switch {
	case !cjk(prev):
		return true
	case script(prev) != script(here):
		return script(here) != unicode.Hiragana
	case script(here) == unicode.Han:
		return strings.ContainsRune("的在去到从從和与與跟是给給找叫了问問见見对對向由为為请請约約", prev)
	default:
		return false
	}
}

func script(c rune) *unicode.RangeTable {
	switch {
	case c == 'ー' || unicode.Is(unicode.Katakana, c):
		return unicode.Katakana
	case unicode.Is(unicode.Hiragana, c):
		return unicode.Hiragana
	case unicode.Is(unicode.Hangul, c):
		return unicode.Hangul
	default:
		return unicode.Han
	}
}

// titled returns the length of the name at the beginning of text[start:end] that a title or a form of
// address follows, without the title.
func (r *reading) titled(start, end int) int {
	s := r.text[start:end]
	n := 0
	var kind *unicode.RangeTable
	for k := 0; n < len(s) && k < 12; k++ {
		c, size := utf8.DecodeRuneInString(s[n:])
		if k > 0 {
			for title := range strings.FieldsSeq(attachedTitles) {
				if strings.HasPrefix(s[n:], title) && r.titleFits(kind, title, k, s) {
					return n
				}
			}
		}
		if kind == nil {
			kind = script(c)
		}
		if script(c) != kind || kind == unicode.Hiragana || kind == unicode.Han && k >= 4 || kind == unicode.Hangul && k >= 4 {
			return 0
		}
		n += size
	}
	// Korean puts a space before the title.
	if rest, ok := strings.CutPrefix(r.text[end:], " "); ok && kind == unicode.Hangul && n == len(s) && n >= 6 {
		for title := range strings.FieldsSeq(attachedTitles) {
			if first, _ := utf8.DecodeRuneInString(title); script(first) == unicode.Hangul && strings.HasPrefix(rest, title) {
				return n
			}
		}
	}
	return 0
}

// titleFits keeps short titles, which are parts of common words, to names that look like some.
func (r *reading) titleFits(kind *unicode.RangeTable, title string, runes int, s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	switch title {
	case "总", "總", "殿", "氏", "君", "様":
		return kind == unicode.Han && runes <= 3 && (surname(first) || title == "氏" && runes >= 2 || title == "様" && runes >= 2)
	case "先生", "女士", "小姐", "老师", "老師", "教授", "医生", "醫生", "经理", "經理":
		return kind != unicode.Han || runes <= 3 && (surname(first) || r.japanese)
	case "씨", "님":
		return runes >= 2 && runes <= 4 && !strings.HasPrefix(s, "선생") && !strings.HasPrefix(s, "교수")
	default:
		return true
	}
}

// japanese reports a text with the syllables that only Japanese has.
func japanese(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return unicode.Is(unicode.Hiragana, c) })
}

func surname(c rune) bool { return strings.ContainsRune(surnames, c) }

// firm returns the length of a firm's name at the beginning of s that its form gives away.
func firm(s string) int {
	for prefix := range strings.FieldsSeq(attachedPrefixes) {
		rest, ok := strings.CutPrefix(s, prefix)
		if !ok || rest == "" {
			continue
		}
		first, _ := utf8.DecodeRuneInString(rest)
		n := 0
		for n < len(rest) {
			c, size := utf8.DecodeRuneInString(rest[n:])
			if script(c) != script(first) && c != 'ー' || script(first) == unicode.Hiragana {
				break
			}
			n += size
		}
		if n > 0 {
			return len(prefix) + n
		}
	}
	for k, n := 0, 0; n < len(s) && k < 10; k++ {
		for suffix := range strings.FieldsSeq(`株式会社 有限公司 股份有限公司 公司 大学 大學 대학교 銀行 银行 病院 医院`) {
			if k >= 2 && strings.HasPrefix(s[n:], suffix) {
				return n + len(suffix)
			}
		}
		c, size := utf8.DecodeRuneInString(s[n:])
		if script(c) == unicode.Hiragana || strings.ContainsRune("在去到的是和与了", c) {
			return 0
		}
		n += size
	}
	return 0
}

// dotted returns the length of a foreign name with a middle dot.
func dotted(s string) int {
	n, dots := 0, 0
	for n < len(s) {
		c, size := utf8.DecodeRuneInString(s[n:])
		if c == '・' {
			dots++
		} else if script(c) != unicode.Katakana {
			break
		}
		n += size
	}
	if dots == 0 || strings.HasSuffix(s[:n], "・") {
		return 0
	}
	return n
}

func longest(list map[string]bool, s string) int {
	best := 0
	for k, n := 0, 0; n < len(s) && k < 8; k++ {
		_, size := utf8.DecodeRuneInString(s[n:])
		n += size
		if list[s[:n]] {
			best = n
		}
	}
	return best
}

//nolint:gochecknoglobals // tables, written once while the package initialises and only read afterwards
var (
	ideographicPlaces = setOf(placesCJK)
	ideographicOrgs   = setOf(orgsCJK)
)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
