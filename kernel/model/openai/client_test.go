package openai_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestNew(t *testing.T) {
	t.Parallel()
	local := "http://localhost:11434/v1"
	for _, c := range []struct {
		name, want string // want is the field that is named, or nothing
		cfg        openai.Config
	}{
		{"OpenAI", "", openai.Config{APIKey: "k"}},
		{"OpenAI without key", "APIKey", openai.Config{}},
		{"OpenAI, credentials elsewhere", "", openai.Config{HTTPClient: &http.Client{}}},
		{"OpenAI without key, spelt out", "APIKey", openai.Config{BaseURL: openai.DefaultBaseURL + "/"}},
		{"local without key", "", openai.Config{BaseURL: local}},
		{"slash at the end", "", openai.Config{BaseURL: local + "/"}},
		{"Azure", "", openai.Config{BaseURL: "https://r.openai.azure.com", APIKey: "k", AzureAPIVersion: "2024-10-21"}},
		{"Azure without resource", "BaseURL", openai.Config{APIKey: "k", AzureAPIVersion: "2024-10-21"}},
		{"no scheme", "BaseURL", openai.Config{BaseURL: "localhost:11434"}},
		{"other scheme", "BaseURL", openai.Config{BaseURL: "ftp://localhost"}},
		{"no host", "BaseURL", openai.Config{BaseURL: "http:///v1"}},
		{"no address", "BaseURL", openai.Config{BaseURL: "http://a b"}},
		{"password", "BaseURL", openai.Config{BaseURL: "https://me:hunter2@host/v1"}},
		{"query", "BaseURL", openai.Config{BaseURL: local + "?key=hunter2"}},
		{"fragment", "BaseURL", openai.Config{BaseURL: local + "#hunter2"}},
		{"newline after the key", "APIKey", openai.Config{APIKey: "hunter2\n"}},
		{"curly quotes", "APIKey", openai.Config{APIKey: "“hunter2”"}},
		{"header in a header", "Organization", openai.Config{APIKey: "k", Organization: "hunter2\r\nX: y"}},
		{"version", "AzureAPIVersion", openai.Config{BaseURL: local, AzureAPIVersion: "hunter2 x"}},
		{"attempts", "Attempts", openai.Config{APIKey: "k", Attempts: -1}},
		{"timeout", "AttemptTimeout", openai.Config{APIKey: "k", AttemptTimeout: -1}},
		{"backoff", "Backoff", openai.Config{APIKey: "k", Backoff: -1}},
		{"most backoff", "MaxBackoff", openai.Config{APIKey: "k", MaxBackoff: -1}},
		{"retry after", "MaxRetryAfter", openai.Config{APIKey: "k", MaxRetryAfter: -1}},
		{"response", "MaxResponseBytes", openai.Config{APIKey: "k", MaxResponseBytes: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, err := openai.New(c.cfg)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, client)
			assert.NotContains(t, err.Error(), "hunter2", "a field is named, its value not shown")
		})
	}
}

func TestPrintingShowsNoKey(t *testing.T) {
	t.Parallel()
	cfg := openai.Config{BaseURL: "https://host/v1", APIKey: secret}
	client, err := openai.New(cfg)
	require.NoError(t, err)
	e, err := client.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3})
	require.NoError(t, err)
	l, err := client.LLM(openai.LLMConfig{Model: "m"})
	require.NoError(t, err)
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(&out, nil))
	for _, v := range []any{cfg, &cfg, client, *client, e, l} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			_, _ = fmt.Fprintf(&out, verb, v)
		}
		log.InfoContext(t.Context(), "x", slog.Any("v", v))
	}
	b, err := json.Marshal(struct{ Key string }{cfg.String()})
	require.NoError(t, err)
	out.Write(b)
	assert.NotContains(t, out.String(), secret)
	assert.Contains(t, out.String(), "https://host/v1")
}

func TestAzure(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) {
		c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1")
		c.AzureAPIVersion = "2024-10-21"
	}, vectorsOf, says(`{}`))
	e, err := b.Embedder(openai.EmbedderConfig{Model: "our.embed-3_5", Name: "text-embedding-3-small", Dim: 3})
	require.NoError(t, err)
	l, err := b.LLM(openai.LLMConfig{Model: "our-gpt3.5", Name: "gpt-4o"})
	require.NoError(t, err)
	_, err = e.Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	req := ask("x")
	req.MaxTokens = 50
	_, err = l.Complete(t.Context(), req)
	require.NoError(t, err)

	seen := b.seen()
	assert.Equal(t, "/openai/deployments/our.embed-3_5/embeddings", seen[0].path)
	assert.Equal(t, "/openai/deployments/our-gpt3.5/chat/completions", seen[1].path, "a deployment keeps its name")
	assert.Equal(t, 50, seen[1].chat.MaxCompletionTokens)
	for _, r := range seen {
		assert.Equal(t, "api-version=2024-10-21", r.query)
		assert.Equal(t, secret, r.header.Get("Api-Key"))
		assert.Empty(t, r.header.Get("Authorization"))
	}
	for _, name := range []string{"a/b", "a?b", "..", "a b", "ä"} {
		_, err := b.LLM(openai.LLMConfig{Model: name})
		if name == ".." {
			continue // harmless: the last segment names the operation
		}
		require.ErrorContains(t, err, "deployment", name)
	}
}

func TestAzureWithTokensOfTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) {
		c.AzureAPIVersion, c.APIKey = "2024-10-21", ""
		inner := c.HTTPClient.Transport
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer of-the-host")
			return inner.RoundTrip(r)
		})}
	}, vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, "Bearer of-the-host", b.seen()[0].header.Get("Authorization"))
	assert.NotContains(t, b.seen()[0].header, "Api-Key", "no empty key beside it")
}

// transport is a round tripper made of a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestServerWithoutKey(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.APIKey = "" }, vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.NotContains(t, b.seen()[0].header, "Authorization")
}

func TestDefaultHTTPClientAndSlash(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.HTTPClient, c.BaseURL = nil, c.BaseURL+"/" }, vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, "/v1/embeddings", b.seen()[0].path)
}

func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the text went somewhere else")
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		followed := false
		b := setup(t, func(c *openai.Config) {
			c.AzureAPIVersion = "2024-10-21"
			c.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { followed = true; return nil }
		}, body(status, "", "Location", other.URL+"/v1/embeddings"))
		_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
		var api *openai.APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, status, api.Status)
		assert.False(t, followed)
		assert.Len(t, b.seen(), 1)
	}
}

func TestHostsClientIsLeftAlone(t *testing.T) {
	t.Parallel()
	host := &http.Client{Timeout: time.Hour}
	_, err := openai.New(openai.Config{HTTPClient: host})
	require.NoError(t, err)
	assert.Nil(t, host.CheckRedirect)
}
