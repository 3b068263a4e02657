package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestSections(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []section
	}{
		"nothing":       {"", nil},
		"blank":         {" \n\n\t\n", nil},
		"no heading":    {"a\nb\n\nc", []section{{1, "", 1, "a\nb\n\nc"}}},
		"headings":      {"a\n# B c, d!\nb\n## E\n\n\n### F_1 ##\nf\n", []section{{1, "", 1, "a"}, {3, "b-c-d", 1, "B c, d!\n\nb"}, {8, "f_1", 1, "F_1\n\nf"}}},
		"same headings": {"# A\na\n# A\nb\n# A\nc", []section{{2, "a", 1, "A\n\na"}, {4, "a-1", 1, "A\n\nb"}, {6, "a-2", 1, "A\n\nc"}}},
		"underlined":    {"A\n===\na\n\nB b\n---\nb\n\n---\n\n- c\n---\nd", []section{{3, "a", 1, "A\n\na"}, {7, "b-b", 1, "B b\n\nb\n\n- c\n\nd"}}},
		"no headings":   {"#a\n####### b\na\nb\n---\nc", []section{{1, "", 1, "#a\n####### b\na\nb\n\nc"}}},
		"only headings": {"# a\n## b\n", nil},
		"code":          {"# A\na\n```go\n# no\n\nfunc\n~~~\n```\n~~~~\n# no\n~~~\n~~~~~\n# B\nb", []section{{2, "a", 1, "A\n\na\n```go\n# no\n\nfunc\n~~~\n```\n~~~~\n# no\n~~~\n~~~~~"}, {14, "b", 1, "B\n\nb"}}},
		"open code":     {"# A\n```\n# B\nb", []section{{2, "a", 1, "A\n\n```\n# B\nb"}}},
		"front matter":  {"---\ntitle: x\n---\n# A\na", []section{{2, "", 1, "title: x"}, {5, "a", 1, "A\n\na"}}},
		"a rule first":  {"---\n# A\na", []section{{3, "a", 1, "A\n\na"}}},
		"long heading":  {"# " + strings.Repeat("x", 201) + "\na", []section{{1, "", 1, "# " + strings.Repeat("x", 201) + "\na"}}},
		"paragraphs": {"# A\n" + strings.Repeat("a", 900) + "\n\n" + strings.Repeat("b", 700) + "\n\nc", []section{
			{2, "a", 1, "A\n\n" + strings.Repeat("a", 900)}, {4, "a", 2, "A\n\n" + strings.Repeat("b", 700) + "\n\nc"},
		}},
		"a long paragraph": {strings.Repeat("a", 1200) + ". " + strings.Repeat("b", 900), []section{
			{1, "", 1, strings.Repeat("a", 1200) + "."}, {1, "", 2, strings.Repeat("b", 900)},
		}},
		"long lines": {strings.Repeat("a", 800) + "\n" + strings.Repeat("b. ", 300), []section{
			{1, "", 1, strings.Repeat("a", 800)}, {1, "", 2, strings.TrimSpace(strings.Repeat("b. ", 300))},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, sections(tt.text))
		})
	}
}

func FuzzSections(f *testing.F) {
	f.Add("# A\n```\n\n~~~ ä\n---\nb\n===\n" + strings.Repeat("ö", 2000))
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, s := range sections(text) {
			require.True(t, utf8.ValidString(s.text))
			require.NotEmpty(t, strings.TrimSpace(s.text))
			require.LessOrEqual(t, len(s.text), maxSection+maxHeading+2)
			require.LessOrEqual(t, s.line, lines)
			require.LessOrEqual(t, len(s.source()), 3*maxHeading)
		}
	})
}

func TestSource(t *testing.T) {
	t.Parallel()
	require.Empty(t, (&section{part: 1}).source())
	require.Equal(t, "#a", (&section{part: 1, anchor: "a"}).source())
	require.Equal(t, "#a (part 2)", (&section{part: 2, anchor: "a"}).source())
}

// TestFolder has files of all sorts beside a good one.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "notes")
	outside := file(t, "outside.md", "# Outside")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("b.md", "\uFEFF# B\r\n\r\nb\r\n")
	write("a/c.MARKDOWN", "c")
	write(".git/d.md", "d")
	write(".e.md", "e")
	write("f.txt", "f")
	write("g.md", "g\x00g")
	write("h.md", "h\xff")
	write("i.md", "# only\n## headings\n")
	line := strings.Repeat("k ", 511) + "k\n" // 1 KiB
	write("j.md", strings.Repeat(line, maxFile/len(line))+"j")
	write("k.md", strings.Repeat(line, maxFile/len(line)))
	write("n\xff.md", "n")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "l.md")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "m")))
	require.NoError(t, os.Symlink("b.md", filepath.Join(dir, "o.md")))
	d, err := openDocs(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.closer.Close()) }()
	skipped, read := map[string]string{}, map[string]string{}
	long := 0
	for e := range d.entries() {
		require.Equal(t, fromDocs, e.origin)
		switch {
		case e.problem != nil:
			require.True(t, e.problem.whole)
			skipped[e.place] = e.problem.reason
		case strings.HasPrefix(e.source, "notes/k.md"):
			long++
		default:
			read[e.source] = e.place + " " + e.text
		}
	}
	require.Equal(t, map[string]string{
		"notes/.git": skipHidden, "notes/.e.md": skipHidden, "notes/f.txt": skipFormat, "notes/g.md": skipEncoding, "notes/h.md": skipEncoding,
		"notes/i.md": skipEmpty, "notes/j.md": skipLarge, "notes/n?.md": skipName, "notes/l.md": skipLink, "notes/m": skipLink, "notes/o.md": skipLink,
	}, skipped)
	require.Equal(t, map[string]string{"notes/b.md#b": "notes/b.md:3 B\n\nb", "notes/a/c.MARKDOWN": "notes/a/c.MARKDOWN:1 c"}, read)
	require.Greater(t, long, maxFile/maxSection)
}

// TestFolderThatChanges has a file that goes while it is read, and a section that changes.
func TestFolderThatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.md")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	k, keys := open(t), filepath.Join(t.TempDir(), "keys.json")

	write("# A\n\nThe lock opens at six.\n\n# B\n\nb")
	r := ingested(t, k, "-docs", dir, "-keys", keys)
	require.Equal(t, map[string]int{"stored": 2}, counts(r.Summary))
	require.Equal(t, map[string]int{"deduplicated": 2}, counts(r.Again))

	write("# A\n\nThe lock opens at seven.\n\n# B\n\nb")
	r = ingested(t, k, "-docs", dir, "-keys", keys)
	require.Equal(t, map[string]int{"stored": 1, "superseded": 1, "deduplicated": 1}, counts(r.Summary))
	require.Equal(t, "the section has changed", r.Summary.Superseded.Why[0].Reason)

	write("# A\n\nThe lock opens at six.\n\n# B\n\nb")
	r = ingested(t, k, "-docs", dir, "-keys", keys)
	require.Equal(t, map[string]int{"stored": 1, "superseded": 1, "deduplicated": 1}, counts(r.Summary), "what was said before is said again")

	d, err := openDocs(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.closer.Close()) }()
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	for range d.entries() {
		require.Fail(t, "an empty folder has no entries")
	}
}
