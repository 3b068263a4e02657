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
	const register = "According to the full staff register of the company Ana lives in Oslo."
	for arm, opts := range map[string][]kernel.Option{"vectors": nil, "wide vectors": {kernel.WithEmbedder(&nearModel{dim: 600})}, "words": nil} {
		for name, tc := range map[string]struct {
			text  string
			kind  kernel.Kind
			short bool // it expires before the others are compared
			many  int
			// trusted is whether what they would hide is more trusted than they are.
			trusted bool
		}{
			"less trusted": {text: "Ana lives in Bern? %04d", many: 30, trusted: true},
			"raw":          {text: "Ana lives in Bern: %04d", kind: mem.KindRaw, many: 1020},
			"expired":      {text: "Ana lives in Bern! %04d", short: true, many: 1020},
			"too long":     {text: "Ana lives in Bern, %04d" + strings.Repeat(" Ana lives in Bern", 250), many: 30},
		} {
			t.Run(fmt.Sprint(name, ", by ", arm), func(t *testing.T) {
				t.Parallel()
				c := newContested(t, opts...)
				c.judge.contradicts = func(in, cand string) bool { return in == "Ana lives in Bern." && cand == register }
				who := c.agent
				if tc.trusted {
					who = c.reader
				}
				oslo := c.write(t, who, register)
				c.settle(t)
				reqs := make([]kernel.WriteRequest, tc.many)
				for i := range reqs {
					reqs[i] = kernel.WriteRequest{Text: fmt.Sprintf(tc.text, i), Kind: tc.kind, Verbatim: true}
					if tc.short {
						reqs[i].ExpiresAt = c.Clock.Now().Add(time.Minute)
					}
				}
				for _, r := range must(c.WriteMany(t.Context(), c.agent, kernel.WriteManyRequest{Writes: reqs})).Results {
					require.NoError(t, r.Err)
				}
				c.Clock.Advance(time.Hour)
				sqlExec(t, c.Pool, `DELETE FROM memkernel.conflict_checks`)
				bern := c.write(t, c.agent, "Ana lives in Bern.")
				if arm == "words" {
					sqlExec(t, c.Pool, `DELETE FROM memkernel.memory_vectors WHERE id = $1`, bern.String())
				}
				c.settle(t)
				if tc.trusted {
					require.Equal(t, oslo, c.cases(t, "")[0].To.ID)
				} else {
					require.Equal(t, bern, c.read(t, oslo).SupersededBy)
				}
			})
		}
	}
}
