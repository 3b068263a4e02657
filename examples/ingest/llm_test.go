package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// llmServer speaks OpenAI's protocol. It finds a fact in every line of a text.
type llmServer struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // the texts
	header http.Header
}

// texts returns what the model was asked about so far.
func (s *llmServer) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func startLLM(t *testing.T) *llmServer {
	t.Helper()
	s := &llmServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *llmServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&request) != nil || len(request.Messages) != 2 {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	_, text, _ := strings.Cut(request.Messages[1].Content, "<<<TEXT ")
	_, text, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "\nTEXT ")
	s.mu.Lock()
	s.asked, s.header = append(s.asked, text), r.Header
	s.mu.Unlock()
	answer, status := "", http.StatusOK
	switch {
	case strings.Contains(text, "broken"):
		answer = "I would rather talk about boats."
	case strings.Contains(text, "down"):
		status = http.StatusBadRequest
	default:
		var facts []string
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) {
			facts = append(facts, fmt.Sprintf(
				`{"text":%q,"kind":"fact","event_time":null,"event_end":null,"entities":[],"certainty":1}`, strings.ReplaceAll(line, "GUESS", "9 euros"),
			))
		}
		answer = `{"facts":[` + strings.Join(facts, ",") + `]}`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, answer)
}

// TestModel has a model that is of use, one that invents, one that answers nonsense, one that is
// down, and a text that must not be sent to it.
func TestModel(t *testing.T) {
	t.Parallel()
	server := startLLM(t)
	args := []string{"-llm-model", "boats", "-llm-url", server.URL + "/v1", "-once", "-keys", filepath.Join(t.TempDir(), "keys.json"), "-chat", file(
		t, "chat.txt", "[2026-03-01 10:00] Ana: The lock opens at six.", "Paddles hang in the shed.",
		"[2026-03-01 10:01] Ben: The lock opens at six.", "A kayak costs GUESS.",
		"[2026-03-01 10:02] Ben: The pump is broken.",
		"[2026-03-01 10:03] Ana: The crane is down.",
		"[2026-03-01 10:04 corrects 2026-03-01 10:03] Ana: The crane works.",
		"[2026-03-01 10:05 corrects 2026-03-01 10:00] Ana: The lock opens at seven.",
		"[2026-03-01 10:06] Ben: The password for the gate is Otter-Lamp-4471.",
	)}
	docs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(docs, "a.md"), []byte("# Canoes\n\nCanoes are green.\n\n# Rafts\n\nRafts are grey."), 0o600))
	args = append(args, "-docs", docs)
	opts, err := parseFlags(args, t.Output())
	require.NoError(t, err)
	llm, where, err := opts.llm.open(func(string) string { return "sk-of-somebody-else" })
	require.NoError(t, err)
	require.Equal(t, mem.DestinationLocal, where)
	k := open(t, kernel.WithLLM(llm, where))

	s := ingested(t, k, args...).Summary
	require.Equal(t, map[string]int{"stored": 10, "superseded": 1, "deduplicated": 1, "rejected": 2, "kept verbatim": 2, "degraded": 2}, counts(s))
	require.ElementsMatch(t, []reason{
		{string(mem.RejectUnsupported), 1, []example{{"chat.txt:3", "A kayak costs 9 euros."}}},
		{string(mem.RejectSecret), 1, []example{{"chat.txt:9", ""}}},
	}, s.Rejected.Why)
	require.ElementsMatch(t, []reason{
		{string(kernel.VerbatimBadJSON), 1, []example{{"chat.txt:5", ""}}},
		{string(kernel.VerbatimModelFailed), 1, []example{{"chat.txt:6", ""}}},
	}, s.Verbatim.Why)
	require.Equal(t, []reason{{string(kernel.BrownoutLLM), 2, s.Degraded.Why[0].Examples}}, s.Degraded.Why)
	require.Equal(t, []example{{"Ana, chat.txt:6", "replaced by chat.txt:7"}}, s.Superseded.Why[0].Examples)
	asked := server.texts()
	require.Len(t, asked, 9, "seven texts, and two of them again, because there was no list of facts")
	require.NotContains(t, strings.Join(asked, ""), "Otter")
	require.Empty(t, server.header.Get("Authorization"), "OpenAI's key is OpenAI's alone")

	s = ingested(t, k, args...).Summary
	require.Equal(t, map[string]int{"replayed": 8, "rejected": 1}, counts(s))
	require.Len(t, server.texts(), len(asked), "what was written is not asked about again")
}

func TestModelFlags(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"OPENAI_API_KEY": "a", "OTHER": "b"}
	for name, tt := range map[string]struct {
		args  []string
		where kernel.Destination
	}{
		"none":           {nil, ""},
		"OpenAI":         {[]string{"-llm-model", "m"}, mem.DestinationRemoteModel},
		"trusted":        {[]string{"-llm-model", "m", "-llm-trusted"}, mem.DestinationTrustedModel},
		"elsewhere":      {[]string{"-llm-model", "m", "-llm-url", "https://models.example/v1", "-llm-key-env", "OTHER"}, mem.DestinationRemoteModel},
		"by name":        {[]string{"-llm-model", "m", "-llm-url", "http://localhost:1/v1"}, mem.DestinationLocal},
		"by IPv6":        {[]string{"-llm-model", "m", "-llm-url", "http://[::1]:1/v1"}, mem.DestinationLocal},
		"a near name":    {[]string{"-llm-model", "m", "-llm-url", "http://localhost.example/v1"}, mem.DestinationRemoteModel},
		"a near network": {[]string{"-llm-model", "m", "-llm-url", "http://10.0.0.1/v1"}, mem.DestinationRemoteModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, err := parseFlags(tt.args, t.Output())
			require.NoError(t, err)
			llm, where, err := opts.llm.open(func(name string) string { return environment[name] })
			require.NoError(t, err)
			require.Equal(t, tt.where, where)
			require.Equal(t, tt.where == "", llm == nil)
		})
	}
	t.Run("a key of its own", func(t *testing.T) {
		t.Parallel()
		server := startLLM(t)
		f := &llmFlags{model: "m", url: server.URL + "/v1", keyEnv: "OTHER"}
		llm, _, err := f.open(func(name string) string { return environment[name] })
		require.NoError(t, err)
		_, err = llm.Complete(t.Context(), model.Request{System: "s", Prompt: "<<<TEXT 1\na\nTEXT 1>>>"})
		require.NoError(t, err)
		require.Equal(t, "Bearer b", server.header.Get("Authorization"))
	})
}
