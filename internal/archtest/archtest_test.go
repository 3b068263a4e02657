package archtest

import (
	"regexp"
	"testing"
)

// kit matches the packages that exist for tests.
var kit = regexp.MustCompile(`test$`)

// rules names every check. The planted module must break each of them.
var rules = []struct {
	name  string
	check func(*module) []finding
	typed bool // it needs packages that type-check
}{
	{"imports", checkImports, false},
	{"reach", checkReach, false},
	{"sql", checkSQL, true},
	{"queries", checkQueries, false},
	{"api", checkAPI, true},
	{"interfaces", checkInterfaces, true},
	{"view", checkView, true},
	{"directives", checkDirectives, false},
	{"docs", checkDocs, false},
	{"files", checkFiles, false},
	{"top", checkTop, false},
	{"gomod", checkGoMod, false},
}

func TestShape(t *testing.T) {
	t.Parallel()
	m, err := load(t.Context(), "../..", allow)
	if err != nil {
		t.Fatal(err)
	}
	if m.broken != nil {
		t.Errorf("the module does not build, so not all of its shape can be tested:\n%v", m.broken)
	}
	for _, rule := range rules {
		if rule.typed && m.broken != nil {
			continue
		}
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range rule.check(m) {
				t.Error(f)
			}
		})
	}
}
