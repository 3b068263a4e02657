package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

//go:embed conversation.jsonl
var conversation []byte

const (
	// defaultNamespace takes the lines that name none.
	defaultNamespace = "chat"
	// maxLine bounds one line of input, in bytes.
	maxLine = 8 << 20
	// maxName bounds speakers and ids, in bytes.
	maxName = 256
)

// turn is one line of input.
type turn struct {
	Speaker string `json:"speaker"`
	Time    string `json:"time"` // RFC 3339
	Text    string `json:"text"`
	// Namespace is a path below the run's tenant; it may be left out.
	Namespace string `json:"namespace,omitempty"`
	// ID names the line for a later one of its namespace; it may be left out.
	ID string `json:"id,omitempty"`
	// Supersedes is the ID of an earlier line of the same namespace that this one corrects;
	// it may be left out.
	Supersedes string `json:"supersedes,omitempty"`

	at   time.Time
	line int
}

// parseTurn reads one line and checks all that the kernel would refuse, so that a bad file is
// found out before anything of it is written.
func parseTurn(line []byte, number int) (turn, error) {
	t := turn{Namespace: defaultNamespace, line: number} // a line without the field leaves it alone
	if err := json.Unmarshal(line, &t); err != nil {
		return turn{}, plainJSON(err)
	}
	var err error
	if t.at, err = time.Parse(time.RFC3339, t.Time); err != nil {
		return turn{}, fmt.Errorf(`field "time" is %q, want a time such as "2026-03-02T09:15:00Z"`, t.Time)
	}
	return t, cmp.Or( //nolint:wrapcheck // they name the field already
		mem.CheckTime("time", t.at),
		mem.CheckText("text", t.Text, kernel.Limits{}.WithDefaults().MaxTextBytes),
		mem.CheckText("speaker", t.Speaker, maxName),
		mem.CheckLabel("id", t.ID, maxName),
	)
}

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

// input is JSON lines that can be read more than once.
type input struct {
	name string // for messages
	open func() (io.ReadCloser, error)
}

// shipped is the conversation that comes with the program.
func shipped() input {
	return input{"conversation.jsonl", func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(conversation)), nil
	}}
}

// fromFile is a file of the user's.
func fromFile(path string) (input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return input{}, fmt.Errorf("the input: %w", err)
	}
	if !info.Mode().IsRegular() {
		return input{}, fmt.Errorf("%s is not a regular file; it is read twice, so a pipe will not do", path)
	}
	name := strings.ToValidUTF8(filepath.Base(path), "?") // it becomes part of each memory's source
	return input{name, func() (io.ReadCloser, error) {
		return os.Open(path) //nolint:gosec // the user's own file
	}}, nil
}

// turns reads the input from its beginning, line by line. An error names the file and the
// line and is the last element.
func (in input) turns() iter.Seq2[turn, error] {
	return func(yield func(turn, error) bool) {
		r, err := in.open()
		if err != nil {
			yield(turn{}, err)
			return
		}
		defer func() { _ = r.Close() }()
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 64<<10), maxLine)
		number := 0
		for lines.Scan() {
			number++
			line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\uFEFF")))
			if len(line) == 0 {
				continue
			}
			t, err := parseTurn(line, number)
			if err != nil {
				yield(turn{}, in.at(number, err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(turn{}, in.at(number+1, fmt.Errorf("longer than %d bytes", maxLine)))
		} else if err != nil {
			yield(turn{}, in.at(number+1, err))
		}
	}
}

func (in input) at(line int, err error) error {
	return fmt.Errorf("%s:%d: %w", in.name, line, err)
}

// survey is what a first reading of the input tells.
type survey struct {
	turns      int
	namespaces []*namespaceSurvey // in order of appearance
	byPath     map[string]*namespaceSurvey
}

type namespaceSurvey struct {
	path  string // below the tenant
	full  kernel.Namespace
	turns int
	last  string // text of its last turn
	// corrected is the first line that supersedes another, 0 if none does.
	corrected int
}

// takeSurvey reads the whole input once and fails on the first bad line.
func takeSurvey(in input, tenant string) (*survey, error) {
	s := &survey{byPath: map[string]*namespaceSurvey{}}
	ids := map[string]bool{}
	for t, err := range in.turns() {
		if err != nil {
			return nil, err
		}
		ns, err := s.namespace(tenant, t.Namespace)
		if err == nil {
			err = checkLinks(ids, &t)
		}
		if err != nil {
			return nil, in.at(t.line, err)
		}
		s.turns++
		ns.turns++
		ns.last = t.Text
		if t.Supersedes != "" && ns.corrected == 0 {
			ns.corrected = t.line
		}
	}
	if s.turns == 0 {
		return nil, fmt.Errorf("%s holds no lines", in.name)
	}
	return s, nil
}

func (s *survey) namespace(tenant, path string) (*namespaceSurvey, error) {
	if ns := s.byPath[path]; ns != nil {
		return ns, nil
	}
	full, err := acl.ParseNamespace(tenant + "/" + path)
	if err != nil {
		return nil, fmt.Errorf("field \"namespace\" is %q: %w", path, err)
	}
	ns := &namespaceSurvey{path: path, full: full}
	s.byPath[path] = ns
	s.namespaces = append(s.namespaces, ns)
	return ns, nil
}

// home picks the namespace that the report looks at.
func (s *survey) home(path string) (*namespaceSurvey, error) {
	if path != "" {
		if ns := s.byPath[path]; ns != nil {
			return ns, nil
		}
		return nil, fmt.Errorf("no line is in namespace %q", path)
	}
	for _, ns := range s.namespaces {
		if ns.corrected > 0 {
			return ns, nil
		}
	}
	return s.namespaces[0], nil
}

// checkLinks makes sure that a line refers to an earlier one of its own namespace: a memory
// can be replaced in its own namespace only.
func checkLinks(ids map[string]bool, t *turn) error {
	if t.Supersedes != "" && !ids[t.key(t.Supersedes)] {
		return fmt.Errorf("field \"supersedes\" is %q, which no earlier line of namespace %q has as its id", t.Supersedes, t.Namespace)
	}
	if t.ID == "" {
		return nil
	}
	if ids[t.key(t.ID)] {
		return fmt.Errorf("field \"id\" is %q, as on an earlier line of namespace %q", t.ID, t.Namespace)
	}
	ids[t.key(t.ID)] = true
	return nil
}

// key is an id together with its namespace. A namespace holds no control characters.
func (t *turn) key(id string) string { return t.Namespace + "\x00" + id }
