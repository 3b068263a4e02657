package transcript_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel/mem"
)

// read returns the lines of a file, a long one as "LONG".
func read(t *testing.T, r io.Reader) (lines []string, err error) {
	t.Helper()
	for line, err := range transcript.Lines(r) {
		switch {
		case errors.Is(err, transcript.ErrLongLine):
			lines = append(lines, "LONG")
		case err != nil:
			return lines, err
		default:
			lines = append(lines, string(line.Text))
		}
		require.Equal(t, len(lines), line.Number)
	}
	return lines, nil
}

func TestLines(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("x", transcript.MaxLine), strings.Repeat("y", transcript.MaxLine+1)
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":         {"", nil},
		"an empty line":   {"\n", []string{""}},
		"no end":          {"a\nb", []string{"a", "b"}},
		"ends":            {"a\n\nb\n", []string{"a", "", "b"}},
		"DOS":             {"a\r\n\r\nb\r", []string{"a", "", "b"}},
		"byte order mark": {"\uFEFFa\n\uFEFFb", []string{"a", "\uFEFFb"}},
		"at the limit":    {"a\n" + long + "\nb", []string{"a", long, "b"}},
		"over the limit":  {"a\n" + longer + "\nb", []string{"a", "LONG", "b"}},
		"a long end":      {"a\n" + longer, []string{"a", "LONG"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, err := read(t, strings.NewReader(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, lines)
		})
	}
	t.Run("a file that breaks off", func(t *testing.T) {
		t.Parallel()
		lines, err := read(t, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrUnexpectedEOF)))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, []string{"a"}, lines)
	})
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	parse := func(text string) (transcript.Turn, error) {
		return transcript.ParseJSON(transcript.Line{Number: 7, Text: []byte(text)}, "chat")
	}
	turn, err := parse(`{"speaker":"Ada","time":"2026-01-05T10:00:00+01:00","text":"fine","more":[1]}`)
	require.NoError(t, err)
	require.Equal(t, "Ada, a.jsonl:7", turn.Source("a.jsonl"))
	require.Equal(t, "chat", turn.Namespace)
	require.Equal(t, "2026-01-05T09:00:00Z", turn.At.UTC().Format("2006-01-02T15:04:05Z"))
	for text, want := range map[string]string{
		`Ada`:             "not a JSON object: invalid character",
		`[1]`:             "it is a JSON array, want an object",
		`{"speaker":7}`:   `field "speaker" is a number, want a string`,
		`{"text":"fine"}`: `field "time" is "", want a time such as`,
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want)
	}
	_, err = parse(`{"speaker":"Ada","time":"2026-01-05T10:00:00Z","text":" "}`)
	require.ErrorIs(t, err, mem.ErrInvalid)
}

func TestFromPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "\xff.txt")
	require.NoError(t, os.WriteFile(path, []byte("a"), 0o600))
	file, err := transcript.FromPath(path)
	require.NoError(t, err)
	require.Equal(t, "?.txt", file.Name)
	for range 2 {
		r, err := file.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "a", string(text))
		require.NoError(t, r.Close())
	}
	_, err = transcript.FromPath(dir)
	require.ErrorContains(t, err, "is not a regular file")
	_, err = transcript.FromPath(path + ".gone")
	require.ErrorIs(t, err, os.ErrNotExist)
}
