package entity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/entity"
)

// figures count names: of those that were found how many are right, and of those there are
// how many were found, with the exact bounds; and of those how many have the right type.
type figures struct{ hits, wrong, missed, typed int }

func (f figures) precision() float64 { return float64(f.hits) / float64(max(1, f.hits+f.wrong)) }
func (f figures) recall() float64    { return float64(f.hits) / float64(max(1, f.hits+f.missed)) }
func (f figures) types() float64     { return float64(f.typed) / float64(max(1, f.hits)) }

func measure(t *testing.T, corpus []sentence) figures {
	t.Helper()
	var f figures
	for _, s := range corpus {
		want := map[string]string{}
		for name := range strings.SplitSeq(s.want, "|") {
			if i := strings.LastIndexByte(name, '/'); i >= 0 {
				want[name[:i]] = name[i+1:]
			}
		}
		for _, m := range entity.Recognise(s.text) {
			kind, ok := want[m.Surface]
			if !ok {
				f.wrong++
				t.Logf("wrong   %q/%s in %s", m.Surface, m.Type, s.text)
				continue
			}
			f.hits++
			delete(want, m.Surface)
			if kind == string(m.Type) {
				f.typed++
			} else {
				t.Logf("type    %q is %s, want %s, in %s", m.Surface, m.Type, kind, s.text)
			}
		}
		for name := range want {
			f.missed++
			t.Logf("missed  %q in %s", name, s.text)
		}
	}
	t.Logf("%d sentences: precision %.3f, recall %.3f, type right %.3f", len(corpus), f.precision(), f.recall(), f.types())
	return f
}

// TestFigures holds the figures: they may only get better.
func TestFigures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		corpus                   []sentence
		precision, recall, types float64
	}{
		"a": {corpusA, 0.99, 0.98, 0.97},
		"b": {corpusB, 0.97, 0.97, 0.91},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := measure(t, c.corpus)
			require.GreaterOrEqual(t, f.precision(), c.precision)
			require.GreaterOrEqual(t, f.recall(), c.recall)
			require.GreaterOrEqual(t, f.types(), c.types)
		})
	}
}
