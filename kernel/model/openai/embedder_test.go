package openai_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	got, err := b.embedder(t).Embed(t.Context(), []string{"a", "bb", "ccc"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{1, 0, 1}, {2, 1, 1}, {3, 2, 1}}, got)

	seen := b.seen()
	require.Len(t, seen, 1)
	assert.Equal(t, "POST", seen[0].method)
	assert.Equal(t, "/v1/embeddings", seen[0].path)
	assert.Empty(t, seen[0].query)
	assert.Equal(t, "Bearer "+secret, seen[0].header.Get("Authorization"))
	assert.Equal(t, embedRequest{Model: "embed-model", Input: []string{"a", "bb", "ccc"}, EncodingFormat: "float"}, seen[0].embed)
	assert.NotContains(t, string(seen[0].body), "dimensions", "sent only when asked for")
}

func TestEmbedNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	got, err := b.embedder(t).Embed(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, got)

	got, err = b.embedder(t).Embed(t.Context(), []string{"", " \n\t", "\u00a0"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, got, "servers refuse blank texts")
	assert.Empty(t, b.seen(), "nothing was asked")

	got, err = b.embedder(t).Embed(t.Context(), []string{"", "bb", " ", "dddd"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{0, 0, 0}, {2, 0, 1}, {0, 0, 0}, {4, 1, 1}}, got)
	require.Len(t, b.seen(), 1)
	assert.Equal(t, []string{"bb", "dddd"}, b.seen()[0].embed.Input)
}

func TestEmbedKeepsText(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	texts := []string{"  spaces kept\n", `<b>"quotes" & 'more'</b>`, "\u2028 猫 🎉"}
	_, err := b.embedder(t).Embed(t.Context(), texts)
	require.NoError(t, err)
	assert.Equal(t, texts, b.seen()[0].embed.Input)
}

func TestEmbedOrdersByIndex(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(200, `{"object":"list","data":[
		{"object":"embedding","index":2,"embedding":[2,0,0]},
		{"object":"embedding","index":0,"embedding":[0.5,-1e-7,0]},
		{"object":"embedding","index":1,"embedding":[1,0,0]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`))
	got, err := b.embedder(t).Embed(t.Context(), []string{"a", "b", "c"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{0.5, -1e-7, 0}, {1, 0, 0}, {2, 0, 0}}, got)
}

func TestEmbedDimensions(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	e, err := b.Embedder(openai.EmbedderConfig{Model: "text-embedding-3-small", Dimensions: 3})
	require.NoError(t, err)
	assert.Equal(t, 3, e.Info().Dim)
	_, err = e.Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, 3, b.seen()[0].embed.Dimensions)
}

func TestEmbedBatches(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	e, err := b.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3, Batch: 4})
	require.NoError(t, err)
	texts := make([]string, 10)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	got, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, got, 10)
	for i, v := range got {
		assert.InDelta(t, i+1, v[0], 0, "the vector of text %d", i)
	}
	var sizes []int
	for _, r := range b.seen() {
		sizes = append(sizes, len(r.embed.Input))
	}
	assert.Equal(t, []int{4, 4, 2}, sizes)
}

func TestEmbedFailsWhole(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf, body(400, apiErr("no", "invalid_request_error", "", "")))
	e, err := b.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3, Batch: 1})
	require.NoError(t, err)
	got, err := e.Embed(t.Context(), []string{"a", "b"})
	require.Error(t, err)
	assert.Nil(t, got, "no vectors with an error")
}

func TestBatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		texts        []string
		count, bytes int
		want         [][]int
	}{
		{"none", nil, 2, 10, nil},
		{"blank", []string{"", "  "}, 2, 10, nil},
		{"by count", []string{"a", "b", "c", "d", "e"}, 2, 10, [][]int{{0, 1}, {2, 3}, {4}}},
		{"by bytes", []string{"aaaa", "bbbb", "cc", "d"}, 9, 8, [][]int{{0, 1}, {2, 3}}},
		{"too long alone", []string{"a", "bbbbbbbbbbbb", "c"}, 9, 8, [][]int{{0}, {1}, {2}}},
		{"blanks between", []string{"a", "", "b", " ", "c"}, 2, 10, [][]int{{0, 2}, {4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, openai.Batches(c.texts, c.count, c.bytes))
		})
	}
}

func TestEmbedSplitsByBytes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	long := strings.Repeat("x", openai.MaxBatchBytes/2+1)
	_, err := b.embedder(t).Embed(t.Context(), []string{long, long, "short"})
	require.NoError(t, err)
	assert.Len(t, b.seen(), 2)
}

func TestBatchFitsResponse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.MaxResponseBytes = 400 }, vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a", "b", "c", "d", "e"})
	require.NoError(t, err)
	assert.Greater(t, len(b.seen()), 2, "as many texts as vectors fit into an answer")
}

func TestEmbedMalformed(t *testing.T) {
	t.Parallel()
	vector := func(parts ...string) string {
		items := make([]string, len(parts))
		for i, p := range parts {
			items[i] = `{"object":"embedding",` + p + `}`
		}
		return `{"object":"list","data":[` + strings.Join(items, ",") + `],"usage":{"prompt_tokens":1,"total_tokens":1}}`
	}
	good := `"index":0,"embedding":[1,2,3]`
	for _, c := range []struct{ name, body string }{
		{"too few", vector(good)},
		{"too many", vector(good, `"index":1,"embedding":[1,2,3]`, `"index":2,"embedding":[1,2,3]`)},
		{"none", vector()},
		{"index twice", vector(good, good)},
		{"index out of range", vector(good, `"index":2,"embedding":[1,2,3]`)},
		{"index negative", vector(good, `"index":-1,"embedding":[1,2,3]`)},
		{"index missing", vector(`"embedding":[1,2,3]`, `"embedding":[1,2,3]`)},
		{"too short", vector(good, `"index":1,"embedding":[1,2]`)},
		{"too long", vector(good, `"index":1,"embedding":[1,2,3,4]`)},
		{"no vector", vector(good, `"index":1,"embedding":null`)},
		{"null component", vector(good, `"index":1,"embedding":[1,null,3]`)},
		{"NaN", vector(good, `"index":1,"embedding":[1,NaN,3]`)},
		{"NaN as text", vector(good, `"index":1,"embedding":[1,"NaN",3]`)},
		{"infinite", vector(good, `"index":1,"embedding":[1,Infinity,3]`)},
		{"over float32", vector(good, `"index":1,"embedding":[1,1e39,3]`)},
		{"base64 unasked", vector(good, `"index":1,"embedding":"AACAPw=="`)},
		{"half", vector(good, good)[:80]},
		{"two documents", vector(good, `"index":1,"embedding":[1,2,3]`) + "{}"},
		{"empty", ""},
		{"null", "null"},
		{"list", "[]"},
		{"page", "<html><body>Welcome</body></html>"},
		{"data is text", `{"data":"none"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, body(200, c.body))
			got, err := b.embedder(t).Embed(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, openai.ErrMalformed)
			assert.Nil(t, got)
			assert.Len(t, b.seen(), 1, "not tried again: it was paid for")
		})
	}
}

func TestEmbedErrorsBesideVectors(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(200, `{"data":[],"choices":3,"error":null}`))
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrMalformed)
}

func TestEmbedNullElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(200, `{"object":"list","error":null,"data":[{"object":null,"index":0,"embedding":[1,2,3]}],"usage":null}`))
	got, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{1, 2, 3}}, got)
}

func TestEmbedTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.MaxResponseBytes = 1 << 16 }, func(w http.ResponseWriter, _ *exchanged) {
		send(w, 200, `{"data":[`)
		chunk := []byte(strings.Repeat(" ", 1<<12))
		for {
			if _, err := w.Write(chunk); err != nil {
				return // the client hung up
			}
		}
	})
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrTooLarge)
	assert.Len(t, b.seen(), 1)
}

func TestInfo(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	azure := setup(t, func(c *openai.Config) { c.AzureAPIVersion = "2024-10-21" }, vectorsOf)
	one, err := b.Embedder(openai.EmbedderConfig{Model: "text-embedding-3-large", Dimensions: 256})
	require.NoError(t, err)
	other, err := azure.Embedder(openai.EmbedderConfig{Model: "our-deployment", Name: "text-embedding-3-large", Dimensions: 256})
	require.NoError(t, err)
	assert.Equal(t, model.Info{Name: "text-embedding-3-large", Revision: "1", Dim: 256}, one.Info())
	assert.Equal(t, one.Info(), other.Info(), "the same model, wherever it is served")
	assert.Equal(t, one.Info(), one.For("acme").Info())

	for name, dim := range map[string]int{"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536} {
		e, err := b.Embedder(openai.EmbedderConfig{Model: name})
		require.NoError(t, err)
		assert.Equal(t, dim, e.Info().Dim)
	}
}

func TestEmbedderConfig(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	for _, c := range []struct {
		want string
		cfg  openai.EmbedderConfig
	}{
		{"Model", openai.EmbedderConfig{Dim: 3}},
		{"Dim", openai.EmbedderConfig{Model: "unknown"}},
		{"Dim", openai.EmbedderConfig{Model: "m", Dim: -1}},
		{"Dimensions", openai.EmbedderConfig{Model: "m", Dim: 3, Dimensions: -1}},
		{"Batch", openai.EmbedderConfig{Model: "m", Dim: 3, Batch: -1}},
		{"Batch", openai.EmbedderConfig{Model: "m", Dim: 3, Batch: openai.MaxBatch + 1}},
	} {
		_, err := b.Embedder(c.cfg)
		require.ErrorContains(t, err, c.want, "%+v", c.cfg)
	}
}

func TestEmbedConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	e := b.embedder(t)
	results := make(chan error)
	for i := range 16 {
		go func() {
			texts := slices.Repeat([]string{strings.Repeat("y", i+1)}, i+1)
			got, err := e.For(fmt.Sprint("tenant", i)).Embed(t.Context(), texts)
			if err == nil && (len(got) != i+1 || got[i][0] != float32(i+1)) {
				err = fmt.Errorf("call %d got another's vectors", i)
			}
			results <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-results)
	}
}
