package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/openai"
)

// secret is the key of every client here; it must never be seen in an error or a log.
const secret = "sk-test-4f9a0c1e77"

// exchanged is a request as the server saw it.
type exchanged struct {
	method, path, query string
	header              http.Header
	body                []byte
	chat                chatRequest
	embed               embedRequest
}

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct{ Role, Content string }
	Format   *struct {
		Type   string `json:"type"`
		Schema *struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	MaxTokens           int  `json:"max_tokens"`
	MaxCompletionTokens int  `json:"max_completion_tokens"`
	Stream              bool `json:"stream"`
}

// format returns the type of the response format asked for.
func (c *chatRequest) format() string {
	if c.Format == nil {
		return "text"
	}
	return c.Format.Type
}

type embedRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	Dimensions     int      `json:"dimensions"`
	EncodingFormat string   `json:"encoding_format"`
}

// respond is one answer of the server. It has read the whole request.
type respond func(w http.ResponseWriter, r *exchanged)

// bundle is a client, its server and its clock.
type bundle struct {
	*openai.Client
	url    string
	clock  *clock
	log    *bytes.Buffer
	answer func(respond) // what to answer from now on

	mu       sync.Mutex
	requests []exchanged
}

// setup starts a server on the loopback that answers in order, and with the last answer
// from then on, and returns a client of it.
func setup(t *testing.T, change func(*openai.Config), answers ...respond) *bundle {
	t.Helper()
	b := &bundle{clock: newClock(), log: &bytes.Buffer{}}
	b.answer = func(r respond) {
		b.mu.Lock()
		defer b.mu.Unlock()
		answers = []respond{r}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchanged{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, header: r.Header.Clone()}
		x.body, _ = io.ReadAll(r.Body)
		_ = json.Unmarshal(x.body, &x.chat)
		_ = json.Unmarshal(x.body, &x.embed)
		b.mu.Lock()
		b.requests = append(b.requests, x)
		next := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		b.mu.Unlock()
		next(w, &x)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	cfg := openai.Config{
		BaseURL: server.URL + "/v1", APIKey: secret, HTTPClient: server.Client(),
		Now: b.clock.Now, Sleep: b.clock.Sleep,
		Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	c, err := openai.New(cfg)
	require.NoError(t, err)
	b.Client = c
	return b
}

// seen returns the requests so far.
func (b *bundle) seen() []exchanged {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// embedder returns an embedder of 3 components.
func (b *bundle) embedder(t *testing.T) *openai.Embedder {
	t.Helper()
	e, err := b.Embedder(openai.EmbedderConfig{Model: "embed-model", Dim: 3})
	require.NoError(t, err)
	return e
}

func (b *bundle) llm(t *testing.T) *openai.LLM {
	t.Helper()
	l, err := b.LLM(openai.LLMConfig{Model: "chat-model"})
	require.NoError(t, err)
	return l
}

// clock is a clock that only moves when something sleeps.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []time.Duration
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.sleeps = append(c.sleeps, d)
	c.mu.Unlock()
	c.Advance(d)
	return ctx.Err()
}

func (c *clock) slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sleeps)
}

// vectorsOf answers with a vector for every text: its length, its position, 1.
func vectorsOf(w http.ResponseWriter, r *exchanged) {
	items := make([]string, len(r.embed.Input))
	for i, text := range r.embed.Input {
		items[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,%d,1]}`, i, len(text), i)
	}
	send(w, 200, fmt.Sprintf(`{"object":"list","data":[%s],"model":"embed-model","usage":{"prompt_tokens":%d,"total_tokens":%[2]d}}`,
		strings.Join(items, ","), 5*len(items)))
}

// says answers with a whole chat completion, 12 tokens of prompt and 7 of answer.
func says(text string) respond {
	return func(w http.ResponseWriter, _ *exchanged) { send(w, 200, completion(text, "stop", "")) }
}

// completion is a chat completion as OpenAI sends it.
func completion(text, reason, refusal string) string {
	quoted := func(s string) string {
		if s == "" {
			return "null"
		}
		b, _ := json.Marshal(s)
		return string(b)
	}
	return fmt.Sprintf(`{
  "id": "chatcmpl-9x", "object": "chat.completion", "created": 1773480413, "model": "chat-model-2026-01-01",
  "choices": [{"index": 0, "message": {"role": "assistant", "content": %s, "refusal": %s, "annotations": []}, "logprobs": null, "finish_reason": %s}],
  "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}},
  "service_tier": "default", "system_fingerprint": "fp_1"}`, quoted(text), quoted(refusal), quoted(reason))
}

// body answers with a status and a body; headers are name, value and so on.
func body(status int, text string, headers ...string) respond {
	return func(w http.ResponseWriter, _ *exchanged) { send(w, status, text, headers...) }
}

func send(w http.ResponseWriter, status int, text string, headers ...string) {
	w.Header().Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		w.Header().Set(headers[i], headers[i+1])
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// apiErr is an error's body as OpenAI sends it; empty words are null.
func apiErr(message, kind, param, code string) string {
	word := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	b, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": message, "type": word(kind), "param": word(param), "code": word(code),
	}})
	return string(b)
}

var schema = []byte(`{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}}},"required":["facts"],"additionalProperties":false}`)

func ask(prompt string) model.Request {
	return model.Request{System: "You extract facts.", Prompt: prompt, SchemaName: "facts", Schema: schema}
}

// newServer starts another server, for what respond cannot do.
func newServer(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}
