package hashing_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/hashing"
)

func embed(tb testing.TB, texts ...string) [][]float32 {
	tb.Helper()
	vectors, err := hashing.New().Embed(tb.Context(), texts)
	require.NoError(tb, err)
	require.Len(tb, vectors, len(texts))
	return vectors
}

func dot(x, y []float32) float64 {
	var sum float64
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}

func TestInfo(t *testing.T) {
	t.Parallel()
	info := hashing.New().Info()
	assert.Equal(t, "hashing", info.Name)
	assert.Equal(t, hashing.DefaultDim, info.Dim)
	assert.NotEmpty(t, info.Revision)
	assert.True(t, info.InProcess)
}

func TestNewDim(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{1, 2, 7, 1024, hashing.MaxDim} {
		e, err := hashing.NewDim(dim)
		require.NoError(t, err)
		v, err := e.Embed(t.Context(), []string{"She adopted two puppies"})
		require.NoError(t, err)
		assert.Len(t, v[0], dim)
		assert.Equal(t, dim, e.Info().Dim)
	}
	for _, dim := range []int{-1, 0, hashing.MaxDim + 1} {
		_, err := hashing.NewDim(dim)
		assert.ErrorContains(t, err, "dim")
	}
}

func TestUnitLengthOrZero(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"word", "猫", "Die Häuser am Fluss", "고양이를 좋아합니다", "🎉", "\x00\xff word", "a",
		strings.Repeat("many words here ", 10_000), strings.Repeat("x", 1<<20),
	} {
		v := embed(t, text)[0]
		assert.InDelta(t, 1, dot(v, v), 1e-5, "%.20q", text)
	}
	for _, text := range []string{"", " \n", "...", "\x00", "\xff"} {
		assert.Equal(t, make([]float32, hashing.DefaultDim), embed(t, text)[0], "%q", text)
	}
}

func TestNearness(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, query, near, far string }{
		{"inflection", "running shoes", "He runs in old shoes.", "She cooks dinner."},
		{"function words do not count", "What is the name of the dog?", "My dog is Rex.", "What is the time of the day?"},
		{"misspelling", "Kubernetes upgrade", "kubernets", "salad"},
		{"german compound", "Versicherung", "Krankenversicherungen", "Fahrradkette"},
		{"japanese", "寿司", "東京で寿司を食べました", "猫が好きです"},
		{"korean", "고양이", "고양이를 좋아합니다", "새 책을 샀다"},
		{"thai", "ข้าวผัด", "ฉันชอบกินข้าวผัด", "ปีใหม่นี้"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := embed(t, tc.query, tc.near, tc.far)
			assert.Greater(t, dot(v[0], v[1]), dot(v[0], v[2])+0.05)
		})
	}
}

// The first components of known texts. A change here is a change of Revision: every
// stored vector becomes incomparable.
func TestGolden(t *testing.T) {
	t.Parallel()
	e, err := hashing.NewDim(8)
	require.NoError(t, err)
	for text, want := range golden() {
		got, err := e.Embed(t.Context(), []string{text})
		require.NoError(t, err)
		require.Len(t, got[0], len(want))
		for i := range want {
			assert.InDelta(t, want[i], got[0][i], 1e-6, "%q component %d", text, i)
		}
	}
}

func TestEmbedCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := hashing.New().Embed(ctx, []string{"text"})
	require.ErrorIs(t, err, context.Canceled)
	assert.Nil(t, got)
}

func TestEmbedNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, embed(t))
}

func TestConcurrentCallsAgree(t *testing.T) {
	t.Parallel()
	texts := []string{"Die Häuser am Fluss wurden verkauft", "She runs every morning", "猫が好きです", ""}
	want := embed(t, texts...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := hashing.New().Embed(context.WithoutCancel(t.Context()), texts)
				assert.NoError(t, err)
				assert.Equal(t, want, got)
			}
		})
	}
	wg.Wait()
}

func FuzzEmbed(f *testing.F) {
	for _, s := range []string{"", "hello", "猫\xff\x00", "don't U.S.A. 9router", "a\u0301\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, again := embed(t, text)[0], embed(t, text)[0]
		require.Equal(t, first, again)
		length := dot(first, first)
		require.False(t, math.IsNaN(length))
		if length != 0 {
			require.InDelta(t, 1, length, 1e-5)
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	text := "Yesterday I finally finished painting the old wooden fence behind our summer house, " +
		"and my sister brought her two dogs along so that the children could play with them in the garden."
	e := hashing.New()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), []string{text}); err != nil {
			b.Fatal(err)
		}
	}
}
