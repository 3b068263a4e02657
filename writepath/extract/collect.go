package extract

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/memkernel/memkernel/kernel/mem"
)

// collector gathers the result of one call of Extract.
type collector struct {
	*Extractor
	in     *Input
	result Result
	seen   map[string]bool // folded texts of the facts so far
	source string          // the folded input, made when first needed
	folded bool
	hung   bool // the model did not answer in time, and is not asked about other parts
}

func newCollector(e *Extractor, in *Input) *collector {
	return &collector{Extractor: e, in: in, seen: map[string]bool{}}
}

// verbatim keeps a part of the input as it stands.
func (c *collector) verbatim(text string, why Reason) {
	c.result.Facts = append(c.result.Facts, Fact{
		Text: text, Kind: c.in.Kind, EventTime: c.in.EventTime, EventEnd: c.in.EventEnd, Certainty: 1, Verbatim: true,
	})
	if !c.result.Verbatim {
		c.result.Verbatim, c.result.Reason = true, why
	}
	c.result.Parts = max(c.result.Parts, 1)
}

// take makes facts of a good answer.
func (c *collector) take(items []item) Reason {
	before := len(c.result.Facts)
	for i := range items {
		if it := &items[i]; it.malformed {
			c.drop(it.text, mem.RejectMalformed)
		} else {
			c.candidate(c.fact(it), true)
		}
	}
	if len(c.result.Facts) == before {
		return ReasonNoFacts
	}
	return ReasonNone
}

// reject reports the items of an answer that is no good.
func (c *collector) reject(items []item) {
	for i := range items {
		c.drop(items[i].text, mem.RejectMalformed)
	}
}

// prepared takes a fact that was extracted elsewhere, held to the rules of a model's.
func (c *collector) prepared(given *Fact) {
	f := *given
	f.Flaws, f.Verbatim = nil, false
	if f.Kind == "" {
		f.Kind = c.in.Kind
	} else if !f.Kind.Valid() {
		f.Kind, f.Flaws = c.in.Kind, append(f.Flaws, FlawKind)
	}
	if !(f.Certainty >= 0 && f.Certainty <= 1) {
		f.Certainty, f.Flaws = 1, append(f.Flaws, FlawCertainty)
	}
	f.Entities = c.entities(given.Entities, &f)
	c.bound(&f)
	c.candidate(f, false)
}

// candidate adds a fact or rejects it.
func (c *collector) candidate(f Fact, asked bool) {
	key := normalize(f.Text)
	switch {
	case mem.CheckLabel("Text", f.Text, len(f.Text)) != nil:
		c.drop(f.Text, mem.RejectMalformed)
	case asked && strings.ContainsRune(f.Text, utf8.RuneError) && !strings.ContainsRune(c.in.Text, utf8.RuneError):
		c.drop(f.Text, mem.RejectMalformed) // what stood there was no character
	case strings.TrimSpace(f.Text) == "":
		c.drop(f.Text, mem.RejectEmpty)
	case len(f.Text) > c.opts.MaxFactBytes:
		c.drop(f.Text, mem.RejectTooLong)
	case asked && c.examples.leaked(f.Text, c.sourceFolded()):
		c.drop(f.Text, mem.RejectExampleLeak)
	case c.seen[key]:
		c.drop(f.Text, mem.RejectDuplicate)
	case len(c.result.Facts) >= c.opts.MaxFacts:
		c.drop(f.Text, mem.RejectTooMany)
	default:
		c.seen[key] = true
		c.result.Facts = append(c.result.Facts, f)
	}
}

func (c *collector) sourceFolded() string {
	if !c.folded {
		c.source, c.folded = fold(c.in.Text), true
	}
	return c.source
}

// drop reports a candidate.
func (c *collector) drop(text string, why mem.RejectReason) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	c.result.Rejected = append(c.result.Rejected, Rejected{Text: cut(text, c.opts.MaxFactBytes), Reason: why})
}

// cut returns at most n bytes of a valid text, whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// normalize returns the form in which two facts are the same; writepath.Normalize is the
// same rule.
func normalize(text string) string {
	return strings.Join(strings.Fields(norm.NFC.String(cases.Fold().String(norm.NFC.String(text)))), " ")
}
