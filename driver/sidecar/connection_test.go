package sidecar_test

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver/sidecar"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestWordsAlone: without the embedder the rows of the words are sent.
func TestWordsAlone(t *testing.T) {
	t.Parallel()
	e, embedder := newEngine(t), &kerneltest.Embedder{InProcess: true}
	k := kerneltest.Open(t, kernel.WithDrivers(newDriver(t, e.URL)), kernel.WithEmbedder(embedder))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The database uses port 5432."}))
	embedder.Fail(kerneltest.ErrFake)
	reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: question, Driver: "engine"}))
	require.Empty(t, reply.Fallbacks)
	require.Len(t, reply.Items, 1)
	require.Contains(t, reply.Degraded, kernel.BrownoutEmbedder)
	require.Contains(t, e.seen()[0], `"bm25":`)
	require.NotContains(t, e.seen()[0], `"cosine":`)
}

// TestTooLargeToSend: nothing is sent of a request that is over its bound.
func TestTooLargeToSend(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	k := kerneltest.Open(t, kernel.WithDrivers(newDriver(t, e.URL, func(c *sidecar.Config) { c.MaxRequestBytes = 100 })))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: question, Driver: "engine"}))
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The database uses port 5432."}))
	reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: question, Driver: "engine"}))
	require.Equal(t, []kernel.Fallback{{Driver: "engine", Reason: "error"}}, reply.Fallbacks)
	require.Empty(t, e.seen())
}

// TestConnections: a connection serves one search after another, whatever the engine answers; a caller
// who leaves ends the request at once; nothing is left of any of it.
func TestConnections(t *testing.T) { //nolint:paralleltest // it counts goroutines
	e := newEngine(t)
	var dials atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	k := kerneltest.Open(t, kernel.WithDrivers(newDriver(t, e.URL, func(c *sidecar.Config) { c.HTTPClient = &http.Client{Transport: transport} })))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The database uses port 5432."}))
	search := func(ctx context.Context) error {
		_, err := k.Search(ctx, dana, kernel.SearchRequest{Query: question, Driver: "engine"})
		return err
	}
	for i := range 20 {
		if i%2 == 1 {
			e.set(say(400, "text/plain", "no"))
		} else {
			e.set(nil)
		}
		require.NoError(t, search(t.Context()))
	}
	require.EqualValues(t, 1, dials.Load())
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{}, 2)
		e.set(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
			gone <- struct{}{}
		})
		require.ErrorIs(t, search(ctx), context.Canceled)
		<-gone
		cancel()
	}
	transport.CloseIdleConnections()
	require.Eventually(t, func() bool {
		stacks := make([]byte, 4<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "sidecar.(*sidecar)") && !strings.Contains(string(stacks), "http.(*persistConn)")
	}, 10*time.Second, 10*time.Millisecond)
}
