package main

// How many examples of a reason are kept, and how many people are shown: more of what they can
// mend.
const (
	maxExamples = 100
	many        = 20
	few         = 3
)

// summary is what became of the input.
type summary struct {
	Entries int     `json:"entries"` // that were looked at
	Total   int     `json:"total"`   // that there are
	Seconds float64 `json:"seconds"` // that it took

	Stored       outcome `json:"stored"`
	Held         outcome `json:"held"`
	Superseded   outcome `json:"superseded"`
	Deduplicated outcome `json:"deduplicated"`
	Echoed       outcome `json:"echoed"`
	Rejected     outcome `json:"rejected"`
	Verbatim     outcome `json:"keptVerbatim"`
	Redacted     outcome `json:"redacted"`
	Secrets      outcome `json:"secrets"`
	Personal     outcome `json:"personalData"`
	Instructions outcome `json:"instructionLike"`
	Hidden       outcome `json:"hiddenText"`
	Degraded     outcome `json:"degraded"`
	Replayed     outcome `json:"replayed"`
	Failed       outcome `json:"failed"`
	Unreadable   outcome `json:"unreadable"`
	Skipped      outcome `json:"skippedFiles"`
}

// outcome is one of the things that can become of a text, and why.
type outcome struct {
	Count int      `json:"count"`
	Why   []reason `json:"why,omitempty"` // in the order of their first occurrence
}

type reason struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// Examples are the first few.
	Examples []example `json:"examples"`
}

// example is a piece of the input, by its place.
type example struct {
	At   string `json:"at"`
	Note string `json:"note,omitempty"`
}

// add counts something that has reasons; without one there is nothing to count.
func (o *outcome) add(e example, reasons ...string) {
	if len(reasons) == 0 {
		return
	}
	o.Count++
	for _, r := range reasons {
		o.reason(r).count(1, e)
	}
}

// addMany counts something of which there are n in one place.
func (o *outcome) addMany(n int, e example, r string) {
	o.Count += n
	o.reason(r).count(n, e)
}

// wants reports whether there is room for another example of a reason.
func (o *outcome) wants(why string) bool { return len(o.reason(why).Examples) < maxExamples }

func (o *outcome) reason(text string) *reason {
	for i := range o.Why {
		if o.Why[i].Reason == text {
			return &o.Why[i]
		}
	}
	o.Why = append(o.Why, reason{Reason: text})
	return &o.Why[len(o.Why)-1]
}

func (r *reason) count(n int, e example) {
	r.Count += n
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, e)
	}
}

// named is an outcome under the name that people read.
type named struct {
	name string
	*outcome
	shown int // examples of a reason, at most
}

func (s *summary) outcomes() []named {
	return []named{
		{"stored", &s.Stored, few},
		{"held", &s.Held, few},
		{"superseded", &s.Superseded, few},
		{"deduplicated", &s.Deduplicated, few},
		{"echoed", &s.Echoed, few},
		{"rejected", &s.Rejected, many},
		{"kept verbatim", &s.Verbatim, few},
		{"redacted", &s.Redacted, few},
		{"secrets", &s.Secrets, few},
		{"personal data", &s.Personal, few},
		{"instruction-like", &s.Instructions, few},
		{"hidden text", &s.Hidden, few},
		{"degraded", &s.Degraded, few},
		{"replayed", &s.Replayed, few},
		{"failed", &s.Failed, many},
		{"unreadable", &s.Unreadable, many},
		{"files skipped", &s.Skipped, many},
	}
}
