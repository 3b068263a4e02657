package openai_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/openai"
)

// formats returns the forms that were asked for, in order.
func (b *bundle) formats() []string {
	var out []string
	for _, r := range b.seen() {
		out = append(out, r.chat.format())
	}
	return out
}

// takes is a server that takes these formats and refuses others as refuse does.
func takes(refuse func(format string) respond, formats ...string) respond {
	return func(w http.ResponseWriter, r *exchanged) {
		for _, f := range formats {
			if r.chat.format() == f {
				says(`{"facts":[]}`)(w, r)
				return
			}
		}
		refuse(r.chat.format())(w, r)
	}
}

// TestRefusedFormats holds what servers say when they do not know a format.
func TestRefusedFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		refuse func(format string) respond
		takes  string
		want   []string
	}{
		{"older OpenAI models", func(f string) respond {
			return body(400, apiErr("Invalid parameter: 'response_format' of type '"+f+"' is not supported with this model. Learn more about supported models.", "invalid_request_error", "", ""))
		}, "json_object", []string{"json_schema", "json_object"}},
		{"still older OpenAI models", func(f string) respond {
			return body(400, apiErr("Invalid parameter: 'response_format' of type '"+f+"' is not supported with this model.", "invalid_request_error", "response_format", ""))
		}, "text", []string{"json_schema", "json_object", "text"}},
		{"Azure before 2024-08", func(string) respond {
			return body(400, apiErr("response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later", "", "", "BadRequest"))
		}, "json_object", []string{"json_schema", "json_object"}},
		{"DeepSeek", func(string) respond {
			return body(400, apiErr("This response_format type is unavailable now", "invalid_request_error", "", "invalid_request_error"))
		}, "json_object", []string{"json_schema", "json_object"}},
		{"DeepSeek, as text", func(string) respond {
			return body(422, "Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 1240")
		}, "json_object", []string{"json_schema", "json_object"}},
		{"Groq", func(f string) respond {
			return body(400, apiErr("This model does not support response format `"+f+"`. See supported models", "invalid_request_error", "response_format", ""))
		}, "json_object", []string{"json_schema", "json_object"}},
		{"vLLM, before guided decoding", func(string) respond {
			return body(400, `{"object":"error","message":"[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}]","type":"BadRequestError","param":null,"code":400}`)
		}, "json_object", []string{"json_schema", "json_object"}},
		{"FastAPI", func(string) respond {
			return body(422, `{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted"}]}`)
		}, "text", []string{"json_schema", "json_object", "text"}},
		{"llama.cpp, as a failure of its own", func(string) respond {
			return body(500, `{"error":{"code":500,"message":"response_format type must be one of \"text\" or \"json_object\", but got: json_schema","type":"server_error"}}`)
		}, "json_object", []string{"json_schema", "json_object"}},
		{"error as a string", func(f string) respond {
			return body(400, `{"error":"'response_format.type' must be 'text', not `+f+`"}`)
		}, "text", []string{"json_schema", "json_object", "text"}},
		{"error in a list", func(string) respond {
			return body(400, `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"json_schema\" at 'response_format'","status":"INVALID_ARGUMENT"}}]`)
		}, "json_object", []string{"json_schema", "json_object"}},
		{"error inside a good status", func(string) respond {
			return body(200, `{"error":{"code":400,"message":"structured outputs are not supported by this provider"}}`)
		}, "text", []string{"json_schema", "json_object", "text"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, takes(c.refuse, c.takes))
			l := b.llm(t)
			got, err := l.Complete(t.Context(), ask("x"))
			require.NoError(t, err)
			assert.JSONEq(t, `{"facts":[]}`, string(got.JSON))
			require.Equal(t, c.want, b.formats())
			assert.Empty(t, b.clock.slept(), "this is no failure to wait for")

			last := b.seen()[len(c.want)-1].chat
			assert.Contains(t, last.Messages[0].Content, "You extract facts.")
			assert.Contains(t, last.Messages[0].Content, string(schema), "the model is told what the server does not enforce")
			assert.Equal(t, "x", last.Messages[1].Content)

			other := ask("y")
			other.Schema = []byte(`{"type":"object"}`)
			for _, again := range []model.Request{ask("y"), other} {
				_, err = l.For("acme").Complete(t.Context(), again)
				require.NoError(t, err)
			}
			assert.Equal(t, append(c.want, c.takes, c.takes), b.formats(), "remembered, for any schema and view")
		})
	}
}

func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	bad := ask("x")
	bad.Schema = []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	b := setup(t, nil, func(w http.ResponseWriter, r *exchanged) {
		if r.chat.format() == "json_schema" && string(r.chat.Format.Schema.Schema) == string(bad.Schema) {
			send(w, 400, apiErr("Invalid schema for response_format 'facts': In context=(), 'additionalProperties' is required to be supplied and to be false.", "invalid_request_error", "response_format", ""))
			return
		}
		says(`{}`)(w, r)
	})
	l := b.llm(t)
	for _, req := range []model.Request{bad, ask("y"), bad} {
		_, err := l.Complete(t.Context(), req)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"json_schema", "json_object", "json_schema", "json_object"}, b.formats(), "it is this schema that is refused, no other")
}

func TestMisreadErrorIsNotRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(400, apiErr("your prompt, which says response_format, is not allowed", "invalid_request_error", "", "bad")))
	l := b.llm(t)
	_, err := l.Complete(t.Context(), ask("x"))
	require.Error(t, err)
	require.Equal(t, []string{"json_schema", "json_object", "text"}, b.formats())
	b.answer(says(`{}`))
	_, err = l.Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	assert.Equal(t, "json_schema", b.formats()[3], "nothing else has worked, so nothing was learnt")
}

func TestOtherErrorsAreNoRefusal(t *testing.T) {
	t.Parallel()
	for status, text := range map[int]string{
		400: apiErr("context length exceeded", "invalid_request_error", "messages", "context_length_exceeded"),
		401: apiErr("response_format needs a key", "invalid_request_error", "", "invalid_api_key"),
		403: apiErr("json_schema is for others", "", "", ""),
		404: apiErr("The model does not exist", "invalid_request_error", "", "model_not_found"),
	} {
		b := setup(t, nil, body(status, text))
		_, err := b.llm(t).Complete(t.Context(), ask("x"))
		var api *openai.APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, status, api.Status)
		assert.Len(t, b.seen(), 1)
	}
}

func TestSchemalessRefusalSaysNothingOfSchemas(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, takes(func(string) respond {
		return body(400, `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`)
	}, "json_schema", "text"))
	l := b.llm(t)
	for _, req := range []model.Request{{Prompt: "x"}, {Prompt: "x"}, ask("x")} {
		_, err := l.Complete(t.Context(), req)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"json_object", "text", "text", "json_schema"}, b.formats())
}

func TestFormatToBeginWith(t *testing.T) {
	t.Parallel()
	for _, f := range []openai.Format{openai.FormatSchema, openai.FormatObject, openai.FormatText} {
		b := setup(t, nil, says(`{}`))
		l, err := b.LLM(openai.LLMConfig{Model: "m", Format: f})
		require.NoError(t, err)
		_, err = l.Complete(t.Context(), ask("x"))
		require.NoError(t, err)
		assert.Equal(t, []string{f.String()}, b.formats())
	}
	assert.Equal(t, "unknown", openai.Format(9).String())
}

func TestManySchemas(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, takes(func(string) respond {
		return body(400, apiErr("Invalid schema for response_format", "", "response_format", ""))
	}, "json_object"))
	l := b.llm(t)
	complete := func(n int) {
		req := ask("x")
		req.Schema = fmt.Appendf(nil, `{"title":"%d"}`, n)
		_, err := l.Complete(t.Context(), req)
		require.NoError(t, err)
	}
	for n := range 80 {
		complete(n)
	}
	before := len(b.seen())
	complete(0)
	assert.Len(t, b.seen(), before+1, "remembered")
	complete(79)
	assert.Len(t, b.seen(), before+3, "what is remembered is bounded; the rest works all the same")
}

func TestBoundOnTheAnswer(t *testing.T) {
	t.Parallel()
	req := ask("x")
	req.MaxTokens = 99
	for _, c := range []struct {
		name, refusal string
		model         string
		old           bool // the server takes max_tokens
		change        func(*openai.Config)
		want          int // requests of the first call
	}{
		{"new server", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "m", false, nil, 2},
		{"old Azure", "Unrecognized request argument supplied: max_completion_tokens", "m", true, func(c *openai.Config) { c.AzureAPIVersion = "2024-06-01" }, 2},
		{"old server", "", "m", true, nil, 1},
		{"model that the protocol's client knows to be new", "", "gpt-5-mini", false, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.change, func(w http.ResponseWriter, r *exchanged) {
				if (r.chat.MaxTokens > 0) != c.old {
					send(w, 400, apiErr(c.refusal, "invalid_request_error", "", ""))
					return
				}
				assert.Equal(t, 99, max(r.chat.MaxTokens, r.chat.MaxCompletionTokens))
				says(`{}`)(w, r)
			})
			l, err := b.LLM(openai.LLMConfig{Model: c.model})
			require.NoError(t, err)
			_, err = l.Complete(t.Context(), req)
			require.NoError(t, err)
			assert.Len(t, b.seen(), c.want)
			_, err = l.Complete(t.Context(), req)
			require.NoError(t, err)
			assert.Len(t, b.seen(), c.want+1, "remembered")
		})
	}
}

func TestBoundRefusedUnderBothNames(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(400, apiErr("unsupported: max_tokens, max_completion_tokens", "", "", "")))
	req := ask("x")
	req.MaxTokens = 99
	_, err := b.llm(t).Complete(t.Context(), req)
	require.Error(t, err)
	assert.Len(t, b.seen(), 2, "never without the bound that the caller wants")
}

func TestNoBoundToRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(400, apiErr("unsupported: max_tokens", "", "", "")))
	_, err := b.llm(t).Complete(t.Context(), ask("x"))
	require.Error(t, err)
	assert.Len(t, b.seen(), 1)
}

func TestFormatAndBoundRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(w http.ResponseWriter, r *exchanged) {
		switch {
		case r.chat.MaxTokens > 0:
			send(w, 400, apiErr("max_tokens is not supported", "", "max_tokens", "unsupported_parameter"))
		case r.chat.format() != "text":
			send(w, 400, apiErr("no such response_format", "", "response_format", ""))
		default:
			says(`{}`)(w, r)
		}
	})
	req := ask("x")
	req.MaxTokens = 99
	l := b.llm(t)
	for range 2 {
		_, err := l.Complete(t.Context(), req)
		require.NoError(t, err)
	}
	assert.Len(t, b.seen(), 5)
}
