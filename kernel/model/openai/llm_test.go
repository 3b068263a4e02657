package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.Organization = "org-1" }, says(`{"facts":["x"]}`))
	l := b.llm(t)
	req := ask("Dana said x.")
	req.MaxTokens = 300
	got, err := l.Complete(t.Context(), req)
	require.NoError(t, err)
	assert.JSONEq(t, `{"facts":["x"]}`, string(got.JSON))
	assert.Equal(t, model.Usage{PromptTokens: 12, AnswerTokens: 7}, got.Usage)
	assert.Equal(t, "chat-model", l.Name())

	seen := b.seen()
	require.Len(t, seen, 1)
	r := seen[0]
	assert.Equal(t, "/v1/chat/completions", r.path)
	assert.Equal(t, "Bearer "+secret, r.header.Get("Authorization"))
	assert.Equal(t, "org-1", r.header.Get("Openai-Organization"))
	assert.Equal(t, "chat-model", r.chat.Model)
	assert.False(t, r.chat.Stream)
	require.Len(t, r.chat.Messages, 2)
	assert.Equal(t, "system", r.chat.Messages[0].Role)
	assert.Equal(t, "You extract facts.", r.chat.Messages[0].Content)
	assert.Equal(t, "user", r.chat.Messages[1].Role)
	assert.Equal(t, "Dana said x.", r.chat.Messages[1].Content)
	require.Equal(t, "json_schema", r.chat.format())
	assert.Equal(t, "facts", r.chat.Format.Schema.Name)
	assert.True(t, r.chat.Format.Schema.Strict)
	assert.JSONEq(t, string(schema), string(r.chat.Format.Schema.Schema))
	assert.Equal(t, 300, r.chat.MaxTokens, "the name that every other server knows")
	assert.Zero(t, r.chat.MaxCompletionTokens)
}

func TestCompleteParts(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(200, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[
		{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"{\"a\":"},{"type":"text","text":"1}"}]}}]}`))
	got, err := b.llm(t).Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, string(got.JSON))
	assert.Equal(t, model.Usage{}, got.Usage, "the server did not count")
}

func TestCompleteAsTheModelGaveIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"```json\n{\"facts\":[]}\n```", `{"facts":[`, "no", ` {"a":"\u0000"} `} {
		b := setup(t, nil, says(text))
		got, err := b.llm(t).Complete(t.Context(), ask("x"))
		require.NoError(t, err)
		assert.Equal(t, text, string(got.JSON), "judging it is the caller's")
	}
}

func TestCompleteWithoutSystem(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, says(`{}`))
	_, err := b.llm(t).Complete(t.Context(), model.Request{Prompt: "x", Schema: schema})
	require.NoError(t, err)
	r := b.seen()[0].chat
	require.Len(t, r.Messages, 1, "no empty message")
	assert.Equal(t, "answer", r.Format.Schema.Name, "the protocol wants a name")
}

func TestCompleteWithoutSchema(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, says(`{}`))
	_, err := b.llm(t).Complete(t.Context(), model.Request{System: "s", Prompt: "x"})
	require.NoError(t, err)
	r := b.seen()[0].chat
	assert.Equal(t, "json_object", r.format())
	assert.Contains(t, r.Messages[0].Content, "JSON", "OpenAI wants the word")
	assert.NotContains(t, r.Messages[0].Content, "Schema")
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       error
	}{
		{"refusal", completion("", "stop", "I can't help with that."), openai.ErrRefused},
		{"filtered", completion(`{"facts":[`, "content_filter", ""), openai.ErrRefused},
		{"cut", completion(`{"facts":["`, "length", ""), openai.ErrTruncated},
		{"cut, and nothing written", completion("", "length", ""), openai.ErrTruncated},
		{"cut, other words", completion("{", "MAX_TOKENS", ""), openai.ErrTruncated},
		{"stopped for load", completion("{", "insufficient_system_resource", ""), openai.ErrTruncated},
		{"error as a reason", completion("{", "error", ""), openai.ErrTruncated},
		{"a tool", completion("", "tool_calls", ""), openai.ErrMalformed},
		{"empty", completion("", "stop", ""), openai.ErrMalformed},
		{"blank", completion(" \n ", "stop", ""), openai.ErrMalformed},
		{"no choices", `{"choices":[],"usage":{"prompt_tokens":1}}`, openai.ErrMalformed},
		{"choices null", `{"choices":null}`, openai.ErrMalformed},
		{"no object", `[]`, openai.ErrMalformed},
		{"null", `null`, openai.ErrMalformed},
		{"content is a number", `{"choices":[{"message":{"content":7},"finish_reason":"stop"}]}`, openai.ErrMalformed},
		{"half", completion(`{}`, "stop", "")[:200], openai.ErrMalformed},
		{"page", "<!doctype html><title>Sign in</title>", openai.ErrMalformed},
		{"nothing", "", openai.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, body(200, c.body))
			got, err := b.llm(t).Complete(t.Context(), ask("x"))
			require.ErrorIs(t, err, c.want)
			assert.Nil(t, got)
			assert.Len(t, b.seen(), 1, "it was paid for; asking again is the caller's decision")
			assert.ErrorContains(t, err, "chat-model")
		})
	}
}

func TestUnknownReasonsAreAnswers(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"stop", "eos", "end_turn", ""} {
		b := setup(t, nil, body(200, completion(`{}`, reason, "")))
		got, err := b.llm(t).Complete(t.Context(), ask("x"))
		require.NoError(t, err, reason)
		assert.Equal(t, `{}`, string(got.JSON))
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, says(`{}`))
	for want, req := range map[string]model.Request{
		"Prompt":                       {Schema: schema},
		"MaxTokens":                    {Prompt: "x", MaxTokens: -1},
		"Schema":                       {Prompt: "x", Schema: []byte(`{"type":`)},
		"SchemaName":                   {Prompt: "x", Schema: schema, SchemaName: "two words"},
		"SchemaName must be at most 6": {Prompt: "x", Schema: schema, SchemaName: strings.Repeat("n", 65)},
	} {
		_, err := b.llm(t).Complete(t.Context(), req)
		require.ErrorContains(t, err, want)
	}
	assert.Empty(t, b.seen(), "nothing was asked")
}

func TestModelThatTheProtocolsClientRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, says(`{}`))
	l, err := b.LLM(openai.LLMConfig{Model: "text-davinci-003"})
	require.NoError(t, err)
	_, err = l.Complete(t.Context(), ask("x"))
	require.ErrorContains(t, err, "cannot be made of this model")
	assert.Empty(t, b.seen())
}

func TestLLMConfig(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, says(`{}`))
	for want, cfg := range map[string]openai.LLMConfig{
		"Model":         {},
		"Format":        {Model: "m", Format: 3},
		"AssumedAnswer": {Model: "m", AssumedAnswer: -1},
	} {
		_, err := b.LLM(cfg)
		require.ErrorContains(t, err, want)
	}
	l, err := b.LLM(openai.LLMConfig{Model: "deployment", Name: "gpt-4o"})
	require.NoError(t, err)
	assert.Equal(t, "gpt-4o", l.Name())
	assert.Equal(t, "gpt-4o", l.For("acme").Name())
}

func TestCompleteConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(w http.ResponseWriter, r *exchanged) {
		if r.chat.format() == "json_schema" {
			send(w, 400, apiErr("response_format type is unavailable", "invalid_request_error", "", ""))
			return
		}
		says(`{"prompt":"`+r.chat.Messages[1].Content+`"}`)(w, r)
	})
	l := b.llm(t)
	results := make(chan error)
	for i := range 16 {
		go func() {
			prompt := fmt.Sprint("p", i)
			got, err := l.Complete(t.Context(), ask(prompt))
			if err == nil && string(got.JSON) != `{"prompt":"`+prompt+`"}` {
				err = fmt.Errorf("%s got another's answer", prompt)
			}
			results <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-results)
	}
}
