package audit

import (
	"strconv"
	"strings"
	"unicode"
)

// Detail builds the detail of an Event in logfmt. Keys are constants of the program; values
// are quoted when needed, so that no value can forge a key. The zero value is ready to use;
// it is not safe for concurrent use.
type Detail struct{ b strings.Builder }

// Int adds key=n.
func (d *Detail) Int(key string, n int64) *Detail { return d.raw(key, strconv.FormatInt(n, 10)) }

// Str adds key=value, quoted unless the value is plain.
func (d *Detail) Str(key, value string) *Detail {
	if !plain(value) {
		// ASCII only: what is left needs no further thought about encodings or direction marks.
		value = strconv.QuoteToASCII(value)
	}
	return d.raw(key, value)
}

// String returns what was added so far.
func (d *Detail) String() string { return d.b.String() }

func (d *Detail) raw(key, value string) *Detail {
	if d.b.Len() > 0 {
		d.b.WriteByte(' ')
	}
	d.b.WriteString(key)
	d.b.WriteByte('=')
	d.b.WriteString(value)
	return d
}

func plain(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return r == '=' || r == '"' || r == '\\' || r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' '
	})
}
