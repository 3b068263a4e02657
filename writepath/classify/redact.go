package classify

import (
	"sort"
	"strings"
)

// A mark is what Redact puts in the place of a secret.
const (
	markStart = "[redacted:"
	markEnd   = "]"
)

// Redact returns text with every secret among the findings replaced by [redacted:kind].
// Findings that do not lie in the text, or overlap an earlier one, are an error of the caller
// and panic. Personal data stays as it is: without it the text would say nothing.
func Redact(text string, findings []Finding) string {
	var b strings.Builder
	done := 0
	for _, f := range findings {
		if !f.Kind.Secret() {
			continue
		}
		b.WriteString(text[done:f.Start])
		b.WriteString(markStart + string(f.Kind) + markEnd)
		done = f.End
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// marks returns the marks in text, in order.
func marks(text string) []Finding {
	var all []Finding
	for i := 0; ; {
		n := strings.Index(text[i:], markStart)
		if n < 0 {
			return all
		}
		start := i + n
		i = start + len(markStart)
		end := i
		for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] >= '0' && text[end] <= '9' || text[end] == '_') {
			end++
		}
		if kind := Kind(text[i:end]); kind.Secret() && strings.HasPrefix(text[end:], markEnd) {
			i = end + len(markEnd)
			all = append(all, Finding{kind, start, i})
		}
	}
}

// spareMarks leaves out each secret that lies within one mark, and extends one that takes in a
// part of a mark to all of it. Or a rule that takes marks for secrets, a host's for example,
// would break them, and find secrets in a text for ever.
func spareMarks(text string, found []candidate) []candidate {
	spared := marks(text)
	if len(spared) == 0 {
		return found
	}
	kept := found[:0]
	for _, f := range found {
		first := sort.Search(len(spared), func(i int) bool { return spared[i].End > f.Start })
		last := sort.Search(len(spared), func(i int) bool { return spared[i].Start >= f.End }) - 1
		if f.Kind.Secret() && first <= last {
			start, end := spared[first].Start, spared[last].End
			if first == last && f.Start >= start && f.End <= end {
				continue
			}
			f.Start, f.End = min(f.Start, start), max(f.End, end)
		}
		kept = append(kept, f)
	}
	return kept
}
