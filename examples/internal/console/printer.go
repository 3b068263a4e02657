package console

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// Printer prints lines. It is for one goroutine.
type Printer struct {
	Out io.Writer
	// Err is the first failure to print. Nothing is printed after it, and nobody has to look
	// before the end.
	Err error
}

// Printf prints a line.
func (p *Printer) Printf(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.Out, format+"\n", args...)
	}
}

// Wrapped prints names, with commas between them, on as few lines as hold them: each begins
// with indent and has at most width characters, unless a single name has more.
func (p *Printer) Wrapped(indent string, width int, names []string) {
	line, length := "", 0
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		n := utf8.RuneCountInString(name)
		switch {
		case line == "":
			line, length = indent+name, utf8.RuneCountInString(indent)+n
		case length+len(" ")+n > width:
			p.Printf("%s", line)
			line, length = indent+name, utf8.RuneCountInString(indent)+n
		default:
			line, length = line+" "+name, length+len(" ")+n
		}
	}
	if line != "" {
		p.Printf("%s", line)
	}
}
