package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

// private is a prompt that must not be seen in an error or a log. It is a single word, so
// that it could pass for a server's code.
const private = "swordfish-4711"

// TestNothingSentIsRepeated lets servers quote the request and the key wherever they can.
func TestNothingSentIsRepeated(t *testing.T) {
	t.Parallel()
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"message":       quote(400, `{"error":{"message":"you said %s with %s","type":"invalid_request_error","param":null,"code":null}}`),
		"words":         quote(400, `{"error":{"message":"","type":"%s","param":"%[1]s","code":"%s"}}`),
		"code":          quote(429, `{"error":{"message":"","type":"%[2]s","code":"%[1]s"}}`),
		"masked key":    quote(401, `{"error":{"message":"Incorrect API key provided: %[2]s","code":"`+secret[:12]+`"}}`),
		"key in a word": quote(401, `{"error":{"code":"bad_%[2]s_%[1]s"}}`),
		"text":          quote(500, `%s %s`),
		"error string":  quote(500, `{"error":"%s %s"}`),
		"detail":        quote(422, `{"detail":[{"input":"%s %s"}]}`),
		"inside":        quote(200, `{"error":{"message":"%s","code":"%[1]s","type":"%s"}}`),
		"broken JSON":   quote(200, `{"data":[%s %s`),
		"another shape": quote(200, `{"data":"%s","choices":"%s"}`),
		"components":    quote(200, `{"data":[{"index":0,"embedding":["%s","%s",1]}],"choices":[{"message":"%[1]s"}]}`),
		"reason":        quote(200, `{"data":[],"choices":[{"message":{"content":"x","refusal":"%s %s"},"finish_reason":"%[1]s"}]}`),
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", private)
			w.Header().Set("Retry-After", secret)
			w.WriteHeader(503)
		},
		"key as an id": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", secret)
			w.WriteHeader(400)
		},
		"location": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/"+private)
			w.WriteHeader(307)
		},
		"status line": raw("HTTP/1.1 400 " + private + " " + secret + "\r\nContent-Length: 0\r\n\r\n"),
		"no HTTP":     raw(private + " " + secret + "\r\n\r\n"),
		"bad header":  raw("HTTP/1.1 200 OK\r\n" + private + " " + secret + "\r\n\r\n"),
		"bad length":  raw("HTTP/1.1 200 OK\r\nContent-Length: " + private + "\r\n\r\n"),
		"bad chunk":   raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + private + "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, h)
			b := setup(t, func(c *openai.Config) {
				c.BaseURL, c.HTTPClient, c.Attempts = server.URL, server.Client(), 2
				c.Budget = budgetOf(t, 1<<40, newClock())
			}, vectorsOf)
			check := func(err error) {
				require.Error(t, err)
				for e := err; e != nil; e = errors.Unwrap(e) {
					for _, shown := range []string{e.Error(), fmt.Sprintf("%+v %#v", e, e)} {
						assert.NotContains(t, shown, private)
						assert.NotContains(t, shown, secret)
						assert.NotContains(t, shown, secret[:8])
					}
				}
				var api *openai.APIError
				if errors.As(err, &api) {
					b, jsonErr := json.Marshal(api)
					require.NoError(t, jsonErr)
					assert.NotContains(t, string(b), private)
				}
			}
			_, err := b.embedder(t).Embed(t.Context(), []string{private})
			check(err)
			_, err = b.llm(t).Complete(t.Context(), ask(private))
			check(err)
			assert.NotContains(t, b.log.String(), private)
			assert.NotContains(t, b.log.String(), secret[:8])
		})
	}
}

// quote answers with a text into which the private word and the key are formatted.
func quote(status int, format string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(sent), private) {
			panic("the test's server was not sent the word")
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, format, private, secret)
	}
}

// TestTransportsErrorIsNotRepeated has the host's own transport quote the request.
func TestTransportsErrorIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"plain":     errors.New("cannot send " + private + " with " + secret),
		"operation": &net.OpError{Op: "write", Net: "tcp", Err: errors.New(private + secret)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *openai.Config) {
				c.HTTPClient = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, cause })}
			}, vectorsOf)
			_, err := b.embedder(t).Embed(t.Context(), []string{private})
			require.ErrorIs(t, err, openai.ErrUnavailable)
			assert.NotContains(t, err.Error(), private)
			assert.NotContains(t, err.Error(), secret)
			assert.NotContains(t, err.Error(), b.url, "nor the address, which may name a customer")
			assert.NotContains(t, b.log.String(), private)
		})
	}
}

func TestUsefulWordsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(404, apiErr("The model `m` does not exist", "invalid_request_error", "model", "model_not_found"), "X-Request-Id", "req_0123abcd"))
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	var api *openai.APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, 404, api.Status)
	assert.Equal(t, "model_not_found", api.Code)
	assert.Equal(t, "req_0123abcd", api.RequestID)
	assert.EqualError(t, err, "openai: embed with embed-model: the server answered with status 404 (model_not_found), request req_0123abcd")
}

func TestLogOfRetries(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(503, ""), body(400, apiErr("response_format", "", "response_format", "")), says(`{}`))
	_, err := b.llm(t).Complete(t.Context(), ask(private))
	require.NoError(t, err)
	log := b.log.String()
	assert.Contains(t, log, "trying again")
	assert.Contains(t, log, "status 503")
	assert.Contains(t, log, "doing without")
	assert.Contains(t, log, "format=json_object")
	assert.NotContains(t, log, private)
}
