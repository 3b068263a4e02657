package sidecar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/drivertest"
	"github.com/memkernel/memkernel/driver/sidecar"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

const (
	token    = "s3cr3t-token"
	question = "which port does the database use?"
)

type asked struct {
	Query struct {
		Text string `json:"text"`
		K    int    `json:"k"`
	} `json:"query"`
	Candidates []struct {
		Ref          string   `json:"ref"`
		Text         string   `json:"text"`
		TextWithheld bool     `json:"textWithheld"`
		BM25         *float64 `json:"bm25"`
		Cosine       *float64 `json:"cosine"`
	} `json:"candidates"`
}

// engine is a sidecar that keeps what it is sent, and answers as it is told.
type engine struct {
	*httptest.Server

	mu     sync.Mutex
	raw    []string
	answer http.HandlerFunc
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var head strings.Builder
		_ = r.Header.Write(&head)
		e.mu.Lock()
		e.raw = append(e.raw, r.URL.String()+"\n"+head.String()+"\n"+string(body))
		answer := e.answer
		e.mu.Unlock()
		if answer == nil {
			answer = rank
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		answer(w, r)
	}))
	t.Cleanup(func() {
		e.CloseClientConnections()
		e.Close()
	})
	return e
}

func (e *engine) set(answer http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func (e *engine) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw
}

// rank is an honest engine.
func rank(w http.ResponseWriter, r *http.Request) {
	var a asked
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	type item struct {
		Ref   string  `json:"ref"`
		Score float64 `json:"score"`
	}
	var out struct {
		Items []item `json:"items"`
	}
	for _, c := range a.Candidates {
		it := item{Ref: c.Ref}
		if c.BM25 != nil {
			it.Score += *c.BM25
		}
		if c.Cosine != nil {
			it.Score += *c.Cosine
		}
		out.Items = append(out.Items, it)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

func say(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// unkept is a client that keeps no connection, whose goroutines would outlive the call.
func unkept() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func newDriver(tb testing.TB, url string, change ...func(*sidecar.Config)) driver.Driver {
	tb.Helper()
	cfg := sidecar.Config{Name: "engine", URL: url, Destination: mem.DestinationLocal, Token: token, HTTPClient: unkept()}
	for _, c := range change {
		c(&cfg)
	}
	d, err := sidecar.New(cfg)
	require.NoError(tb, err)
	return d
}

func TestConformance(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	drivertest.Run(t, func(tb testing.TB) driver.Driver {
		tb.Helper()
		return newDriver(tb, e.URL)
	},
		drivertest.AllowImport("net/http", "the engine is another process, which is asked over HTTP"),
		drivertest.AllowImport("net", "it says which addresses are this machine's, and what kept a connection from coming about"))
}

func must[R any](r R, err error) R {
	if err != nil {
		panic(err)
	}
	return r
}

// faults keeps how the driver failed.
type faults struct {
	kernel.HookDefaults

	mu  sync.Mutex
	all []error
}

func (h *faults) DriverPlan(_ context.Context, info kernel.DriverInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if info.Driver == "engine" {
		h.all = append(h.all, info.Err)
	}
}

// TestLies: whatever the engine does, the search answers in time, by the baseline, and says so.
func TestLies(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	elsewhere := newEngine(t)
	hook := &faults{}
	const timeout = 2 * time.Second
	k := kerneltest.Open(t, kernel.WithDrivers(newDriver(t, e.URL)), kernel.WithHooks(hook),
		kernel.WithLimits(kernel.Limits{DriverTimeout: timeout, DriverFailures: 1000}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	for _, text := range []string{"The database uses port 5432.", "The database is in rack 7."} {
		must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text}))
	}
	const js, ref = "application/json", "00000000-0000-0000-0000-000000000001"
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", js)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		reason string
		down   bool
	}{
		"not JSON":      {say(200, js, "The database"), "error", false},
		"two documents": {say(200, js, `{"items":[{"ref":"`+ref+`","score":1}]} {}`), "error", false},
		"no items":      {say(200, js, `{}`), "error", false},
		"null":          {say(200, js, `{"items":null}`), "error", false},
		"empty":         {say(200, js, `{"items":[]}`), "error", false},
		"nothing":       {say(200, js, ``), "error", false},
		"NaN as text":   {say(200, js, `{"items":[{"ref":"`+ref+`","score":"NaN"}]}`), "error", false},
		"NaN":           {say(200, js, `{"items":[{"ref":"`+ref+`","score":NaN}]}`), "error", false},
		"1e999":         {say(200, js, `{"items":[{"ref":"`+ref+`","score":1e999}]}`), "error", false},
		"no score":      {say(200, js, `{"items":[{"ref":"`+ref+`"}]}`), "error", false},
		"twice":         {say(200, js, `{"items":[{"ref":"`+ref+`","score":1},{"ref":"`+ref+`","score":2}]}`), "error", false},
		"bad ref":       {say(200, js, `{"items":[{"ref":"The database","score":1}]}`), "error", false},
		"unknown field": {say(200, js, `{"items":[{"ref":"`+ref+`","score":1,"text":"x"}]}`), "error", false},
		"not UTF-8":     {say(200, js, "{\"items\":[],\"\xff\":1}"), "error", false},
		"content type":  {say(200, "text/html", `{"items":[{"ref":"`+ref+`","score":1}]}`), "error", false},
		"charset":       {say(200, js+"; charset=latin1", `{"items":[{"ref":"`+ref+`","score":1}]}`), "error", false},
		"huge":          {say(200, js, strings.Repeat(" ", 2<<20)), "error", false},
		"too many":      {say(200, js, `{"items":[`+strings.Repeat("{},", 10_000)+`{}]}`), "error", false},
		"invented":      {say(200, js, `{"items":[{"ref":"`+ref+`","score":1}]}`), "violation", false},
		"400":           {say(400, js, `{"items":[]}`), "error", false},
		"204":           {say(204, js, ""), "error", false},
		"429":           {say(429, js, ""), "error", true},
		"503":           {say(503, js, "The database"), "error", true},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "error", false},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "error", true},
		"half a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, `{"items":[`)
		}, "error", true},
		"slow body": {slow, "timeout", true},
		"silent":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timeout", true},
	} {
		e.set(tc.answer)
		begun := time.Now()
		var reply *kernel.SearchReply
		k.RequireAudit(t, "search", "ok", func() {
			reply = must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: question, Driver: "engine"}))
		}, "driver_fallback=engine->baseline", "fallback_reason="+tc.reason)
		require.Equal(t, []kernel.Fallback{{Driver: "engine", Reason: tc.reason}}, reply.Fallbacks, name)
		require.Len(t, reply.Items, 2, name)
		require.Less(t, time.Since(begun), timeout+10*time.Second, name)
		hook.mu.Lock()
		err := hook.all[len(hook.all)-1]
		hook.mu.Unlock()
		require.Error(t, err, name)
		if tc.down {
			require.ErrorIs(t, err, kernel.ErrUnavailable, name)
		} else {
			require.NotErrorIs(t, err, kernel.ErrUnavailable, name)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			require.NotContains(t, e.Error(), "The database", name)
			require.NotContains(t, e.Error(), token, name)
		}
	}
	require.Empty(t, elsewhere.seen(), "a redirect was followed")

	// Among others an invented ref is dropped and counted, and takes no other's place.
	e.set(func(w http.ResponseWriter, r *http.Request) {
		var a asked
		_ = json.NewDecoder(r.Body).Decode(&a)
		say(200, js, fmt.Sprintf(`{"items":[{"ref":%q,"score":9},{"ref":%q,"score":1}]}`, ref, a.Candidates[0].Ref))(w, r)
	})
	var reply *kernel.SearchReply
	k.RequireAudit(t, "search", "ok", func() {
		reply = must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: question, Driver: "engine", K: 1}))
	}, "driver_violations=1", "driver=engine")
	require.Len(t, reply.Items, 1)
	require.Empty(t, reply.Fallbacks)
}

// TestDead: nobody listens there. The breaker opens.
func TestDead(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.Close()
	k := kerneltest.Open(t, kernel.WithDrivers(newDriver(t, e.URL)), kernel.WithLimits(kernel.Limits{DriverFailures: 2, DriverPause: time.Hour}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The database uses port 5432."}))
	for _, reason := range []string{"error", "error", "open", "open"} {
		reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: question, Driver: "engine"}))
		require.Equal(t, []kernel.Fallback{{Driver: "engine", Reason: reason}}, reply.Fallbacks)
		require.Len(t, reply.Items, 1)
	}
}

// TestWhatLeaves looks at every byte that the engine got.
func TestWhatLeaves(t *testing.T) {
	t.Parallel()
	const mail, card = "ada.quill@lovelace-mail.net", "4539 1488 0343 6467"
	for to, gone := range map[mem.Destination][]string{
		mem.DestinationRemoteModel: {mail, card}, mem.DestinationTrustedModel: {card}, mem.DestinationLocal: nil,
	} {
		t.Run(string(to), func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			k := kerneltest.Open(t, kernel.WithDrivers(newDriver(t, e.URL, func(c *sidecar.Config) { c.Destination = to })))
			dana, credential := k.Credential("zebra-corp/quokka", kernel.RoleMember)
			for _, text := range []string{"The kiln is lit.", "Mail " + mail + " about the kiln.", "The kiln's card is " + card + "."} {
				must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text, Source: "wombat.txt"}))
			}
			reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "kiln", Driver: "engine"}))
			require.Empty(t, reply.Fallbacks)
			require.Len(t, reply.Items, 3)
			must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "whose is " + mail + "?", Driver: "engine"}))
			all := strings.Join(e.seen(), "\n")
			require.Contains(t, all, "The kiln is lit.")
			require.Contains(t, all, "Bearer "+token)
			for _, word := range append(gone, "zebra", "quokka", "wombat", "test:", "member", credential.Secret, credential.Secret[:12], dana.KeyID()) {
				require.NotContains(t, all, word)
			}
		})
	}
}
