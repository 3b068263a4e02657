package kernel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestHangingModelLeavesTime: a model that hangs for longer than a driver may take costs the vector
// arm and not the answer, and is asked once.
func TestHangingModelLeavesTime(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(model),
		kernel.WithLimits(kernel.Limits{DriverTimeout: 2 * time.Second, ModelTimeout: time.Hour}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The build runs on Mondays."}))
	model.OnEmbed = func(ctx context.Context, _ []string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, name := range []string{"", "fusion", "baseline"} {
		asked := model.Calls()
		reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "build", Driver: name}))
		require.Len(t, reply.Items, 1, name)
		require.Equal(t, "bm25-degraded", reply.Driver)
		require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, reply.Degraded)
		require.Equal(t, kernel.ArmDown, reply.Vector.State)
		require.Empty(t, reply.Fallbacks)
		require.Equal(t, asked+1, model.Calls(), name)
	}
}
