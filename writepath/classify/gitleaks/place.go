package gitleaks

import (
	"cmp"
	"index/suffixarray"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/report"

	"github.com/memkernel/memkernel/writepath/classify"
)

// A text is scanned in pieces of pieceSize bytes, as gitleaks does with files, because its time
// grows with the square of what it finds in one. Each shares overlap bytes with the next, so
// that a secret of up to that length lies whole in one of them.
const (
	pieceSize = 64 << 10
	overlap   = 16 << 10
	// slack is how far from its place a cut may be moved to one behind white space.
	slack = 1 << 10
)

// pieces yields where each piece of text begins and ends.
func pieces(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		start := 0
		for len(text)-start > pieceSize {
			end := cut(text, start+pieceSize)
			if !yield(start, end) {
				return
			}
			start = cut(text, end-overlap)
		}
		yield(start, len(text))
	}
}

// cut returns where to cut text, at the place given or not far before it: behind white space,
// or else between two characters.
func cut(text string, at int) int {
	if n := strings.LastIndexAny(text[at-slack:at], " \n"); n >= 0 {
		return at - slack + n + 1
	}
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(text[at]) {
			break
		}
		at--
	}
	return at
}

// leaks are the secrets of one text.
type leaks struct {
	text  string
	found []classify.Finding
	kinds map[string]classify.Kind // by value
}

// place says where in the text the findings in one piece of it are. gitleaks itself tells the
// line and column of the match and not where in it the secret is; so the rule is asked again.
func (l *leaks) place(s *Scanner, start int, piece string, findings []report.Finding) {
	matches := map[string]map[string]string{} // of rules, with their secrets
	for i := range findings {
		f := &findings[i]
		if f.Secret == "" { // a rule on names of files
			continue
		}
		if matches[f.RuleID] == nil {
			matches[f.RuleID] = map[string]string{}
		}
		if matches[f.RuleID][f.Match] = f.Secret; groupsParts(f.RuleID) {
			matches[f.RuleID][f.Match] = f.Match
		}
	}
	for id, secrets := range matches {
		rule := s.detector.Config.Rules[id]
		kind := s.kinds[id]
		for _, m := range rule.Regex.FindAllStringIndex(piece, -1) {
			match := strings.TrimLeft(piece[m[0]:m[1]], "\n") // as gitleaks does
			at := start + m[1] - len(match)
			match = strings.TrimRight(match, "\n")
			secret, ok := secrets[match]
			if !ok {
				continue // allowed, or too regular
			}
			from, to := within(rule, match, secret)
			l.found = append(l.found, classify.Finding{Kind: kind, Start: at + from, End: at + to})
			value := l.text[at+from : at+to]
			// Of two rules for one value the same one wins every time.
			if known, ok := l.kinds[value]; !ok || kind < known {
				l.kinds[value] = kind
			}
		}
	}
}

// within returns where in a match of a rule its secret is. That is a group, the one that the
// rule names or else the first that is not empty, or the whole match.
func within(rule config.Rule, match, secret string) (from, to int) {
	groups := rule.Regex.FindStringSubmatchIndex(match)
	for g := 1; 2*g < len(groups); g++ {
		from, to := groups[2*g], groups[2*g+1]
		if (rule.SecretGroup == 0 || rule.SecretGroup == g) && from >= 0 && match[from:to] == secret {
			return from, to
		}
	}
	return 0, len(match)
}

// groupsParts reports whether the groups of a default rule, which gitleaks takes for the secret,
// are a small part of it: they are there for a repetition or a choice.
func groupsParts(id string) bool { return id == "jwt-base64" || id == "microsoft-teams-webhook" }

// minRepeat is the length in bytes of the shortest value that is looked for where no rule found
// it: a shorter one may well stand there for something else.
const minRepeat = 8

// repeat finds the values that were found wherever else they stand. Its time and memory are
// bounded whatever the values have in common.
func (l *leaks) repeat() {
	values := slices.DeleteFunc(slices.Collect(maps.Keys(l.kinds)), func(v string) bool { return len(v) < minRepeat })
	if len(values) == 0 {
		return
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	index := suffixarray.New([]byte(l.text))
	longest := make([]int, len(l.text)) // that begins at a byte: its place in values, from 1
	for i, v := range values {
		for _, at := range index.Lookup([]byte(v), -1) {
			longest[at] = i + 1
		}
	}
	end := 0
	for at, n := range longest {
		if n == 0 || at+len(values[n-1]) <= end {
			continue
		}
		end = at + len(values[n-1])
		l.found = append(l.found, classify.Finding{Kind: l.kinds[values[n-1]], Start: at, End: end})
	}
}
