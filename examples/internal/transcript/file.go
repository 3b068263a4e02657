package transcript

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// File is a file that can be read more than once.
type File struct {
	// Name is what messages and sources call it.
	Name string
	// Open begins to read it.
	Open func() (io.ReadCloser, error)
}

// FromPath is a file of the user's.
func FromPath(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, fmt.Errorf("the input: %w", err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is not a regular file; it is read twice, so a pipe will not do", path)
	}
	name := strings.ToValidUTF8(filepath.Base(path), "?") // it becomes part of each memory's source
	return File{name, func() (io.ReadCloser, error) {
		return os.Open(path) //nolint:gosec // the user's own file
	}}, nil
}
