package classify

import (
	"context"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Finding is a part of a text, from the byte Start up to but not including End.
type Finding struct {
	Kind       Kind
	Start, End int
}

// Result is what Classify says of a text.
type Result struct {
	// Sensitivity follows from the findings; see the package comment.
	Sensitivity Sensitivity
	// Findings are in the order of the text and do not overlap. They begin and end between
	// characters.
	Findings []Finding
	// SecretKinds are the kinds of the secrets found, sorted, each once.
	SecretKinds []Kind
	// PIISubjects are the people and accounts that the text points to, sorted, each once, in
	// the form of Subject. They are personal data like the text itself.
	PIISubjects []string
	// Destinations are the places that the text may be sent to; see DestinationsFor.
	Destinations []Destination
	// Labels say how the text speaks, sorted, each once.
	Labels []Label
}

// Label is mem.Label.
type Label = mem.Label

// The labels under short names.
const (
	ImitatesInstructions = mem.LabelImitatesInstructions
	HiddenText           = mem.LabelHiddenText
)

// Scanner finds what the built-in rules do not know, a host's own kinds of secrets for example.
// Implementations must be safe for concurrent use and must not keep or log the text. An error
// keeps the text from being stored at all: what cannot be classified is not let through.
type Scanner interface {
	Scan(ctx context.Context, text string) ([]Finding, error)
}

// Classification returns the result in the form in which it is kept.
func (r *Result) Classification() mem.Classification {
	c := mem.Classification{
		Sensitivity: r.Sensitivity, PIISubjects: r.PIISubjects, Destinations: r.Destinations, Labels: r.Labels,
		SecretKinds: make([]string, len(r.SecretKinds)),
	}
	for i, k := range r.SecretKinds {
		c.SecretKinds[i] = string(k)
	}
	return c
}

// Classifier holds the rules. It is immutable and safe for concurrent use; one is enough for
// a process.
type Classifier struct {
	bytes   *alphabets
	words   *lexicon
	shapes  *shapes
	ids     *idRules
	plan    *numberingPlan
	phrases []phrase
	ibans   map[string]int
}

// New builds the rules. It takes a few milliseconds.
func New() *Classifier {
	c := &Classifier{
		bytes:   newAlphabets(),
		words:   newLexicon(),
		shapes:  newShapes(),
		ids:     newIDRules(),
		plan:    newNumberingPlan(),
		phrases: newPhrases(),
		ibans:   newIBANLengths(),
	}
	c.words.markBeginnings(c.phrases)
	return c
}

// Classify returns what text holds. It cannot fail: what is not valid UTF-8 or endless is
// classified like everything else, in time linear in its length.
func (c *Classifier) Classify(text string) Result {
	s := scan{Classifier: c, text: text, survey: c.bytes.survey(text)}
	s.readWords()
	s.secrets()
	s.personal()
	r := Result{Findings: resolve(text, s.found), Labels: s.labels()}
	r.sum(text)
	return r
}

// scan is one call of Classify.
type scan struct {
	*Classifier
	survey
	text     string
	hits     []hit
	hidden   bool
	imitates bool
	found    []candidate
}

func (s *scan) secrets() {
	if s.longest >= minKeyRun {
		s.findKeys()
	}
	if s.present&dash != 0 {
		s.findPrivateKeys()
	}
	if s.present&mark != 0 {
		s.findPasswordHashes()
	}
	s.findURLSecrets()
	if s.present&equals != 0 {
		s.findSharedAccess()
	}
	s.findAssignments()
}

func (s *scan) personal() {
	if s.present&at != 0 || s.anyHit(wordAt) {
		s.findEmails()
	}
	if s.digits >= minNumberDigits {
		s.findNumbers()
		s.findBirthDates()
	}
	if s.digits >= minAddressDigits {
		s.findAddresses()
	}
	s.findPhrases()
}

// sum derives all from the findings.
func (r *Result) sum(text string) {
	r.Sensitivity, r.SecretKinds, r.PIISubjects = Internal, nil, nil
	for _, f := range r.Findings {
		r.Sensitivity = Max(r.Sensitivity, f.Kind.sensitivity())
		if f.Kind.Secret() && !slices.Contains(r.SecretKinds, f.Kind) {
			r.SecretKinds = append(r.SecretKinds, f.Kind)
		}
		if f.Kind.subject() {
			r.PIISubjects = append(r.PIISubjects, Subject(f.Kind, text[f.Start:f.End]))
		}
	}
	slices.Sort(r.SecretKinds)
	slices.Sort(r.PIISubjects)
	r.PIISubjects = slices.Compact(r.PIISubjects)
	r.Destinations = DestinationsFor(r.Sensitivity)
}

// Declare takes the caller's word into account. A text declared Public is Public if nothing
// was found in it; any other declaration can only raise the sensitivity, and an unknown one
// makes it Restricted. An empty declaration changes nothing.
func (r *Result) Declare(s Sensitivity) {
	switch {
	case s == "":
		return
	case s == Public && len(r.Findings) == 0 && r.Sensitivity == Internal:
		r.Sensitivity = Public
	case s != Public:
		r.Sensitivity = Max(r.Sensitivity, s)
	}
	r.Destinations = DestinationsFor(r.Sensitivity)
}
