package fusion_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/fusion"
	"github.com/memkernel/memkernel/kernel/mem"
)

// view is what one caller sees, in memory.
type view struct {
	words, near                   []driver.Candidate // best first
	dated, latest                 []driver.Candidate // of the time that was asked for
	wordsErr, embedErr, vectorErr error
	datedErr, latestErr           error
	noVector                      bool // the text has no features

	asked []string
	after func() // called by each method
}

func (v *view) Candidates(_ context.Context, q driver.CandidateQuery) ([]driver.Candidate, error) {
	rows, err := v.words, v.wordsErr
	switch {
	case q.From.IsZero():
		v.ask("words %q %d", q.Text, q.Limit)
	case q.Text != "":
		v.ask("words %q %d from %s to %s", q.Text, q.Limit, q.From.Format(time.RFC3339), q.To.Format(time.RFC3339))
		rows, err = v.dated, v.datedErr
	default:
		v.ask("latest %d from %s to %s", q.Limit, q.From.Format(time.RFC3339), q.To.Format(time.RFC3339))
		rows, err = v.latest, v.latestErr
	}
	return first(rows, q.Limit, err)
}

func (v *view) Embed(_ context.Context, text string) ([]float32, error) {
	v.ask("embed %q", text)
	if v.noVector {
		return nil, v.embedErr
	}
	return []float32{1}, v.embedErr
}

func (v *view) Vector(_ context.Context, q driver.VectorQuery) ([]driver.Candidate, error) {
	v.ask("vector %v %d", q.Embedding, q.Limit)
	return first(v.near, q.Limit, v.vectorErr)
}

func (v *view) ask(format string, args ...any) {
	v.asked = append(v.asked, fmt.Sprintf(format, args...))
	if v.after != nil {
		v.after()
	}
}

func first(rows []driver.Candidate, limit int, err error) ([]driver.Candidate, error) {
	if err != nil {
		return nil, err
	}
	return append([]driver.Candidate(nil), rows[:min(len(rows), limit)]...), nil
}

// ref is that of a row written n milliseconds after the first.
func ref(n int) mem.ID {
	var id mem.ID
	binary.BigEndian.PutUint64(id[:], uint64(1_770_000_000_000+n)<<16|0x7000)
	id[8] = 0x80
	return id
}

// when is the inverse of ref.
func when(id mem.ID) int { return int(binary.BigEndian.Uint64(id[:])>>16) - 1_770_000_000_000 }

// words makes the lexical arm's rows of times and scores, of ten tokens each.
func words(rows ...any) []driver.Candidate {
	var out []driver.Candidate
	for i := 0; i < len(rows); i += 2 {
		out = append(out, driver.Candidate{Ref: ref(rows[i].(int)), BM25: rows[i+1].(float64), Tokens: 10})
	}
	return out
}

// near makes the vector arm's rows.
func near(rows ...any) []driver.Candidate {
	out := words(rows...)
	for i := range out {
		out[i].Cosine, out[i].BM25 = mem.Cosine(out[i].BM25), 0
	}
	return out
}

func plan(t *testing.T, v *view, q driver.Query) []driver.Ranked {
	t.Helper()
	return planBy(t, fusion.Spelling, v, q)
}

func planBy(t *testing.T, trust fusion.Trust, v *view, q driver.Query) []driver.Ranked {
	t.Helper()
	p, err := fusion.New(trust).Plan(t.Context(), v, q)
	require.NoError(t, err)
	return p.Items
}

// order is the times of the rows, best first.
func order(items []driver.Ranked) []int {
	var out []int
	for _, it := range items {
		out = append(out, when(it.Ref))
	}
	return out
}

// score is that of the row written at a time.
func score(t *testing.T, items []driver.Ranked, at int) float64 {
	t.Helper()
	for _, it := range items {
		if it.Ref == ref(at) {
			return float64(it.Score)
		}
	}
	require.Fail(t, "no such row", "%d in %v", at, order(items))
	return 0
}
