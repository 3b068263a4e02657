package gitleaks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"

	"github.com/memkernel/memkernel/writepath/classify"
)

// Config says by which rules texts are scanned. The zero value stands for gitleaks' default
// rules.
type Config struct {
	// TOML is a configuration in gitleaks' own format, the content of a .gitleaks.toml, and
	// means what it means there: its rules take the place of the default ones unless [extend]
	// has useDefault = true, with which they are added to them; disabledRules switches default
	// ones off. It cannot name another file or a URL. Empty stands for the default rules.
	TOML string

	// Allow are regular expressions of values that are no secrets, beside what TOML allows.
	// One that matches a part of a value allows the whole value.
	Allow []string
}

// Scanner finds what gitleaks' rules say is a secret. It is immutable and safe for concurrent
// use; one is enough for a process.
type Scanner struct {
	detector *detect.Detector
	kinds    map[string]classify.Kind // by the rule's id
}

var _ classify.Scanner = (*Scanner)(nil)

// New compiles the rules, which takes some tens of milliseconds. A configuration that cannot be
// used is a *mem.InvalidError that names the field. Each call makes a Scanner of its own.
func New(cfg Config) (*Scanner, error) {
	rules, kinds, err := load(cfg)
	if err != nil {
		return nil, err
	}
	d := detect.NewDetector(rules)
	// A source file may excuse a line with a comment. Here it would be the text that decides
	// whether it is looked at.
	d.IgnoreGitleaksAllow = true
	return &Scanner{detector: d, kinds: kinds}, nil
}

// errPanic: gitleaks panicked over a text.
var errPanic = errors.New("the detector panicked")

// Scan returns the secrets in text, in its order and without overlaps: the bytes of the values,
// without their names and quotes. A value that is a secret in one place is one wherever else it
// stands in the text. What lies within a mark of classify.Redact is none.
//
// The same text gets the same findings. Scan fails if ctx ends before it does, which it looks at
// between one rule and the next, and if gitleaks panics. Nothing of the text is in an error.
func (s *Scanner) Scan(ctx context.Context, text string) (found []classify.Finding, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error: // speaks of indexes and types
			found, err = nil, fmt.Errorf("gitleaks: %w: %w", errPanic, r)
		default:
			found, err = nil, fmt.Errorf("gitleaks: %w with a %T", errPanic, r)
		}
	}()
	l := leaks{text: text, kinds: map[string]classify.Kind{}}
	for start, end := range pieces(text) {
		piece := text[start:end]
		if err := s.look(ctx, &l, start, piece, ""); err != nil {
			return nil, err
		}
		if prose := endWords(piece); prose != piece {
			// What has no shape of its own is not taken out of its sentence.
			if err := s.look(ctx, &l, start, prose, "generic-api-key"); err != nil {
				return nil, err
			}
		}
	}
	l.repeat()
	var all classify.Result
	if err := all.Merge(text, l.found); err != nil {
		return nil, fmt.Errorf("gitleaks: %w", err)
	}
	return all.Findings, nil
}

// look adds to l what the rules, but for one, find in a piece of its text that begins at start.
func (s *Scanner) look(ctx context.Context, l *leaks, start int, piece, but string) error {
	// The one method that takes a context takes a type with it that the next major version drops.
	findings := s.detector.DetectContext(ctx, detect.Fragment{Raw: piece}) //nolint:staticcheck // as said
	if ctx.Err() != nil {                                                  // it stopped half-way
		return fmt.Errorf("gitleaks: %w", context.Cause(ctx))
	}
	findings = slices.DeleteFunc(findings, func(f report.Finding) bool { return f.RuleID == but })
	l.place(s, start, piece, findings)
	return nil
}
