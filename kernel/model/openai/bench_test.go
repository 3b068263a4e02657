package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

// BenchmarkEmbed measures what a full batch costs beside the model: the request, the answer
// and its checks, over the loopback.
func BenchmarkEmbed(b *testing.B) {
	for _, dim := range []int{384, 1536} {
		b.Run(fmt.Sprint("dim=", dim), func(b *testing.B) {
			numbers := strings.TrimSuffix(strings.Repeat("-0.012345678,", dim), ",")
			items := make([]string, openai.DefaultBatch)
			texts := make([]string, openai.DefaultBatch)
			for i := range items {
				items[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%s]}`, i, numbers)
				texts[i] = "a sentence of a conversation"
			}
			answer := `{"object":"list","data":[` + strings.Join(items, ",") + `],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
			b.Cleanup(server.Close)
			client, err := openai.New(openai.Config{BaseURL: server.URL})
			require.NoError(b, err)
			e, err := client.Embedder(openai.EmbedderConfig{Model: "m", Dim: dim})
			require.NoError(b, err)
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				_, err := e.Embed(b.Context(), texts)
				require.NoError(b, err)
			}
		})
	}
}
