package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

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

// runJob runs the main job and returns the report.
func runJob(t *testing.T, k *kerneltest.Kit, opts options) string {
	t.Helper()
	j, err := newJob(opts)
	require.NoError(t, err)
	var progress, out bytes.Buffer
	j.progress = &progress
	require.NoError(t, run(t.Context(), k.Kernel, j, &out))
	return out.String()
}

// file writes a file of lines and returns its path.
func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "turns.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	return path
}

func requireLines(t *testing.T, report string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		require.Regexp(t, regexp.MustCompile(`(?m)^`+p+`$`), report)
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	k := open(t)
	report := runJob(t, k, options{})
	requireLines(t, report,
		`1\. WRITE   22 turns of conversation\.jsonl.*`,
		`   acme/eng/platform +9 +8 +1 +1`,
		`   stored 21 \+ duplicate 1 = 22 turns in .*`,

		`   user:dana  member of acme/eng/platform, sees 16 of 20 memories`,
		`      found   acme/eng/platform +2026-03-05  Correction: .* Thursdays at 09:00 UTC\.`,
		`      hidden  acme/eng/mobile: beside acme/eng/platform`,
		`   user:priya member of acme/eng, sees 9 of 20 memories`,
		`      hidden  acme/eng/platform, acme/eng/mobile: below acme/eng`,
		`   user:omar  member of acme/eng/mobile, sees 13 of 20 memories`,
		`      hidden  acme/eng/platform: beside acme/eng/mobile`,
		`   user:kim   auditor of demo-\S+, sees 0 of 20 memories`,
		`      found   nothing, .*`,

		`   current     2026-03-05  Correction: .*`,
		`   superseded  2026-03-03  We deploy to production on Tuesdays at 10:00 UTC\.`,
		` +told by Dana, conversation\.jsonl:8; believed from \S+ to \S+`,
		`   the same question as of \S+ finds: We deploy to production on Tuesdays at 10:00 UTC\.`,

		`   user:omar  reads a memory of acme/eng/platform by its id +read: not found`,
		`   user:omar  reads an id that no memory has +read: not found`,
		`   user:kim   writes, as an auditor +write: forbidden`,
		`   user:dana  searches the audit log, as a member +audit_search: forbidden`,

		`   \S+  host +demo-\S+ +bootstrap +ok .*`,
		`   \S+  user:dana  acme/eng/platform search +ok +returned=2 .* driver=fusion`,
		`   \S+  user:kim +demo-\S+ +search +miss +returned=0 .*`,
		`   \S+  user:omar  acme/eng/mobile +read +denied +reason=not_found`,
		`   \S+  user:omar  acme/eng/mobile +read +miss +reason=not_found`,
		`   \S+  user:kim +demo-\S+ +write +denied +reason=forbidden`,
		`   \S+  user:dana  acme/eng/platform audit_search denied +reason=forbidden`,
		`   and 22 write, 8 key_create, 4 stats, all ok; .* "When do we deploy to production\?"`,
	)
	_, omarSees, _ := strings.Cut(report, "user:omar")
	omarSees, _, _ = strings.Cut(omarSees, "user:kim")
	require.NotContains(t, omarSees, "Thursdays", "a sibling must not see the fact")

	t.Run("one screen", func(t *testing.T) {
		t.Parallel()
		lines := strings.Split(strings.TrimSuffix(report, "\n"), "\n")
		require.LessOrEqual(t, len(lines), 60)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 115, line)
		}
	})
	t.Run("the README quotes it", func(t *testing.T) {
		t.Parallel()
		readme, err := os.ReadFile("../../README.md")
		require.NoError(t, err)
		_, quote, _ := strings.Cut(string(readme), "```text\n")
		quote, _, found := strings.Cut(quote, "\n```")
		require.True(t, found)
		for line := range strings.SplitSeq(quote, "\n") {
			require.Contains(t, report, line+"\n")
		}
	})
	t.Run("the count of audit rows is the log's", func(t *testing.T) {
		t.Parallel()
		// The report's own search of the log comes after what it found.
		require.Contains(t, report, fmt.Sprintf("one row per call, %d so far", len(k.Audit())-1))
	})
}

func TestTwiceOnOneDatabase(t *testing.T) {
	t.Parallel()
	k := open(t)
	first, second := runJob(t, k, options{}), runJob(t, k, options{})
	changing := regexp.MustCompile(`demo-\w+ *|\d\d:\d\d:\d\d\.\d+|in [0-9.]+ s \(\d+/s\)|key=\S+`)
	require.Equal(t, changing.ReplaceAllString(first, "~"), changing.ReplaceAllString(second, "~"))
}

func TestFile(t *testing.T) {
	t.Parallel()
	k := open(t)
	path := file(
		t, "\uFEFF"+`{"speaker":"Ada","time":"2026-01-05T10:00:00+01:00","text":"The red kayak leaks at the stern.","extra":[1]}`+"\r",
		"", "  ",
		`{"speaker":"Bo","time":"2026-01-05T10:01:00Z","text":"the red kayak leaks at the  stern."}`,
		`{"speaker":"Bo","time":"2026-01-06T10:01:00Z","text":"Paddles hang in the shed.\u001b[2J"}`,
		`{"speaker":"Cy","time":"2026-01-07T10:01:00Z","text":"We meet at the lock.","namespace":"club/tours"}`,
	)
	report := runJob(t, k, options{in: path, ask: "What is wrong with the kayak?"})
	require.NotContains(t, report, "\x1b", "a text must not reach the terminal as a command")
	requireLines(t, report,
		`   chat +3 +2 +1 +0`,
		`   club/tours +1 +1 +0 +0`,
		`   user:dana  member of chat, sees 2 of 3 memories`,
		`      found   chat +2026-01-05  The red kayak leaks at the stern\.`,
		`      hidden  club/tours: beside chat`,
		`   user:priya member of demo-\S+, sees 0 of 3 memories`,
		`   user:omar  member of elsewhere, sees 0 of 3 memories`,
		`   no line of turns\.jsonl corrects another one in namespace chat`,
		`   user:omar  reads a memory of chat by its id +read: not found`,
		`   and 4 write, 6 key_create, 4 stats, all ok; .*`,
	)
	t.Run("asked elsewhere", func(t *testing.T) {
		t.Parallel()
		report := runJob(t, k, options{in: path, as: "club/tours"})
		requireLines(t, report,
			`2\. SEARCH  "We meet at the lock\."`,
			`   user:dana  member of club/tours, sees 1 of 3 memories`,
			`      hidden  club/tours: below club`,
			`   user:omar  member of club/elsewhere, sees 0 of 3 memories`,
		)
	})
}

// TestOrder has a text that is said, corrected, and said again: three memories, not a
// duplicate, whoever writes in parallel.
func TestOrder(t *testing.T) {
	t.Parallel()
	k := open(t)
	var lines []string
	for n := range 12 {
		line := func(more, text string) string {
			return fmt.Sprintf(`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","namespace":"boats/%d"%s,"text":%q}`, n, more, text)
		}
		lines = append(lines, line(`,"id":"a"`, "The lock opens at six."), line(`,"id":"b","supersedes":"a"`, "The lock opens at seven."),
			line(`,"id":"c","supersedes":"b"`, "The lock opens at six."))
	}
	report := runJob(t, k, options{in: file(t, lines...)})
	requireLines(t, report, `   boats/11 +3 +3 +0 +2`, `   stored 36 \+ duplicate 0 = 36 turns .*`)
	require.Equal(t, 3, strings.Count(report, "told by Ada"))
}

func TestManyNamespaces(t *testing.T) {
	t.Parallel()
	var lines []string
	for n := range 30 {
		lines = append(lines, fmt.Sprintf(`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","namespace":"n%d","text":"Berth %d is free."}`, n, n))
	}
	report := runJob(t, open(t), options{in: file(t, lines...)})
	requireLines(t, report, `   \.\.\. and 18 more`, `      hidden  n1, n2, n3 and 26 more: beside n0`)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	good := `{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"fine","id":"a"}`
	for name, tt := range map[string]struct{ line, want string }{
		"no JSON":         {`speaker: Ada`, "turns.jsonl:3: not a JSON object: invalid character"},
		"half a line":     {`{"speaker":"Ada",`, "turns.jsonl:3: not a JSON object: unexpected end"},
		"a list":          {`["Ada"]`, "turns.jsonl:3: it is a JSON array, want an object"},
		"a number":        {`{"speaker":7}`, `turns.jsonl:3: field "speaker" is a number, want a string`},
		"no time":         {`{"speaker":"Ada","text":"x"}`, `turns.jsonl:3: field "time" is "", want a time such as`},
		"bad time":        {`{"speaker":"Ada","text":"x","time":"yesterday"}`, `turns.jsonl:3: field "time" is "yesterday"`},
		"year 0":          {`{"speaker":"Ada","text":"x","time":"0000-01-05T10:00:00Z"}`, "turns.jsonl:3: invalid time: year 0"},
		"no text":         {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z"}`, "turns.jsonl:3: invalid text: it is blank"},
		"NUL":             {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"a\u0000b"}`, "turns.jsonl:3: invalid text: NUL byte"},
		"long text":       {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"` + strings.Repeat("x", 1<<20+1) + `"}`, "turns.jsonl:3: text too large: 1048577 bytes"},
		"long line":       {strings.Repeat("x", transcript.MaxLine+1), "turns.jsonl:3: longer than 8388608 bytes"},
		"no speaker":      {`{"time":"2026-01-05T10:00:00Z","text":"x"}`, "turns.jsonl:3: invalid speaker: it is blank"},
		"namespace":       {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"x","namespace":"a/../b"}`, `turns.jsonl:3: field "namespace" is "a/../b": malformed namespace`},
		"empty namespace": {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"x","namespace":""}`, `turns.jsonl:3: field "namespace" is "": malformed namespace`},
		"id twice":        {good, `turns.jsonl:3: field "id" is "a", as on an earlier line of namespace "chat"`},
		"no such id":      {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"x","supersedes":"b"}`, `turns.jsonl:3: field "supersedes" is "b", which no earlier line`},
		"foreign id":      {`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"x","supersedes":"a","namespace":"b"}`, `turns.jsonl:3: field "supersedes" is "a", which no earlier line of namespace "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			// It ends before it looks for a database.
			code := command(t.Context(), []string{"-in", file(t, good, "", tt.line, good)}, &stdout, &stderr)
			require.Equal(t, console.ExitFailed, code)
			require.Empty(t, stdout.String())
			require.Contains(t, stderr.String(), "quickstart: "+tt.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
		})
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	empty := file(t, "", "")
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"help":          {[]string{"-h"}, console.ExitOK, "-convert-locomo FILE"},
		"unknown flag":  {[]string{"-out", "x"}, console.ExitUsage, "not defined: -out"},
		"argument":      {[]string{"turns.jsonl"}, console.ExitUsage, `unexpected argument "turns.jsonl"`},
		"no file":       {[]string{"-in", empty + ".gone"}, console.ExitFailed, "no such file"},
		"a directory":   {[]string{"-in", filepath.Dir(empty)}, console.ExitFailed, "is not a regular file"},
		"an empty file": {[]string{"-in", empty}, console.ExitFailed, "turns.jsonl holds no lines"},
		"no namespace":  {[]string{"-as", "acme/sales"}, console.ExitFailed, `no line is in namespace "acme/sales"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, tt.code, command(t.Context(), tt.args, &stdout, &stderr))
			require.Empty(t, stdout.String())
			require.Contains(t, stderr.String(), tt.want)
		})
	}
}

// TestInterrupted stops a load in the middle, as Ctrl-C does.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	embedder := &kerneltest.Embedder{}
	embedder.OnEmbed = func(context.Context, []string) error {
		if embedder.Calls() >= 9 {
			cancel()
		}
		return nil
	}
	k := open(t, kernel.WithEmbedder(embedder))
	j, err := newJob(options{})
	require.NoError(t, err)
	var progress, out bytes.Buffer
	j.progress = &progress
	err = run(ctx, k.Kernel, j, &out)
	require.ErrorIs(t, err, context.Canceled)
	require.Regexp(t, `\(\d+ of 22 lines are written, in tenant demo-\w+\)`, err.Error())
	require.Empty(t, out.String())
}

var errPipe = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errPipe }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	k := open(t)
	j, err := newJob(options{})
	require.NoError(t, err)
	j.progress = &bytes.Buffer{}
	require.ErrorIs(t, run(t.Context(), k.Kernel, j, brokenWriter{}), errPipe)
}

// TestCommand runs the program as a whole on the database that DATABASE_URL names.
func TestCommand(t *testing.T) {
	k := open(t)
	t.Setenv("DATABASE_URL", k.Pool.Config().ConnString())
	var stdout, stderr bytes.Buffer
	require.Equal(t, console.ExitOK, command(t.Context(), nil, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "5. AUDIT")
	require.Empty(t, stderr.String())

	stdout.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, console.ExitInterrupted, command(ctx, nil, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "quickstart: interrupted: ")
}

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a/b", below("t", "t/a/b"))
	require.Empty(t, below("t", "t"))
}
