package kernel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// BenchmarkWriteAsync compares WriteAsync, which keeps the raw input, the job and the audit row,
// with one commit of one small row. The models of its kernel never answer.
func BenchmarkWriteAsync(b *testing.B) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	k := benchKit(b,
		kernel.WithLLM(&kerneltest.LLM{OnComplete: func(ctx context.Context, _ model.Request) error { return hang(ctx) }}, mem.DestinationLocal),
		kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: func(ctx context.Context, _ []string) error { return hang(ctx) }}))
	ctx := b.Context()
	who := k.Key("acme/eng/platform", kernel.RoleMember)
	c := newCorpus()
	_, err := k.Pool.Exec(ctx, "CREATE TABLE raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL)")
	require.NoError(b, err)
	for range 50 {
		_, err := k.WriteAsync(ctx, who, kernel.WriteRequest{Text: c.sentence(14)})
		require.NoError(b, err)
	}
	var p pair
	n := 0
	for b.Loop() {
		n++
		text := fmt.Sprint(c.sentence(14), " bench ", n)
		p.run(func() {
			_, err := k.Pool.Exec(ctx, "INSERT INTO raw (text) VALUES ($1)", text)
			require.NoError(b, err)
		}, func() {
			_, err := k.WriteAsync(ctx, who, kernel.WriteRequest{Text: text})
			require.NoError(b, err)
		})
	}
	p.report(b, 3.0)
}
