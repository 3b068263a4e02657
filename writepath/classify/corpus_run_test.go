package classify_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/classify"
)

// score counts, for one class, what was found and should have been.
type score struct{ hit, missed, wrong int }

func (s score) precision() float64 { return ratio(s.hit, s.hit+s.wrong) }
func (s score) recall() float64    { return ratio(s.hit, s.hit+s.missed) }

func ratio(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}

// grade classifies the examples, counts by class, and names every mistake.
func grade(c *classify.Classifier, examples []example) (map[string]*score, []string) {
	scores := map[string]*score{}
	at := func(class string) *score {
		if scores[class] == nil {
			scores[class] = &score{}
		}
		return scores[class]
	}
	var mistakes []string
	for _, e := range examples {
		r := c.Classify(e.text)
		left := slices.Clone(r.Findings)
		labels := slices.Clone(r.Labels)
		for _, w := range e.want {
			if i := slices.Index(labels, classify.Label(w.kind)); i >= 0 {
				labels = slices.Delete(labels, i, i+1)
				at("label").hit++
				continue
			}
			class := cmp.Or(string(classify.Kind(w.kind).Class()), "label")
			i := slices.IndexFunc(left, func(f classify.Finding) bool { return meets(e.text, f, w) })
			if i < 0 {
				at(class).missed++
				mistakes = append(mistakes, fmt.Sprintf("missed %s in %q; found %v %v", w.kind, brief(e.text), show(e.text, r.Findings), r.Labels))
				continue
			}
			left = slices.Delete(left, i, i+1)
			at(class).hit++
		}
		for _, f := range left {
			at(string(f.Kind.Class())).wrong++
			mistakes = append(mistakes, fmt.Sprintf("wrongly %s %q in %q", f.Kind, e.text[f.Start:f.End], brief(e.text)))
		}
		for _, l := range labels {
			at("label").wrong++
			mistakes = append(mistakes, fmt.Sprintf("wrongly %s: %q", l, brief(e.text)))
		}
	}
	return scores, mistakes
}

// meets reports whether a finding is the one that is wanted: exactly the value, but for
// phrases, which need only touch it.
func meets(text string, f classify.Finding, w wanted) bool {
	start := strings.Index(text, w.value)
	end := start + len(w.value)
	if f.Kind != classify.Kind(w.kind) {
		return false
	}
	if f.Kind == classify.Health || f.Kind == classify.Finance {
		return f.Start < end && start < f.End
	}
	return text[f.Start:f.End] == w.value
}

func brief(s string) string {
	if len(s) > 160 {
		return s[:160] + "…"
	}
	return s
}

func show(text string, findings []classify.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, string(f.Kind)+"="+brief(text[f.Start:f.End]))
	}
	return out
}

func count(examples []example) (positive, negative int) {
	for _, e := range examples {
		if len(e.want) > 0 {
			positive++
		} else {
			negative++
		}
	}
	return positive, negative
}

// requireScores prints precision and recall by class and over all, and wants least of each.
func requireScores(t *testing.T, examples []example, least float64) {
	t.Helper()
	scores, mistakes := grade(classify.New(), examples)
	var all score
	positive, negative := count(examples)
	t.Logf("%d texts with something to find, %d without", positive, negative)
	for _, class := range slices.Sorted(maps.Keys(scores)) {
		s := scores[class]
		all.hit, all.missed, all.wrong = all.hit+s.hit, all.missed+s.missed, all.wrong+s.wrong
		t.Logf("%-12s precision %.3f recall %.3f (%d hit, %d missed, %d wrong)", class, s.precision(), s.recall(), s.hit, s.missed, s.wrong)
	}
	t.Logf("%-12s precision %.3f recall %.3f (%d hit, %d missed, %d wrong)", "all", all.precision(), all.recall(), all.hit, all.missed, all.wrong)
	for _, m := range mistakes {
		t.Log(m)
	}
	require.Empty(t, mistakes, "what was right once")
	require.GreaterOrEqual(t, all.precision(), least, "precision over all")
	require.GreaterOrEqual(t, all.recall(), least, "recall over all")
	for class, s := range scores {
		require.GreaterOrEqual(t, s.precision(), least, "precision of %s", class)
		require.GreaterOrEqual(t, s.recall(), least, "recall of %s", class)
	}
}

func TestTunedCorpus(t *testing.T) {
	t.Parallel()
	requireScores(t, slices.Concat(tunedSecrets(), tunedPersonal(), tunedLookalikes(), tunedLabels()), 0.95)
}

// The texts of the first held-out corpus were graded before any rule was changed for them:
// precision 0.970 and recall 0.965 over all.
func TestHeldOutCorpus(t *testing.T) {
	t.Parallel()
	requireScores(t, slices.Concat(heldOutSecrets(), heldOutPersonal(), heldOutLookalikes(), heldOutLabels()), 0.95)
}

// Those of the second, after the mistakes on the first had been mended: precision 0.962 and
// recall 0.953 over all.
func TestSecondHeldOutCorpus(t *testing.T) {
	t.Parallel()
	requireScores(t, secondHeldOut(), 0.95)
}
