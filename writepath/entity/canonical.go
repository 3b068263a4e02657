package entity

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold returns s in the form that is compared: NFKC, case folded, apostrophes and hyphens of
// one kind, nothing that cannot be seen. It is its own fixed point.
func fold(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(s)
	}
	caser := cases.Fold() // not safe for concurrent use, so not shared
	s = strings.ToValidUTF8(s, "\uFFFD")
	for range 4 { // folding may undo the normal form and the other way round
		next := strings.Map(plainRune, norm.NFKC.String(caser.String(norm.NFKC.String(s))))
		if next == s {
			break
		}
		s = next
	}
	return s
}

func plainRune(r rune) rune {
	switch {
	case r == '’', r == '‘', r == 'ʼ', r == '`', r == '´':
		return '\''
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r == 0xAD, r == 0x34F, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x2069, r == 0xFEFF,
		r >= 0xFE00 && r <= 0xFE0F:
		return -1
	case r == 0x0307: // what is left of the Turkish capital İ
		return -1
	default:
		return r
	}
}

// CanonicalKey returns the form by which names are compared: NFKC, case folded, white space
// collapsed, without quotation marks and brackets around it, without possessive endings, titles
// and forms of address (Dr., Herr, さん), articles and legal forms (Inc, GmbH, 株式会社), and with
// the initials of a name as one word. A name that consists of nothing else keeps it. Accents
// stay: without them other names begin.
//
// It never fails: an empty or unprintable name has the empty key, which matches nothing, and
// invalid UTF-8 counts as U+FFFD. CanonicalKey(CanonicalKey(x)) is CanonicalKey(x).
func CanonicalKey(name string) string {
	key := fold(name)
	if strings.Contains(key, "://") {
		key = strings.ToValidUTF8(name, "\uFFFD")
		for range 8 {
			next := linkKey(key)
			if next == key {
				break
			}
			key = next
		}
		return key
	}
	for range len(key) { // every layer has a length
		next := fold(strip(key))
		if next == key {
			break
		}
		key = next
	}
	return key
}

// linkKey folds what of a link is the same in upper and in lower case.
func linkKey(link string) string {
	link = strings.Join(strings.FieldsFunc(link, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	link = strings.Map(plainRune, norm.NFKC.String(link))
	scheme, rest, ok := strings.Cut(link, "://")
	if !ok {
		return fold(link)
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	return strings.TrimSpace(fold(scheme) + "://" + fold(host) + strings.TrimRight(path, "/ "))
}

// strip takes one layer of what is not the name off a folded name.
func strip(key string) string {
	words := strings.FieldsFunc(key, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == ',' || r == ';' || r == '、' || r == '，'
	})
	for i, w := range words {
		words[i] = trimWord(w)
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	words = joinInitials(words)
	for len(words) > 1 && (isTitle(words[0]) || isArticle(words[0])) {
		words = words[1:]
	}
	for len(words) > 1 && (isLegalForm(words[len(words)-1]) || words[len(words)-1] == "&") {
		words = words[:len(words)-1]
	}
	if n := len(words); n > 0 {
		words[n-1] = stripAttached(possessive(words[n-1]))
	}
	return strings.Join(words, " ")
}

// trimWord takes marks off both ends of a word. A leading @ or # belongs to it.
func trimWord(w string) string {
	w = strings.TrimLeftFunc(w, func(r rune) bool {
		return r != '@' && r != '#' && r != '&' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) && !unicode.Is(unicode.So, r)
	})
	return strings.TrimRightFunc(w, func(r rune) bool {
		return r != '&' && r != '+' && r != '#' && r != '%' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) && !unicode.Is(unicode.So, r)
	})
}

// joinInitials writes j. r. r. as one word.
func joinInitials(words []string) []string {
	var out []string
	run := false
	for _, w := range words {
		dotted := strings.Contains(w, ".") && initials(w)
		if dotted {
			w = strings.ReplaceAll(w, ".", "")
		}
		single := utf8.RuneCountInString(w) == 1 && unicode.IsLetter([]rune(w)[0])
		if (single || dotted) && run {
			out[len(out)-1] += w
			continue
		}
		run = single || dotted
		out = append(out, w)
	}
	return out
}

// initials reports whether a word is single letters with full stops between.
func initials(w string) bool {
	for part := range strings.SplitSeq(w, ".") {
		if utf8.RuneCountInString(part) != 1 {
			return false
		}
	}
	return true
}

// possessive takes the ending off a folded word: ada's, and james' with a bare apostrophe.
func possessive(w string) string {
	for {
		t, ok := strings.CutSuffix(w, "'s")
		if !ok {
			t, ok = strings.CutSuffix(w, "'")
		}
		if !ok || t == "" {
			return w
		}
		w = t
	}
}

// stripAttached takes titles and legal forms off that are written without a space.
func stripAttached(w string) string {
	r, _ := utf8.DecodeRuneInString(w)
	if !cjk(r) {
		return w
	}
	for _, list := range []string{attachedTitles, attachedForms} {
		for suffix := range strings.FieldsSeq(list) {
			if t, ok := strings.CutSuffix(w, suffix); ok && t != "" {
				return t
			}
		}
	}
	for prefix := range strings.FieldsSeq(attachedPrefixes) {
		if t, ok := strings.CutPrefix(w, prefix); ok && t != "" {
			return t
		}
	}
	return w
}

// withoutAccents returns a key without diacritics, ä written as ae and without both.
func withoutAccents(key string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(key) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// germanSpelling returns a key with umlauts spelled out.
func germanSpelling(key string) string {
	return strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue").Replace(key)
}
