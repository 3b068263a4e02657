package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   string
		is     error
	}{
		{"OpenAI", 400, apiErr("too long", "invalid_request_error", "messages", "context_length_exceeded"), "context_length_exceeded", nil},
		{"OpenAI without a code", 500, apiErr("The server had an error", "server_error", "", ""), "server_error", openai.ErrUnavailable},
		{"OpenAI, rate", 429, apiErr("Rate limit reached", "tokens", "", "rate_limit_exceeded"), "rate_limit_exceeded", openai.ErrRateLimited},
		{"messages as a list", 400, `{"error":{"message":["a","b"],"type":"invalid_request_error"}}`, "invalid_request_error", nil},
		{"Azure", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, "DeploymentNotFound", nil},
		{"Azure, rate", 429, `{"error":{"code":"429","message":"Requests to the Embeddings_Create Operation have exceeded call rate limit."}}`, "429", openai.ErrRateLimited},
		{"Azure's gateway", 401, `{"statusCode":401,"message":"Access denied due to invalid subscription key."}`, "", nil},
		{"Azure's filter", 400, `{"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}`, "content_filter", openai.ErrRefused},
		{"vLLM", 404, `{"object":"error","message":"The model does not exist.","type":"NotFoundError","param":null,"code":404}`, "404", nil},
		{"OpenRouter", 402, `{"error":{"message":"Insufficient credits","code":402}}`, "402", nil},
		{"Cerebras", 429, `{"message":"Tokens per minute limit exceeded","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`, "token_quota_exceeded", openai.ErrRateLimited},
		{"Ollama", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, "api_error", nil},
		{"string", 400, `{"error":"no model loaded"}`, "", nil},
		{"list", 400, `[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, "400", nil},
		{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"bad"}]}`, "", nil},
		{"page", 502, "<html><head><title>502 Bad Gateway</title></head></html>", "", openai.ErrUnavailable},
		{"nothing", 503, "", "", openai.ErrUnavailable},
		{"null", 503, "null", "", openai.ErrUnavailable},
		{"error null", 503, `{"error":null}`, "", openai.ErrUnavailable},
		{"empty list", 503, `[]`, "", openai.ErrUnavailable},
		{"half", 503, `{"error":{"code":"x`, "", openai.ErrUnavailable},
		{"wrong types", 503, `{"error":{"code":{"a":1},"type":[1],"message":{},"param":3,"innererror":"x"}}`, "", openai.ErrUnavailable},
		{"code that is prose", 400, `{"error":{"code":"this went wrong","type":"bad_request"}}`, "bad_request", nil},
		{"code without end", 400, `{"error":{"code":"` + strings.Repeat("x", 65) + `"}}`, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(cfg *openai.Config) { cfg.Attempts = 1 }, body(c.status, c.body))
			_, err := b.llm(t).Complete(t.Context(), ask("x "))
			var api *openai.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, c.status, api.Status)
			assert.Equal(t, c.code, api.Code)
			for _, sentinel := range []error{openai.ErrRateLimited, openai.ErrUnavailable, openai.ErrRefused, openai.ErrMalformed, openai.ErrBudget} {
				if errors.Is(sentinel, c.is) {
					require.ErrorIs(t, err, sentinel)
				} else {
					require.NotErrorIs(t, err, sentinel)
				}
			}
			assert.Len(t, b.seen(), 1)
		})
	}
}

func TestFilteredPromptIsFinal(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(400, `{"error":{"message":"The response was filtered; response_format","code":"content_filter"}}`))
	_, err := b.llm(t).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, openai.ErrRefused)
	assert.Len(t, b.seen(), 1)
}

func TestFilteredInsideIsFinal(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(200, `{"error":{"code":"content_filter"}}`))
	_, err := b.llm(t).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, openai.ErrRefused)
	assert.Len(t, b.seen(), 1)
}

func TestEndlessErrorBody(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.Attempts = 1 }, body(500, strings.Repeat("x", 1<<20)))
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable)
	assert.Less(t, len(err.Error()), 200)
}

func FuzzErrorBodies(f *testing.F) {
	for _, s := range []string{
		"", "null", "[]", `{"error":"x"}`, `{"error":{"code":429,"message":"m","type":"t","param":"response_format"}}`,
		`[{"error":{"code":"swordfish"}}]`, `{"choices":[{"error":{"code":502}}]}`, `{"detail":[]}`,
		`{"error":{"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
	} {
		f.Add(400, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		for _, e := range []*openai.APIError{
			openai.ErrorOf(status, text, "sk-key", "say swordfish"),
			openai.ErrorInside(text, "sk-key", "say swordfish"),
		} {
			if e == nil {
				continue
			}
			shown := e.Error()
			if strings.Contains(shown, "swordfish") || strings.Contains(shown, "sk-key") || len(shown) > 200 || strings.ContainsAny(shown, "\r\n\x00") {
				t.Errorf("%d %q: %q", status, text, shown)
			}
		}
	})
}
