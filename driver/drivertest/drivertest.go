package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memkernel/memkernel/driver"
)

// Group is a part of the kit.
type Group string

// The groups; the package's documentation says what each of them asks.
const (
	Imports     Group = "imports"
	Scope       Group = "scope"
	Determinism Group = "determinism"
	Budget      Group = "budget"
	Shape       Group = "shape"
	Resilience  Group = "resilience"
)

// Groups returns all groups in the order in which they run.
func Groups() []Group {
	return []Group{Imports, Scope, Determinism, Budget, Shape, Resilience}
}

// Factory makes a new driver that shares no state with others. It is called several times.
type Factory func(testing.TB) driver.Driver

// Result is what a group found.
type Result struct {
	Group Group
	// Findings says what the driver did wrong; empty if it passed or was not judged.
	Findings []string
	// Notes lists the exceptions that were made, each with its reason.
	Notes []string
	// OptedOut is the reason for which the group was not run, empty if it was.
	OptedOut string
}

// Passed reports that the group ran and found nothing.
func (r Result) Passed() bool { return r.OptedOut == "" && len(r.Findings) == 0 }

// Option changes what is judged.
type Option func(*config)

type config struct {
	optOuts map[Group]string
	allowed map[string]string
	pkg     string
	bad     []string
}

// OptOut leaves a group out, for a reason that the output shows. A group that does not exist or a
// blank reason fails the test.
func OptOut(group Group, reason string) Option {
	return func(c *config) {
		c.require("OptOut", string(group), reason)
		if !slices.Contains(Groups(), group) {
			c.bad = append(c.bad, fmt.Sprintf("OptOut: there is no group %q", group))
		}
		c.optOuts[group] = reason
	}
}

// AllowImport allows the driver to import a package that is otherwise forbidden, and what that
// package imports, for a reason that the output shows. A blank path or reason fails the test.
func AllowImport(path, reason string) Option {
	return func(c *config) {
		c.require("AllowImport", path, reason)
		c.allowed[path] = reason
	}
}

// ForPackage names the package whose imports are judged. Without it that is the package of the
// driver's type, which is another one if the factory wraps the driver.
func ForPackage(path string) Option {
	return func(c *config) {
		c.require("ForPackage", path, path)
		c.pkg = path
	}
}

func (c *config) require(option, what, reason string) {
	if strings.TrimSpace(what) == "" || strings.TrimSpace(reason) == "" {
		c.bad = append(c.bad, option+": the first argument or the reason is blank")
	}
}

func configure(tb testing.TB, opts []Option) *config {
	tb.Helper()
	c := &config{optOuts: map[Group]string{}, allowed: map[string]string{}}
	for _, opt := range opts {
		opt(c)
	}
	if len(c.bad) > 0 {
		tb.Fatalf("drivertest: %s", strings.Join(c.bad, "; "))
	}
	return c
}

// Run judges the drivers that the factory makes, each group in a subtest of its name. A finding
// fails the group's subtest; an exception is logged, a group opted out of is skipped, both with
// their reasons. It needs a Postgres as kerneltest.Open does, and the go command.
func Run(t *testing.T, factory Factory, opts ...Option) {
	t.Helper()
	cfg := configure(t, opts)
	for _, group := range Groups() {
		t.Run(string(group), func(t *testing.T) {
			r := judge(t, cfg, factory, group)
			for _, note := range r.Notes {
				t.Log(note)
			}
			for _, finding := range r.Findings {
				t.Error(finding)
			}
			if r.OptedOut != "" {
				t.Skipf("opted out of %s: %s", group, r.OptedOut)
			}
		})
	}
}

// Judge is Run for those who decide themselves what becomes of the findings: it returns the result
// of every group, in the order of Groups, and fails tb only if the kit itself cannot run.
func Judge(tb testing.TB, factory Factory, opts ...Option) []Result {
	tb.Helper()
	cfg := configure(tb, opts)
	results := make([]Result, 0, len(Groups()))
	for _, group := range Groups() {
		results = append(results, judge(tb, cfg, factory, group))
	}
	return results
}

func judge(tb testing.TB, cfg *config, factory Factory, group Group) Result {
	tb.Helper()
	if reason := cfg.optOuts[group]; reason != "" {
		return Result{Group: group, OptedOut: reason}
	}
	s := &suite{tb: tb, cfg: cfg, factory: factory}
	switch group {
	case Imports:
		s.imports()
	case Scope:
		s.scope()
	case Determinism:
		s.determinism()
	case Budget:
		s.budget()
	case Shape:
		s.shape()
	case Resilience:
		s.resilience()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Result{Group: group, Findings: s.listed(), Notes: s.notes}
}

// grace is how long something that should happen at once may take on a busy machine.
const grace = 2 * time.Second

// maxFindings is how many findings of one group are listed.
const maxFindings = 12

// suite is one group under way.
type suite struct {
	tb      testing.TB
	cfg     *config
	factory Factory

	mu       sync.Mutex
	findings []string
	notes    []string
}

// driver returns a new driver.
func (s *suite) driver() driver.Driver {
	s.tb.Helper()
	d := s.factory(s.tb)
	if d == nil {
		s.tb.Fatal("drivertest: the factory returned no driver")
	}
	return d
}

// findf adds a finding, once.
func (s *suite) findf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if finding := fmt.Sprintf(format, args...); !slices.Contains(s.findings, finding) {
		s.findings = append(s.findings, finding)
	}
}

func (s *suite) notef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

func (s *suite) listed() []string {
	if more := len(s.findings) - maxFindings; more > 0 {
		return append(slices.Clone(s.findings[:maxFindings]), fmt.Sprintf("and %d more", more))
	}
	return s.findings
}
