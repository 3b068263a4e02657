package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

var update = flag.Bool("update", false, "write the golden files anew")

// open returns a kernel on a database of its own, whose clock moves on with every call.
func open(t *testing.T, opts ...kernel.Option) *kerneltest.Kit {
	t.Helper()
	clock := kerneltest.NewClock()
	ticking := func() time.Time {
		clock.Advance(time.Millisecond)
		return clock.Now()
	}
	return kerneltest.Open(t, append([]kernel.Option{kernel.WithClock(ticking)}, opts...)...)
}

// try runs the program on a kernel and returns what it writes.
func try(t *testing.T, ctx context.Context, k *kerneltest.Kit, args ...string) (string, error) { //nolint:revive // t first, as in all tests
	t.Helper()
	var stdout, stderr bytes.Buffer
	opts, err := parseFlags(args, &stderr)
	require.NoError(t, err, stderr.String())
	in, err := opts.input()
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	err = run(ctx, k.Kernel, opts, in, &stdout, &stderr)
	require.Regexp(t, `^((ingesting|reading again): \d+ of \d+ .*\n)*$`, stderr.String()) // on a slow machine
	return stdout.String(), err
}

// ingested runs the program and returns its report as a program reads it.
func ingested(t *testing.T, k *kerneltest.Kit, args ...string) *report {
	t.Helper()
	out, err := try(t, t.Context(), k, append(args, "-json")...)
	require.NoError(t, err)
	return decode(t, out)
}

func decode(t *testing.T, out string) *report {
	t.Helper()
	r := &report{}
	in := json.NewDecoder(strings.NewReader(out))
	in.DisallowUnknownFields()
	require.NoError(t, in.Decode(r))
	require.False(t, in.More())
	return r
}

// file writes a file of lines and returns its path.
func file(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	return path
}

// counts returns what became of how many, without what became of none.
func counts(s *summary) map[string]int {
	out := map[string]int{}
	for _, o := range s.outcomes() {
		if o.Count > 0 {
			out[o.name] = o.Count
		}
	}
	return out
}

func TestSample(t *testing.T) {
	t.Parallel()
	k := open(t)
	report, err := try(t, t.Context(), k)
	require.NoError(t, err)
	changing := regexp.MustCompile(`ingest-[a-z0-9]{8}|in [0-9.]+ s \(\d+/s\)`)
	stable := changing.ReplaceAllString(report, "~")
	const golden = "testdata/sample.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(stable), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), stable)

	t.Run("one screen wide", func(t *testing.T) {
		t.Parallel()
		for line := range strings.Lines(report) {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 115, line)
		}
	})
	t.Run("no secret is in it", func(t *testing.T) {
		t.Parallel()
		require.NotRegexp(t, `Marten`, report)
	})
	t.Run("the README quotes it", func(t *testing.T) {
		t.Parallel()
		readme, err := os.ReadFile("../../README.md")
		require.NoError(t, err)
		_, section, _ := strings.Cut(string(readme), "\n## Your own chats and documents\n")
		_, quote, _ := strings.Cut(section, "```text\n")
		quote, _, found := strings.Cut(quote, "\n```")
		require.True(t, found)
		for line := range strings.SplitSeq(quote, "\n") {
			require.Contains(t, report, line+"\n")
		}
	})
	t.Run("a look at what was written is no access", func(t *testing.T) {
		t.Parallel()
		stats := map[kernel.Op]int{}
		for _, e := range k.Audit() {
			if e.Op == "read" || e.Op == "search" {
				stats[e.Op]++
				require.Equal(t, "user:reader", e.Actor)
			}
		}
		require.NotZero(t, stats["read"])
		require.NotZero(t, stats["search"])
	})
	t.Run("as a program reads it", func(t *testing.T) {
		t.Parallel()
		r := ingested(t, k)
		require.Equal(t, "inbox", r.Namespace)
		require.Empty(t, r.Stopped)
		require.Equal(t, map[string]int{
			"stored": 35, "superseded": 1, "deduplicated": 2, "rejected": 2, "personal data": 1, "instruction-like": 2, "unreadable": 1, "files skipped": 2,
		}, counts(r.Summary))
		require.Equal(t, map[string]int{"deduplicated": 11, "rejected": 2, "replayed": 26, "unreadable": 1, "files skipped": 2}, counts(r.Again))
		require.Equal(t, 42, r.Summary.Total)
		require.Equal(t, 42, r.Summary.Entries)
		require.Equal(t, 42, r.Again.Entries)
		require.Len(t, r.Searches, 3)
		require.Equal(t, "Ana, chat.txt:26", r.Searches[0].Found[0].Source)
	})
}

// TestSecrets has the three rules on the sample, which holds two secrets.
func TestSecrets(t *testing.T) {
	t.Parallel()
	k := open(t)
	const ask = "What is the password for the booking page?"
	for rule, want := range map[string]struct {
		counts map[string]int
		found  string
	}{
		"block":  {map[string]int{"stored": 35, "rejected": 2}, "docs/network.md#booking-page"},
		"redact": {map[string]int{"stored": 37, "redacted": 2}, "Chiara, chat.txt:14"},
		"keep":   {map[string]int{"stored": 37, "secrets": 2}, "Chiara, chat.txt:14"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			out, err := try(t, t.Context(), k, "-secrets", rule, "-ask", ask, "-json")
			require.NoError(t, err)
			require.NotRegexp(t, `Marten`, out)
			r := decode(t, out)
			got := counts(r.Summary)
			for _, name := range []string{"stored", "rejected", "redacted", "secrets"} {
				require.Equal(t, want.counts[name], got[name], name)
			}
			require.Zero(t, counts(r.Again)["stored"])
			require.Equal(t, ask, r.Searches[0].Question)
			require.Equal(t, want.found, r.Searches[0].Found[0].Source)
		})
	}
}

// TestTerminal has texts, names and paths that would command a terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	chat := file(t, "chat.txt", "[2026-01-05 10:00] A\x1b[2Jda: The red kayak\x1b]0;x\x07 leaks.", "[2026-01-05 10:0\x1b] Ada: x")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a\x1b[2J.md"), []byte("# b\x1b[2J\n\nPaddles\x1b[2J hang in the shed."), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a\x1b[2J.txt"), nil, 0o600))
	report, err := try(t, t.Context(), open(t), "-chat", chat, "-docs", dir)
	require.NoError(t, err)
	require.NotContains(t, report, "\x1b")
	require.Contains(t, report, "The red kayak")
	require.Contains(t, report, "Paddles")
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	empty := file(t, "chat.txt", "", "")
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"help":           {[]string{"-h"}, console.ExitOK, "-llm-url URL"},
		"unknown flag":   {[]string{"-out", "x"}, console.ExitUsage, "not defined: -out"},
		"argument":       {[]string{"chat.txt"}, console.ExitUsage, `unexpected argument "chat.txt"`},
		"a rule":         {[]string{"-secrets", "print"}, console.ExitUsage, "want block, redact or keep"},
		"a namespace":    {[]string{"-namespace", "a/../b"}, console.ExitUsage, `-namespace is "a/../b": malformed namespace`},
		"no namespace":   {[]string{"-namespace", ""}, console.ExitUsage, `-namespace is "": malformed namespace`},
		"a question":     {[]string{"-ask", " "}, console.ExitUsage, "invalid -ask: it is blank"},
		"no model":       {[]string{"-llm-url", "http://localhost:1/v1"}, console.ExitUsage, "there is no -llm-model"},
		"no key":         {[]string{"-llm-model", "m", "-llm-key-env", "INGEST_NO_SUCH"}, console.ExitFailed, "INGEST_NO_SUCH"},
		"a bad URL":      {[]string{"-llm-model", "m", "-llm-url", "localhost"}, console.ExitFailed, "the language model: "},
		"no chat":        {[]string{"-chat", empty + ".gone"}, console.ExitFailed, "no such file"},
		"a directory":    {[]string{"-chat", filepath.Dir(empty)}, console.ExitFailed, "is not a regular file"},
		"no folder":      {[]string{"-docs", empty + ".gone"}, console.ExitFailed, "the folder: "},
		"not a folder":   {[]string{"-docs", empty}, console.ExitFailed, "the folder: "},
		"good, then bad": {[]string{"-docs", filepath.Dir(empty), "-llm-model", "m", "-llm-url", "ftp://x"}, console.ExitFailed, "the language model: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			// It ends before it looks for a database.
			require.Equal(t, tt.code, command(t.Context(), tt.args, &stdout, &stderr), stderr.String())
			require.Empty(t, stdout.String())
			require.Contains(t, stderr.String(), tt.want)
		})
	}
	t.Run("nothing to read", func(t *testing.T) {
		t.Parallel()
		_, err := try(t, t.Context(), open(t), "-chat", empty)
		require.ErrorContains(t, err, "the input holds nothing")
	})
}

// TestInterrupted stops a run in the middle, as Ctrl-C does, and runs it again to its end.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	embedder := &kerneltest.Embedder{}
	embedder.OnEmbed = func(ctx context.Context, _ []string) error {
		if embedder.Calls() == 2 {
			cancel()
			<-ctx.Done() // the batch that is under way, the second, does not come to its end
		}
		return ctx.Err()
	}
	k := open(t, kernel.WithEmbedder(embedder))
	keys := filepath.Join(t.TempDir(), "keys.json")
	out, err := try(t, ctx, k, "-keys", keys, "-json")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "(24 of 42 entries are done)")
	r := decode(t, out)
	require.Contains(t, r.Stopped, "context canceled")
	require.Equal(t, map[string]int{
		"stored": 20, "deduplicated": 1, "rejected": 1, "personal data": 1, "instruction-like": 1, "degraded": 1, "unreadable": 1,
		"files skipped": 1,
	}, counts(r.Summary), "what was written is looked at all the same")
	require.Equal(t, 24, r.Summary.Entries)
	require.Nil(t, r.Again)

	r = ingested(t, k, "-keys", keys)
	require.Equal(t, 15, counts(r.Summary)["stored"])
	require.Equal(t, 21, counts(r.Summary)["replayed"])
	require.Equal(t, 1, counts(r.Summary)["superseded"])
	require.Zero(t, counts(r.Again)["stored"])
}

// TestStopped has failures that would meet every text: they end the run, and what was done is
// reported.
func TestStopped(t *testing.T) {
	t.Parallel()
	embedder := &kerneltest.Embedder{}
	var suspend func() error
	embedder.OnEmbed = func(context.Context, []string) error {
		if embedder.Calls() == 2 {
			return suspend()
		}
		return nil
	}
	k := open(t, kernel.WithEmbedder(embedder))
	keys := filepath.Join(t.TempDir(), "keys.json")
	suspend = func() error {
		return k.Tenants().Suspend(t.Context(), kernel.TenantRequest{Tenant: tenantOf(t, k, keys)})
	}
	report, err := try(t, t.Context(), k, "-keys", keys)
	require.ErrorIs(t, err, kernel.ErrTenantSuspended)
	require.Regexp(t, `(?m)^1\. INGEST  24 of 42 entries into .*\n   stopped: write: tenant suspended\n   stored               20$`, report)
	require.NotContains(t, report, "2. SEARCH")
}

func tenantOf(t *testing.T, k *kerneltest.Kit, keys string) string {
	t.Helper()
	r := &keyring{path: keys}
	require.NoError(t, r.load())
	owner, err := k.Authenticate(t.Context(), r.kept.Owner)
	require.NoError(t, err)
	return owner.Tenant()
}

// TestRateLimit waits for as long as the kernel says, and no longer than the context.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, begun := 0, time.Now()
		limited := &mem.OpError{Op: "write", Err: &kernel.RateLimitError{RetryAfter: time.Minute}}
		require.NoError(t, patiently(t.Context(), func() error {
			if calls++; calls < 3 {
				return limited
			}
			return nil
		}))
		require.Equal(t, 3, calls)
		require.Equal(t, 2*time.Minute, time.Since(begun))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, patiently(ctx, func() error { return limited }), context.DeadlineExceeded)
		require.ErrorIs(t, patiently(ctx, func() error { return kernel.ErrConflict }), kernel.ErrConflict)
	})
}

// TestRateLimited has a limit that stops most of every batch: all of it gets in, in time.
func TestRateLimited(t *testing.T) {
	t.Parallel()
	k := open(t)
	keys := filepath.Join(t.TempDir(), "keys.json")
	ingested(t, k, "-keys", keys, "-chat", file(t, "one.txt", "Ana: The key is under the mat."))
	r := &keyring{path: keys}
	require.NoError(t, r.load())
	owner, err := k.Authenticate(t.Context(), r.kept.Owner)
	require.NoError(t, err)
	_, err = k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{
		RateLimits: map[kernel.Op]kernel.RateLimit{"write": {PerSecond: 1000, Burst: 3}},
	}})
	require.NoError(t, err)
	report := ingested(t, k, "-keys", keys)
	require.Equal(t, 35, counts(report.Summary)["stored"])
	require.Zero(t, counts(report.Summary)["failed"])
	denied := 0
	for _, err := range k.AuditSearch(t.Context(), owner, kernel.AuditSearchRequest{Ops: []kernel.Op{"write"}, Results: []kernel.AuditResult{"denied"}}) {
		require.NoError(t, err)
		denied++
	}
	require.Positive(t, denied, "the limit was met")
}

var errPipe = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errPipe }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	k := open(t)
	for _, args := range [][]string{nil, {"-json"}} {
		opts, err := parseFlags(args, &bytes.Buffer{})
		require.NoError(t, err)
		in, err := opts.input()
		require.NoError(t, err)
		require.ErrorIs(t, run(t.Context(), k.Kernel, opts, in, brokenWriter{}, &bytes.Buffer{}), errPipe)
	}
}

// TestCommand runs the program as a whole on the database that DATABASE_URL names.
func TestCommand(t *testing.T) {
	k := open(t)
	t.Setenv("DATABASE_URL", k.Pool.Config().ConnString())
	var stdout, stderr bytes.Buffer
	require.Equal(t, console.ExitOK, command(t.Context(), nil, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "3. AGAIN   the same input a second time\n      0 stored")

	stdout.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, console.ExitInterrupted, command(ctx, nil, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "ingest: interrupted: ")
}
