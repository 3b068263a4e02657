package classify

import (
	"fmt"
	"slices"
)

// Merge adds what another scanner has found in text, as if Classify had found it too, and
// derives all but the labels anew, so a declaration must come after it. Where two findings
// overlap, a secret wins over personal data, and two secrets become one with the extent of
// both, of whose kinds an APIKey gives way. The marks of Redact are no secrets, whoever takes them
// for some, and stay whole. A finding of an unknown kind or outside of the text is an error, and
// nothing is merged.
func (r *Result) Merge(text string, more []Finding) error {
	for _, f := range more {
		if f.Kind.Class() == "" || f.Start < 0 || f.Start >= f.End || f.End > len(text) {
			return fmt.Errorf("merge: a finding of kind %q at %d to %d does not fit the text", f.Kind, f.Start, f.End)
		}
	}
	all := make([]candidate, 0, len(r.Findings)+len(more))
	for _, f := range slices.Concat(r.Findings, more) {
		w := weightChecked
		switch {
		case f.Kind == APIKey: // of no known shape
			w = weightNamed
		case f.Kind.Secret():
			w = weightShape
		}
		all = append(all, candidate{f, w})
	}
	r.Findings = resolve(text, all)
	r.sum(text)
	return nil
}
