package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
	return kerneltest.Open(t, append([]kernel.Option{kernel.WithClock(ticking), kernel.WithDrivers(own()...)}, opts...)...)
}

// try runs the program on a kernel and returns what it writes.
func try(t *testing.T, ctx context.Context, k *kerneltest.Kit, args ...string) (string, error) { //nolint:revive // t first, as in all tests
	t.Helper()
	var stdout, stderr bytes.Buffer
	opts, err := parseFlags(args, &stderr)
	require.NoError(t, err, stderr.String())
	in, err := opts.input()
	require.NoError(t, err)
	err = run(ctx, k.Kernel, opts, in, &stdout, &stderr)
	require.Regexp(t, `^((writing|searching): \d+ of \d+ .*\n)*$`, stderr.String()) // on a slow machine
	return stdout.String(), err
}

// measured runs the program and returns its report as a program reads it.
func measured(t *testing.T, k *kerneltest.Kit, args ...string) *report {
	t.Helper()
	out, err := try(t, t.Context(), k, append(args, "-json")...)
	require.NoError(t, err)
	r := &report{}
	in := json.NewDecoder(strings.NewReader(out))
	in.DisallowUnknownFields()
	require.NoError(t, in.Decode(r))
	require.False(t, in.More())
	return r
}

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSample(t *testing.T) {
	t.Parallel()
	k := open(t)
	report, err := try(t, t.Context(), k)
	require.NoError(t, err)
	changing := regexp.MustCompile(`recall-[a-z0-9]{8}|p50 +[0-9.]+  p95 +[0-9.]+`)
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
	t.Run("as a program reads it", func(t *testing.T) {
		t.Parallel()
		r := measured(t, k)
		require.Equal(t, 34, r.Turns)
		require.Equal(t, 33, r.Memories)
		require.Equal(t, 1, r.Repeated)
		require.Zero(t, r.Refused)
		require.Equal(t, 20, r.Questions)
		require.Equal(t, 18, r.Used)
		require.Equal(t, leftOut{NoEvidence: 1, UnknownOnly: 1, Unknown: []string{"D4:1", "D"}}, r.LeftOut)
		require.Equal(t, 100, r.Results)
		require.Contains(t, r.Rules, "recall@k is the share of a question's evidence turns")
		require.NotContains(t, r.Rules, "\n")

		questions := 0
		for i, g := range r.Groups {
			require.Len(t, g.Drivers, 4, g.Name)
			require.Len(t, g.Differences, 3, g.Name)
			if i > 0 {
				require.Equal(t, i, g.Category)
				questions += g.Questions
			}
			for _, d := range g.Drivers {
				require.Len(t, d.Metrics, int(metricCount))
				for name, f := range d.Metrics {
					require.LessOrEqual(t, 0.0, f.Low, name)
					require.LessOrEqual(t, f.Low, f.Mean, name)
					require.LessOrEqual(t, f.Mean, f.High, name)
					require.LessOrEqual(t, f.High, 1.0, name)
				}
			}
			for n, d := range g.Differences {
				require.Equal(t, "fusion", d.Driver)
				require.InDelta(t, g.Drivers[0].Metrics["recall@10"].Mean-g.Drivers[n+1].Metrics["recall@10"].Mean, d.Mean, 1e-9)
			}
		}
		require.Len(t, r.Groups, 6)
		require.Equal(t, r.Used, questions)
		require.Len(t, r.Latency, 4)
		for _, l := range r.Latency {
			require.Positive(t, l.P50)
			require.GreaterOrEqual(t, l.P95, l.P50)
		}
	})
	t.Run("each search ran by its driver, and none is an access", func(t *testing.T) {
		t.Parallel()
		by := map[string]int{}
		for _, e := range k.Audit() {
			if e.Op == "search" {
				require.Equal(t, "user:reader", e.Actor)
				by[regexp.MustCompile(`driver=\S+`).FindString(e.Detail)]++
			}
		}
		for _, name := range rankings() {
			require.NotZero(t, by["driver="+name], name)
		}
		require.Len(t, by, 4)
		// Whoever writes what is there already has used it: the sample does so once in each of two runs.
		hits := -1
		require.NoError(t, k.Pool.QueryRow(t.Context(), "SELECT sum(hits)::int FROM memkernel.memory_access").Scan(&hits))
		require.LessOrEqual(t, hits, 2)
	})
}

// drawn are the elements and texts of an SVG.
func drawn(t *testing.T, text []byte) (elements map[string]int, texts []string) {
	t.Helper()
	elements = map[string]int{}
	in := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return elements, texts
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			require.Equal(t, "http://www.w3.org/2000/svg", token.Name.Space)
		case xml.CharData:
			if s := strings.TrimSpace(string(token)); s != "" {
				texts = append(texts, s)
			}
		}
	}
}

func TestPlot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, `a<b>&"'.json`)
	require.NoError(t, os.WriteFile(in, sample, 0o600))
	out := filepath.Join(dir, "plot.svg")
	require.NoError(t, os.WriteFile(out, []byte("what was there before, and longer"), 0o600))
	r := measured(t, open(t), "-in", in, "-drivers", "words,vectors", "-plot", out)
	require.Equal(t, "words", r.Groups[0].Differences[0].Driver)
	require.Equal(t, "vectors", r.Groups[0].Differences[0].Over)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	elements, texts := drawn(t, text)
	require.Equal(t, 1, elements["svg"])
	require.Equal(t, 1+2+6*2, elements["rect"], "the ground, the legend and a bar for each driver and group")
	require.Equal(t, 6*2, elements["path"], "an interval for each bar")
	require.Contains(t, texts, `recall@10 with 95 % intervals, a<b>&"'.json`)
	for _, want := range []string{"words", "vectors", "all", "multi-hop", "adversarial", "n=18"} {
		require.Contains(t, texts, want)
	}
	require.NotContains(t, texts, "fusion")
}

// refuser is a stage that lets no text become a memory that asks for it.
type refuser struct{}

func (refuser) Name() string { return "refuser" }

func (refuser) Run(_ context.Context, in *kernel.StageInput) error {
	for i := range in.Facts {
		if strings.Contains(in.Facts[i].Text, "Refuse this") {
			in.Facts[i].Rejected = mem.RejectPolicy
		}
	}
	return nil
}

// TestRefused has a turn that is not stored: it is missed where it is evidence.
func TestRefused(t *testing.T) {
	t.Parallel()
	k := open(t, kernel.WithStages(refuser{}))
	r := measured(t, k, "-drivers", "fusion", "-in", file(t, `[{"sample_id": "a",
		"conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
			{"speaker": "Ada", "dia_id": "D1:1", "text": "The red kayak leaks."},
			{"speaker": "Bo", "dia_id": "D1:2", "text": "Refuse this: the red kayak is mine."}]},
		"qa": [{"question": "Whose is the red kayak?", "category": 1, "evidence": ["D1:1", "D1:2"]}]}]`))
	require.Equal(t, 1, r.Memories)
	require.Equal(t, 1, r.Refused)
	require.InDelta(t, 0.5, r.Groups[0].Drivers[0].Metrics["recall@20"].Mean, 1e-12)
	require.Empty(t, r.Groups[0].Differences)
}

// TestTerminal has a name and evidence that would command a terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	report, err := try(t, t.Context(), open(t), "-in", file(t, `[{"sample_id": "a",
		"conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "The kayak leaks."}]},
		"qa": [{"question": "What leaks?", "category": 9, "evidence": ["D1:1", "\u001b[2J"]}]}]`))
	require.NoError(t, err)
	require.NotContains(t, report, "\x1b")
	require.Contains(t, report, `1 reference in evidence to turns that are not there`)
	require.Contains(t, report, "9 category 9 (1)")
}

// TestOutage has the embedder fail in the middle: figures that it spoiled are none.
func TestOutage(t *testing.T) {
	t.Parallel()
	embedder := &kerneltest.Embedder{}
	embedder.OnEmbed = func(context.Context, []string) error {
		if embedder.Calls() > 10 {
			return kerneltest.ErrFake
		}
		return nil
	}
	out, err := try(t, t.Context(), open(t, kernel.WithEmbedder(embedder)), "-drivers", "fusion")
	require.ErrorContains(t, err, "driver fusion did not rank as it should, but bm25-degraded")
	require.ErrorContains(t, err, "of 18 searches are done)")
	require.Empty(t, out)
}

// TestInterrupted stops a run while it writes, and while it searches, as Ctrl-C does.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls int
		want  string
	}{
		"writing":   {2, "of 34 turns are written, in tenant recall-"},
		"searching": {12, "of 72 searches are done)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			embedder := &kerneltest.Embedder{}
			embedder.OnEmbed = func(ctx context.Context, _ []string) error {
				if embedder.Calls() == tt.calls {
					cancel()
					<-ctx.Done()
				}
				return ctx.Err()
			}
			out, err := try(t, ctx, open(t, kernel.WithEmbedder(embedder)))
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, tt.want)
			require.Empty(t, out, "figures of some of the questions are none")
		})
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	good := file(t, string(sample))
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"help":           {[]string{"-h"}, console.ExitOK, "-drivers NAMES"},
		"unknown flag":   {[]string{"-out", "x"}, console.ExitUsage, "not defined: -out"},
		"argument":       {[]string{"locomo10.json"}, console.ExitUsage, `unexpected argument "locomo10.json"`},
		"a driver":       {[]string{"-drivers", "fusion,graph"}, console.ExitUsage, `there is no driver "graph": want fusion, baseline, words, vectors`},
		"no driver":      {[]string{"-drivers", ""}, console.ExitUsage, `there is no driver ""`},
		"a driver twice": {[]string{"-drivers", "words,words"}, console.ExitUsage, `driver "words" is there twice`},
		"few results":    {[]string{"-k", "19"}, console.ExitUsage, "-k is 19, want 20 to 100"},
		"many results":   {[]string{"-k", "101"}, console.ExitUsage, "-k is 101, want 20 to 100"},
		"no file":        {[]string{"-in", good + ".gone"}, console.ExitFailed, "no such file"},
		"a directory":    {[]string{"-in", filepath.Dir(good)}, console.ExitFailed, "the input: "},
		"no JSON":        {[]string{"-in", file(t, "Ada: hello")}, console.ExitFailed, "input.json: not a list of LoCoMo conversations"},
		"no questions": {[]string{"-in", file(t, `[{"sample_id": "a", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023",
			"session_1": [{"text": "x"}]}}]`)}, console.ExitFailed, "input.json: no question has evidence that names a turn"},
		"a bad text": {[]string{"-in", file(t, `[{"sample_id": "a", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023",
			"session_1": [{"text": "`+strings.Repeat("x", 2<<20)+`"}]}}]`)}, console.ExitFailed, "input.json: a: turn 1: "},
		"no plot's folder":   {[]string{"-plot", good + ".gone/x.svg"}, console.ExitFailed, "the plot: "},
		"plot below a file":  {[]string{"-plot", good + "/x.svg"}, console.ExitFailed, "the plot: "},
		"plot over a folder": {[]string{"-plot", filepath.Dir(good)}, console.ExitFailed, "is a directory"},
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
}

var errPipe = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errPipe }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	k := open(t)
	for _, args := range [][]string{nil, {"-json"}} {
		opts, err := parseFlags(append(args, "-drivers", "words"), &bytes.Buffer{})
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
	require.Contains(t, stdout.String(), "\n4. LATENCY ")

	stdout.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, console.ExitInterrupted, command(ctx, nil, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "recall: interrupted: ")
}
