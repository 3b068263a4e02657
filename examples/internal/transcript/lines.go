// Package transcript reads what people said, for the examples: line by line, and lines of
// JSON. It is for input that nobody has checked: it must never keep more of it than a line,
// and never let a line pass that the kernel would refuse.
package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine bounds one line of input, in bytes.
const MaxLine = 8 << 20

// ErrLongLine reports a line over MaxLine. The lines behind it can be read.
var ErrLongLine = fmt.Errorf("longer than %d bytes", MaxLine)

// Line is a line of a file, without what ends it. Its text is good until the next one.
type Line struct {
	Number int // from 1
	Text   []byte
}

// Lines reads a file line by line; a byte order mark in front is left out. With ErrLongLine it
// goes on behind the line; any other error is the last element.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var buf []byte
		for number := 1; ; number++ {
			var err error
			buf, err = readLine(in, buf[:0])
			line := Line{number, bytes.TrimSuffix(buf, []byte("\r"))}
			if number == 1 {
				line.Text = bytes.TrimPrefix(line.Text, []byte("\uFEFF"))
			}
			switch {
			case errors.Is(err, ErrLongLine):
				line.Text = nil
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(line, err)
				return
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// readLine appends the next line to buf. Of one that is too long it reads all and keeps none.
// It is io.EOF only if there is no line.
func readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		ended := err == nil
		part = bytes.TrimSuffix(part, []byte("\n"))
		if long = long || len(buf)+len(part) > MaxLine; long {
			buf = append(buf[:0], '-') // there is a line
		} else {
			buf = append(buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(buf) > 0, ended:
		default:
			return buf, err //nolint:wrapcheck // the file's own words
		}
		if long {
			return buf, ErrLongLine
		}
		return buf, nil
	}
}
