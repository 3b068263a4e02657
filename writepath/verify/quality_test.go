package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/verify"
)

// TestQualityOfGrounding measures how many of the accepted facts are grounded, and how many of
// the grounded are accepted.
func TestQualityOfGrounding(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(grounded), 60)
	require.GreaterOrEqual(t, len(ungrounded), 60)
	measure(t, grounded, ungrounded, 0.95, 0.95)
}

// TestQualityOnFreelyWordedFacts does so on harder ones, of which more is missed.
func TestQualityOnFreelyWordedFacts(t *testing.T) {
	t.Parallel()
	measure(t, freelyGrounded, freelyUngrounded, 0.85, 0.9)
}

type count struct{ right, wrong, missed int }

func (c count) precision() float64 { return float64(c.right) / float64(c.right+c.wrong) }
func (c count) recall() float64    { return float64(c.right) / float64(c.right+c.missed) }

func measure(t *testing.T, grounded, ungrounded []pair, precision, recall float64) {
	t.Helper()
	v := verify.New(verify.Options{})
	by := map[string]*count{"all": {}}
	grade := func(p pair, supported bool) {
		got := v.Verify(verify.Source{Text: p.source}, []verify.Candidate{{Text: p.fact}})[0]
		if by[p.lang] == nil {
			by[p.lang] = &count{}
		}
		for _, c := range []*count{by["all"], by[p.lang]} {
			switch {
			case got.Accepted() && supported:
				c.right++
			case got.Accepted():
				c.wrong++
			case supported:
				c.missed++
			}
		}
		if got.Accepted() != supported {
			t.Logf("wrong: %+v on %q <- %q", got, p.fact, p.source)
		}
		if !got.Accepted() {
			require.Equal(t, mem.RejectUnsupported, got.Reason, p.fact)
		}
	}
	for _, p := range grounded {
		grade(p, true)
	}
	for _, p := range ungrounded {
		grade(p, false)
	}
	for _, lang := range []string{"en", "de", "es", "fr", "zh", "ja", "all"} {
		c := by[lang]
		t.Logf("%-3s precision %.3f recall %.3f (accepted %d right, %d wrong; rejected %d wrong)",
			lang, c.precision(), c.recall(), c.right, c.wrong, c.missed)
	}
	require.GreaterOrEqual(t, by["all"].precision(), precision, "precision")
	require.GreaterOrEqual(t, by["all"].recall(), recall, "recall")
}
