package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxFile is the largest file of a folder that is read, in bytes.
const maxFile = 4 << 20

// Why a file is left out.
const (
	skipHidden   = "hidden"
	skipLink     = "a symbolic link"
	skipKind     = "not a regular file"
	skipName     = "its name is not UTF-8"
	skipFormat   = "not Markdown (.md, .markdown)"
	skipLarge    = "larger than 4 MiB"
	skipEncoding = "not UTF-8 text"
	skipEmpty    = "holds no text"
	skipFailed   = "cannot be read"
)

// docs is a folder of Markdown.
type docs struct {
	name   string // of the folder, which sources begin with
	files  fs.FS
	closer io.Closer // nil if there is nothing to close
}

// openDocs opens a folder of the user's. Nothing outside of it can be read through it, whatever
// links are in it.
func openDocs(dir string) (*docs, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("the folder: %w", err)
	}
	return &docs{name: strings.ToValidUTF8(filepath.Base(abs), "?"), files: root.FS(), closer: root}, nil
}

// entries reads the folder, file by file in the order of their names.
func (d *docs) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		_ = fs.WalkDir(d.files, ".", func(name string, f fs.DirEntry, err error) error { // errors are entries
			if err == nil && (name == "." || f.IsDir() && !hidden(name)) {
				return nil
			}
			for _, e := range d.file(name, f, err) {
				if !yield(e) {
					return fs.SkipAll
				}
			}
			if f != nil && f.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
}

// file returns the sections of a file, or why it is left out.
func (d *docs) file(name string, f fs.DirEntry, err error) []entry {
	place := path.Join(d.name, strings.ToValidUTF8(name, "?"))
	skip := func(reason, note string) []entry {
		return []entry{{origin: fromDocs, place: place, problem: &problem{whole: true, reason: reason, note: note}}}
	}
	if err != nil {
		return skip(skipFailed, cause(err))
	}
	if reason := leftOut(name, f.Type()); reason != "" {
		return skip(reason, "")
	}
	text, reason, err := d.read(name)
	if err != nil {
		return skip(skipFailed, cause(err))
	}
	if reason != "" {
		return skip(reason, "")
	}
	var out []entry
	for _, s := range sections(text) {
		out = append(out, entry{origin: fromDocs, place: fmt.Sprintf("%s:%d", place, s.line), source: place + s.source(), text: s.text})
	}
	if len(out) == 0 {
		return skip(skipEmpty, "")
	}
	return out
}

// leftOut returns why a file is not even opened, "" if it is.
func leftOut(name string, kind fs.FileMode) string {
	switch ext := strings.ToLower(path.Ext(name)); {
	case hidden(name):
		return skipHidden
	case kind&fs.ModeSymlink != 0:
		return skipLink
	case !kind.IsRegular():
		return skipKind
	case !utf8.ValidString(name):
		return skipName
	case ext != ".md" && ext != ".markdown":
		return skipFormat
	}
	return ""
}

func hidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }

// read returns a file's text with the line ends of Unix and without a byte order mark, or why
// it is left out.
func (d *docs) read(name string) (text, reason string, err error) {
	f, err := d.files.Open(name)
	if err != nil {
		return "", "", err //nolint:wrapcheck // see cause
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	text = strings.ReplaceAll(strings.TrimPrefix(string(raw), "\uFEFF"), "\r\n", "\n")
	switch {
	case err != nil:
		return "", "", err //nolint:wrapcheck // see cause
	case len(raw) > maxFile:
		return "", skipLarge, nil
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return "", skipEncoding, nil
	}
	return text, "", nil
}

// cause is what an error of the file system says, without the path, which stands beside it.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
