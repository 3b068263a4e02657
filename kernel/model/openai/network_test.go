package openai_test

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	hijack := func(w http.ResponseWriter, r *http.Request) net.Conn {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		return conn
	}
	for name, cut := range map[string]http.HandlerFunc{
		"closed at once": func(w http.ResponseWriter, r *http.Request) { _ = hijack(w, r).Close() },
		"reset": func(w http.ResponseWriter, r *http.Request) {
			c := hijack(w, r)
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
		"half a header": func(w http.ResponseWriter, r *http.Request) {
			c := hijack(w, r)
			_, _ = io.WriteString(c, "HTTP/1.1 200 O")
			_ = c.Close()
		},
		"half a body": func(w http.ResponseWriter, r *http.Request) {
			c := hijack(w, r)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"data\":[")
			_ = c.Close()
		},
		"half a chunk": func(w http.ResponseWriter, r *http.Request) {
			c := hijack(w, r)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"da")
			_ = c.Close()
		},
		"no HTTP": func(w http.ResponseWriter, r *http.Request) {
			c := hijack(w, r)
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n")
			_ = c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			_, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) < 3 {
					cut(w, r)
					return
				}
				_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)
			}, nil)
			e, err := c.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3})
			require.NoError(t, err)
			got, err := e.Embed(t.Context(), []string{"a"})
			require.NoError(t, err)
			assert.Equal(t, [][]float32{{1, 2, 3}}, got)
			assert.EqualValues(t, 3, n.Load())

			n.Store(-100)
			_, err = e.Embed(t.Context(), []string{"a"})
			require.ErrorIs(t, err, openai.ErrUnavailable)
			assert.EqualValues(t, -96, n.Load(), "as often as Attempts says")
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	server := newServer(t, nil)
	server.Close()
	b := setup(t, func(c *openai.Config) { c.BaseURL = server.URL }, vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	var op *net.OpError
	require.ErrorAs(t, err, &op, "what the machine says is kept")
	assert.Len(t, b.clock.slept(), openai.DefaultAttempts-1)
}
