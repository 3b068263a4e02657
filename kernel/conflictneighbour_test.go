package kernel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestBareNeighbours: a memory with a vector is compared with those that have none, and the other
// way round, whether they will ever get one or not.
func TestBareNeighbours(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{200, 600} {
		for _, bare := range []string{"Ana lives in Oslo.", "Ana lives in Bern."} {
			t.Run(fmt.Sprint(dim, " without one: ", bare), func(t *testing.T) {
				t.Parallel()
				embedder := &nearModel{dim: dim}
				c := newContested(t, kernel.WithEmbedder(embedder))
				for i := range 12 {
					c.write(t, c.agent, fmt.Sprint("Ana owns horse number ", i, "."))
				}
				c.settle(t)
				write := func(who kernel.Identity, text string) kernel.ID {
					embedder.fail.Store(text == bare)
					defer embedder.fail.Store(false)
					return c.write(t, who, text)
				}
				oslo := write(c.agent, "Ana lives in Oslo.")
				c.settle(t)
				bern := write(c.agent, "Ana lives in Bern.")
				c.settle(t)
				require.Equal(t, bern, c.read(t, oslo).SupersededBy)
				require.Zero(t, c.unchecked(t))
				requireSound(t, c.Pool)
			})
		}
	}
}

// TestLateVectors: a memory is checked anew when it gets its vector, since words alone may not show
// what it is about; raw input is not, nor what is left without one.
func TestLateVectors(t *testing.T) {
	t.Parallel()
	embedder := &nearModel{dim: 200}
	c := newContested(t, kernel.WithEmbedder(embedder))
	c.judge.contradicts = func(in, cand string) bool { return in == "Ana's home: Bern." && cand == "Ana dwells near Oslo." }
	c.write(t, c.reader, "Ana dwells near Oslo.")
	c.settle(t)
	embedder.fail.Store(true)
	c.write(t, c.agent, "Ana's home: Bern.")
	c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana: I live in Bern.", Kind: mem.KindRaw})
	// Nothing of the two texts is the same but what is in others too.
	sqlExec(t, c.Pool, `DELETE FROM memkernel.memory_terms`)
	c.settle(t)
	require.Empty(t, c.cases(t, ""))
	embedder.fail.Store(false)
	c.Clock.Advance(time.Hour)
	require.NoError(t, c.FillGaps(t.Context()))
	require.Equal(t, 1, c.unchecked(t))
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	require.Zero(t, c.unchecked(t))
}

// TestDecoys: any number of texts that lie nearer do not hide what a memory contradicts, if those
// are less trusted or could not be compared with it anyway.
func TestDecoys(t *testing.T) {
	t.Parallel()
	for arm, opts := range map[string][]kernel.Option{"vectors": nil, "wide vectors": {kernel.WithEmbedder(&nearModel{dim: 600})}, "words": nil} {
		for name, decoy := range map[string]func(c *contested, i int) kernel.WriteRequest{
			"less trusted": func(_ *contested, i int) kernel.WriteRequest {
				return kernel.WriteRequest{Text: fmt.Sprint("Ana lives in Bern? ", i)}
			},
			"raw": func(_ *contested, i int) kernel.WriteRequest {
				return kernel.WriteRequest{Text: fmt.Sprint("Ana lives in Bern: ", i), Kind: mem.KindRaw}
			},
			"expired": func(c *contested, i int) kernel.WriteRequest {
				return kernel.WriteRequest{Text: fmt.Sprint("Ana lives in Bern! ", i), ExpiresAt: c.Clock.Now().Add(time.Minute)}
			},
			"too long": func(_ *contested, i int) kernel.WriteRequest {
				return kernel.WriteRequest{Text: fmt.Sprint("Ana lives in Bern, ", i, strings.Repeat(" Ana lives in Bern", 250))}
			},
		} {
			t.Run(fmt.Sprint(name, ", by ", arm), func(t *testing.T) {
				t.Parallel()
				c := newContested(t, opts...)
				c.judge.contradicts = func(in, cand string) bool { return in == "Ana lives in Bern." && strings.Contains(cand, "Oslo") }
				doc := c.write(t, c.reader, "According to the staff register of the company Ana lives in Oslo.")
				c.settle(t)
				const decoys = 1020
				reqs := make([]kernel.WriteRequest, decoys)
				for i := range reqs {
					reqs[i] = decoy(c, i)
					reqs[i].Verbatim = true
				}
				if name == "less trusted" || name == "too long" {
					reqs = reqs[:30]
				}
				c.Clock.Advance(time.Second)
				for _, r := range must(c.WriteMany(t.Context(), c.agent, kernel.WriteManyRequest{Writes: reqs})).Results {
					require.NoError(t, r.Err)
				}
				c.Clock.Advance(time.Hour)
				sqlExec(t, c.Pool, `DELETE FROM memkernel.conflict_checks`)
				a := c.write(t, c.agent, "Ana lives in Bern.")
				if arm == "words" {
					sqlExec(t, c.Pool, `DELETE FROM memkernel.memory_vectors WHERE id = $1`, a.String())
				}
				c.settle(t)
				cases := c.cases(t, "")
				require.Len(t, cases, 1)
				require.Equal(t, doc, cases[0].To.ID)
			})
		}
	}
}
