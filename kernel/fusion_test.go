package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestFusion: the driver is there by its name, asks both arms, and finds what has the words and
// what is of the time that is asked about, whether the embedder knows spelling or meaning.
func TestFusion(t *testing.T) {
	t.Parallel()
	embedder := &kerneltest.Embedder{}
	for name, opts := range map[string][]kernel.Option{"hashing": nil, "model": {kernel.WithEmbedder(embedder)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, opts...)
			dana := k.Key("acme/eng", kernel.RoleMember)
			talk := []string{
				"Good morning, how was the weekend?", "Quiet, we stayed at home.", "The roof of the shed leaked again.", "Did you call somebody?",
				"No, I fixed it myself.", "And the zucchini?", "We had forty kilos of them!", "Nobody can eat so much.", "So they went to the neighbours.",
				"And did Mira start her course?", "She did, on Monday.", "Lunch at noon?",
			}
			ids := make([]kernel.ID, len(talk))
			for i, text := range talk {
				k.Clock.Advance(20 * time.Second)
				ids[i] = must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text})).Stored[0]
			}
			search := func(query string, most int) *kernel.SearchReply {
				var reply *kernel.SearchReply
				k.RequireAudit(t, "search", "ok", func() {
					reply = must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: query, K: most, Driver: "fusion"}))
				}, "driver=fusion")
				require.Equal(t, "fusion", reply.Driver)
				require.Equal(t, kernel.ArmOK, reply.Lexical.State)
				require.Equal(t, kernel.ArmOK, reply.Vector.State)
				require.Empty(t, reply.Degraded)
				require.InDelta(t, 1, float64(reply.Items[0].Score), 1e-12)
				return reply
			}
			require.Contains(t, itemIDs(search("the zucchini", 2)), ids[5])
			require.Len(t, search("the zucchini", 0).Items, 10)

			for _, month := range []time.Time{january, february} {
				k.Clock.Advance(time.Hour)
				ids = append(ids, must(k.Write(t.Context(), dana, kernel.WriteRequest{
					Text: "Trip to the coast, hotel " + month.Month().String()[:2], EventTime: month,
				})).Stored[0])
			}
			require.Equal(t, ids[12], search("Which hotel at the coast in January 2026?", 3).Items[0].Memory.ID)
			require.Equal(t, ids[13], search("Which hotel at the coast in February 2026?", 3).Items[0].Memory.ID)
		})
	}
}

// TestFusionWithoutVectors: with the embedding model down the words rank, and the reply and the
// audit row say so.
func TestFusionWithoutVectors(t *testing.T) {
	t.Parallel()
	embedder := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(embedder))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The build runs on Mondays."}))
	embedder.Fail(kerneltest.ErrFake)
	k.RequireAudit(t, "search", "ok", func() {
		reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "build", Driver: "fusion"}))
		require.Len(t, reply.Items, 1)
		require.Equal(t, "bm25-degraded", reply.Driver)
		require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, reply.Degraded)
		require.Equal(t, kernel.ArmDown, reply.Vector.State)
		require.Empty(t, reply.Fallbacks)
	}, "driver=bm25-degraded", "brownout=embedder_unavailable")
}
