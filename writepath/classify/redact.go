package classify

import "strings"

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
		b.WriteString("[redacted:" + string(f.Kind) + "]")
		done = f.End
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}
