package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"iter"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel"
)

//go:embed conversation.jsonl
var conversation []byte

// defaultNamespace takes the lines that name none.
const defaultNamespace = "chat"

// input is JSON lines.
type input struct{ transcript.File }

// shipped is the conversation that comes with the program.
func shipped() input {
	return input{transcript.File{Name: "conversation.jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(conversation)), nil
	}}}
}

// turns reads the input from its beginning, line by line. An error names the file and the
// line and is the last element.
func (in input) turns() iter.Seq2[transcript.Turn, error] {
	return func(yield func(transcript.Turn, error) bool) {
		r, err := in.Open()
		if err != nil {
			yield(transcript.Turn{}, err)
			return
		}
		defer func() { _ = r.Close() }()
		for line, err := range transcript.Lines(r) {
			if line.Text = bytes.TrimSpace(line.Text); err == nil && len(line.Text) == 0 {
				continue
			}
			var t transcript.Turn
			if err == nil {
				t, err = transcript.ParseJSON(line, defaultNamespace)
			}
			if err != nil {
				yield(transcript.Turn{}, in.at(line.Number, err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

func (in input) at(line int, err error) error {
	return fmt.Errorf("%s:%d: %w", in.Name, line, err)
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
			return nil, in.at(t.Line, err)
		}
		s.turns++
		ns.turns++
		ns.last = t.Text
		if t.Supersedes != "" && ns.corrected == 0 {
			ns.corrected = t.Line
		}
	}
	if s.turns == 0 {
		return nil, fmt.Errorf("%s holds no lines", in.Name)
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
func checkLinks(ids map[string]bool, t *transcript.Turn) error {
	if t.Supersedes != "" && !ids[t.Key(t.Supersedes)] {
		return fmt.Errorf("field \"supersedes\" is %q, which no earlier line of namespace %q has as its id", t.Supersedes, t.Namespace)
	}
	if t.ID == "" {
		return nil
	}
	if ids[t.Key(t.ID)] {
		return fmt.Errorf("field \"id\" is %q, as on an earlier line of namespace %q", t.ID, t.Namespace)
	}
	ids[t.Key(t.ID)] = true
	return nil
}
