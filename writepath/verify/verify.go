package verify

import (
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Options say what is checked. The zero value is ready.
type Options struct {
	// MaxTextBytes is the longest fact, default 2048.
	MaxTextBytes int
	// Check has the last word on a candidate that passed all else: a reason rejects it, ""
	// does not. It is where a classifier and policies are asked, for mem.RejectInjection,
	// mem.RejectSecret and mem.RejectPolicy. It must be safe for concurrent use. Nil accepts.
	Check func(source, fact string) mem.RejectReason
}

// Source is what facts were taken from.
type Source struct {
	Text string
	// Time is what relative dates in Text are relative to, zero if unknown.
	Time time.Time
	// Context holds other texts whose words count as the source's, for example the name of
	// the writer. They are no evidence for a number or a negation.
	Context []string
}

// Candidate is a fact to be checked.
type Candidate struct {
	Text string
	// Verbatim skips grounding: the text is the source, or a part of it, and may be as long.
	// It must be a part of it all the same.
	Verbatim bool
}

// Verdict is what Verify says of one candidate. The zero Verdict accepts it.
type Verdict struct {
	// Reason says why the candidate is rejected, empty if it is not.
	Reason mem.RejectReason
	// Mismatch says what differs if Reason is mem.RejectUnsupported.
	Mismatch Mismatch
}

// Accepted reports whether the candidate passed.
func (v Verdict) Accepted() bool { return v.Reason == "" }

// Mismatch says in what respect a source does not support a fact. The list is closed and only
// ever grows.
type Mismatch string

// The mismatches.
const (
	MismatchWords    Mismatch = "words"    // a word or name that the source lacks
	MismatchNumber   Mismatch = "number"   // a number that the source lacks, or has for something else
	MismatchDate     Mismatch = "date"     // a date that the source lacks
	MismatchNegation Mismatch = "negation" // a negation too many or too few
	MismatchSubject  Mismatch = "subject"  // the source says it of another person
)

// Verifier holds the rules. It is immutable and safe for concurrent use; one is enough for a
// process.
type Verifier struct {
	opts Options
	lex  *lexicon
}

// New builds the rules. It takes about a millisecond.
func New(opts Options) *Verifier {
	if opts.MaxTextBytes <= 0 {
		opts.MaxTextBytes = 2048
	}
	return &Verifier{opts: opts, lex: newLexicon()}
}

// Verify returns a verdict for each fact, in order. It cannot fail. It takes time linear in
// the source and in each fact. Of facts that say the same, the first that is not rejected
// counts and the others are duplicates. Called again with the same arguments it returns the
// same.
func (v *Verifier) Verify(src Source, facts []Candidate) []Verdict {
	out := make([]Verdict, len(facts))
	seen := make(map[string]bool, len(facts))
	var ix *index
	for i, f := range facts {
		if out[i] = v.shape(f); !out[i].Accepted() {
			continue
		}
		key := normalize(f.Text)
		if seen[key] {
			out[i].Reason = mem.RejectDuplicate
			continue
		}
		if f.Verbatim {
			if !strings.Contains(src.Text, f.Text) {
				out[i] = Verdict{Reason: mem.RejectUnsupported, Mismatch: MismatchWords}
			}
		} else {
			if ix == nil {
				ix = v.lex.index(&src)
			}
			out[i] = ix.ground(f.Text)
		}
		if out[i].Accepted() && v.opts.Check != nil {
			out[i].Reason = v.opts.Check(src.Text, f.Text)
		}
		seen[key] = out[i].Accepted()
	}
	return out
}

// shape checks what needs no source.
func (v *Verifier) shape(f Candidate) Verdict {
	switch {
	case strings.TrimSpace(f.Text) == "":
		return Verdict{Reason: mem.RejectEmpty}
	case !f.Verbatim && len(f.Text) > v.opts.MaxTextBytes:
		return Verdict{Reason: mem.RejectTooLong}
	case mem.CheckLabel("Text", f.Text, len(f.Text)) != nil:
		return Verdict{Reason: mem.RejectMalformed}
	default:
		return Verdict{}
	}
}

// normalize returns the form in which two facts are the same; writepath.Normalize is the
// same rule.
func normalize(text string) string {
	return strings.Join(strings.Fields(norm.NFC.String(cases.Fold().String(norm.NFC.String(text)))), " ")
}
