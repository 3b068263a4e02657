package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// maxName bounds speakers and ids, in bytes.
const maxName = 256

// Turn is something that somebody said.
type Turn struct {
	Speaker string `json:"speaker"`
	Time    string `json:"time"` // RFC 3339
	Text    string `json:"text"`
	// Namespace is where it was said; it may be left out.
	Namespace string `json:"namespace,omitempty"`
	// ID names the turn for a later one of its namespace; it may be left out.
	ID string `json:"id,omitempty"`
	// Supersedes is the ID of an earlier turn of the same namespace that this one corrects;
	// it may be left out.
	Supersedes string `json:"supersedes,omitempty"`

	// At is Time.
	At time.Time `json:"-"`
	// Line is where it stands in its file.
	Line int `json:"-"`
}

// ParseJSON reads a turn from a line of JSON; namespace is that of a line that names none.
// Unknown fields are ignored.
func ParseJSON(line Line, namespace string) (Turn, error) {
	t := Turn{Namespace: namespace, Line: line.Number} // a line without the field leaves it alone
	if err := json.Unmarshal(line.Text, &t); err != nil {
		return Turn{}, plainJSON(err)
	}
	var err error
	if t.At, err = time.Parse(time.RFC3339, t.Time); err != nil {
		return Turn{}, fmt.Errorf(`field "time" is %q, want a time such as "2026-03-02T09:15:00Z"`, t.Time)
	}
	return t, t.Check()
}

// Check reports what the kernel would refuse, so that a bad line is found out before anything
// is written.
func (t *Turn) Check() error {
	return cmp.Or( //nolint:wrapcheck // they name the field already
		mem.CheckTime("time", t.At),
		mem.CheckText("text", t.Text, kernel.Limits{}.WithDefaults().MaxTextBytes),
		mem.CheckText("speaker", t.Speaker, maxName),
		mem.CheckLabel("id", t.ID, maxName),
	)
}

// Key is an ID together with the turn's namespace. A namespace holds no control characters.
func (t *Turn) Key(id string) string { return t.Namespace + "\x00" + id }

// Source says where a memory of the turn comes from: who said it, which is what the file
// claims, and where in the file of that name.
func (t *Turn) Source(file string) string { return fmt.Sprintf("%s, %s:%d", t.Speaker, file, t.Line) }

// plainJSON says what is wrong with a line without the words of Go.
func plainJSON(err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if mismatch.Field == "" {
		return fmt.Errorf("it is a JSON %s, want an object", mismatch.Value)
	}
	return fmt.Errorf("field %q is a %s, want a string", mismatch.Field, mismatch.Value)
}
