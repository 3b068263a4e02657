package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/transcript"
)

// messages reads a transcript and returns its messages and the notes on what is none, by place.
func messages(t *testing.T, lines ...string) (said, notes []string) {
	t.Helper()
	f, err := transcript.FromPath(file(t, "chat.txt", lines...))
	require.NoError(t, err)
	for e := range (&chat{f}).entries() {
		require.Equal(t, fromChat, e.origin)
		switch {
		case e.problem != nil:
			require.False(t, e.problem.whole)
			notes = append(notes, e.place+" "+e.problem.reason+": "+e.problem.note)
		default:
			line := e.at.UTC().Format("2006-01-02T15:04:05") + " " + e.source + ": " + e.text
			if e.corrects != "" {
				line += " (corrects " + strings.TrimPrefix(e.corrects, "\x00") + ")"
			}
			said = append(said, line)
		}
	}
	return said, notes
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	said, notes := messages(
		t, "\uFEFF[2026-03-01 10:00] Ana: The café opens on Saturdays.\r", "",
		"[2026-03-01T10:00:07+02:00] Ben Ode : first:", "  second", "", "[1] third", "[2026-03-02 9:5] fourth",
		"[2026-03-01 10:00:30 corrects 2026-03-01 10:00]  Ana:", "on Fridays",
	)
	require.Equal(t, []string{
		"2026-03-01T10:00:00 Ana, chat.txt:1: The café opens on Saturdays.",
		"2026-03-01T08:00:07 Ben Ode, chat.txt:3: first:\n  second\n[1] third",
		"2026-03-01T10:00:30 Ana, chat.txt:8: on Fridays (corrects 2026-03-01T10:00:00Z)",
	}, said)
	require.Equal(t, []string{`chat.txt:7 malformed: it is not of the form "[2026-03-01 10:00] Ana: text"`}, notes)
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	said, notes := messages(
		t, "", `{"speaker":"Ada","time":"2026-01-05T10:00:00+01:00","text":"one","id":"a"}`,
		"[2026-03-01 10:00] Ana: not here", ``,
		`{"speaker":"Bo","time":"2026-01-05T10:00:00Z","text":"two","supersedes":"a"}`,
	)
	require.Equal(t, []string{"2026-01-05T09:00:00 Ada, chat.txt:2: one", "2026-01-05T10:00:00 Bo, chat.txt:5: two (corrects a)"}, said)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "chat.txt:3 malformed: not a JSON object: ")
}

// TestBadChat has lines between good ones, and the only note on them.
func TestBadChat(t *testing.T) {
	t.Parallel()
	good := "[2026-03-01 10:00] Ana: fine"
	for name, tt := range map[string]struct{ line, want string }{
		"no speaker":     {"[2026-03-01 10:00] somebody joined", `malformed: it is not of the form`},
		"empty speaker":  {"[2026-03-01 10:00] : text", `malformed: invalid speaker: it is blank`},
		"long speaker":   {"[2026-03-01 10:00] " + strings.Repeat("x", 300) + ": text", `too long: speaker too large`},
		"no text":        {"[2026-03-01 10:00] Ana:  ", `malformed: invalid text: it is blank`},
		"no such day":    {"[2026-03-32 10:00] Ana: text", `malformed: its time is not of the form`},
		"no clock":       {"[2026-03-01] Ana: text", `malformed: its time is not of the form`},
		"year 0":         {"[0000-03-01 10:00] Ana: text", `malformed: invalid time: year 0`},
		"no target":      {"[2026-03-01 10:00 corrects yesterday] Ana: text", `malformed: its time is not of the form`},
		"NUL":            {"[2026-03-01 10:00] Ana: te\x00xt", `malformed: invalid text: NUL byte`},
		"not UTF-8":      {"[2026-03-01 10:00] Ana: te\xffxt", `malformed: invalid text: not valid UTF-8`},
		"a long line":    {"[2026-03-01 10:00] Ana: " + strings.Repeat("x", transcript.MaxLine), `too long: longer than 8388608 bytes`},
		"a long text":    {"[2026-03-01 10:00] Ana: " + strings.Repeat("x", 1<<20+1), `too long: text too large`},
		"a long message": {"[2026-03-01 10:00] Ana: text" + strings.Repeat("\n"+strings.Repeat("x", 1<<20), 20), `too long: text too large`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, notes := messages(t, good, tt.line, good)
			require.Len(t, said, 2)
			require.Len(t, notes, 1)
			require.Contains(t, notes[0], "chat.txt:2 "+tt.want)
		})
	}
	t.Run("another format", func(t *testing.T) {
		t.Parallel()
		said, notes := messages(t, "01/03/2026, 10:00 - Ana: hello", "01/03/2026, 10:01 - Ben: hello", good, "more")
		require.Equal(t, []string{"2026-03-01T10:00:00 Ana, chat.txt:3: fine\nmore"}, said)
		require.Len(t, notes, 2)
		require.Contains(t, notes[0], "chat.txt:1 malformed: it begins no message")
	})
}

// TestCorrections has lines that correct what there is, what there is not, and what was not kept.
func TestCorrections(t *testing.T) {
	t.Parallel()
	r := ingested(
		t, open(t), "-chat", file(
			t, "chat.txt", "[2026-03-01 10:00] Ana: The lock opens at six.",
			"[2026-03-01 10:01 corrects 2026-03-01 10:00] Ana: The lock opens at seven.",
			"[2026-03-01 10:02 corrects 2026-03-01 10:01] Ana: The lock opens at six.",
			"[2026-03-01 10:03 corrects 2026-03-01 09:00] Ana: The lock opens at nine.",
			"[2026-03-01 10:04] Ana: The password for the gate is Otter-Lamp-4471.",
			"[2026-03-01 10:05 corrects 2026-03-01 10:04] Ana: The gate has no password any more.",
		),
	)
	require.Equal(t, map[string]int{"stored": 4, "superseded": 2, "rejected": 1, "unreadable": 1}, counts(r.Summary))
	require.Equal(t, []reason{{badTarget, 1, []example{{"chat.txt:4", "no message above it is the one that it corrects"}}}}, r.Summary.Unreadable.Why)
	require.Equal(t, []example{
		{"Ana, chat.txt:1", "replaced by chat.txt:2"}, {"Ana, chat.txt:2", "replaced by chat.txt:3"},
	}, r.Summary.Superseded.Why[0].Examples)
	require.Equal(t, map[string]int{"replayed": 4, "rejected": 1, "unreadable": 1}, counts(r.Again))
}

// TestQuickstart reads the other example's conversation, which has namespaces of its own.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	k := open(t)
	r := ingested(t, k, "-chat", "../quickstart/conversation.jsonl", "-namespace", "a/b")
	require.Equal(t, map[string]int{"stored": 21, "superseded": 1, "deduplicated": 1}, counts(r.Summary))
	require.Equal(t, map[string]int{"replayed": 22}, counts(r.Again))
	require.Len(t, r.Searches, 1)
	namespaces := map[string]int{}
	for _, e := range k.Audit() {
		if e.Op == "write" {
			namespaces[strings.TrimPrefix(e.Namespace, r.Tenant)]++
		}
	}
	require.Equal(t, map[string]int{"/a/b/acme": 8, "/a/b/acme/eng": 10, "/a/b/acme/eng/platform": 18, "/a/b/acme/eng/mobile": 8}, namespaces)

	r = ingested(t, k, "-chat", file(
		t, "chat.jsonl", `{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"x","namespace":"a/../b"}`,
		`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":"x"}`,
	))
	require.Equal(t, map[string]int{"stored": 1, "unreadable": 1}, counts(r.Summary))
	require.Contains(t, r.Summary.Unreadable.Why[0].Examples[0].Note, "malformed namespace")
}
