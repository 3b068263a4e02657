package main

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel"
)

// Why a line of a chat is not read.
const (
	badLine   = "malformed"
	badLength = "too long"
	badTarget = "corrects nothing"
	badFile   = "cannot be read"
)

// chat is a transcript: lines of JSON if the first one that is not blank begins with "{", and
// else plain text.
type chat struct{ transcript.File }

// entries reads the transcript, message by message.
func (c *chat) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for t, err := range c.turns() {
			e := entry{origin: fromChat, place: fmt.Sprintf("%s:%d", c.Name, t.Line)}
			switch {
			case errors.Is(err, transcript.ErrLongLine), errors.Is(err, kernel.ErrTooLarge):
				e.problem = &problem{reason: badLength, note: err.Error()}
			case errors.As(err, new(*readError)):
				e.place, e.problem = c.Name, &problem{reason: badFile, note: cause(err)}
			case err != nil:
				e.problem = &problem{reason: badLine, note: err.Error()}
			default:
				e.source, e.text, e.at, e.namespace = t.Source(c.Name), t.Text, t.At, t.Namespace
				if t.ID != "" {
					e.ref = t.Key(t.ID)
				}
				if t.Supersedes != "" {
					e.corrects = t.Key(t.Supersedes)
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// readError is a failure of the file, not of a line.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// turns reads the messages. One that is malformed is an error, and Line is where it stands.
func (c *chat) turns() iter.Seq2[transcript.Turn, error] {
	return func(yield func(transcript.Turn, error) bool) {
		r, err := c.Open()
		if err != nil {
			yield(transcript.Turn{}, &readError{err})
			return
		}
		defer func() { _ = r.Close() }()
		p := &plain{yield: yield}
		begun, jsonLines := false, false
		for line, err := range transcript.Lines(r) {
			if err != nil && !errors.Is(err, transcript.ErrLongLine) {
				if p.end() {
					yield(transcript.Turn{}, &readError{err})
				}
				return
			}
			trimmed := bytes.TrimSpace(line.Text)
			if !begun && len(trimmed) > 0 {
				begun, jsonLines = true, trimmed[0] == '{'
			}
			more := true
			switch {
			case err != nil:
				more = p.bad(line.Number, err)
			case len(trimmed) == 0:
			case jsonLines:
				var t transcript.Turn
				if t, err = transcript.ParseJSON(line, ""); err != nil {
					t = transcript.Turn{Line: line.Number}
				}
				more = yield(t, err)
			default:
				more = p.line(line)
			}
			if !more {
				return
			}
		}
		p.end()
	}
}

// plain reads plain text: a line such as
//
//	[2026-03-01 10:00] Ana: text
//
// begins a message, and lines of another form go on with it. After the time, a message can
// name an earlier one that it corrects, by the time of that.
type plain struct {
	yield func(transcript.Turn, error) bool
	open  *transcript.Turn // nil if there is none
	text  strings.Builder
}

var (
	begins  = regexp.MustCompile(`^\[[0-9]{4}-`)
	message = regexp.MustCompile(`^\[([^]]{1,100})\][ \t]*([^:]*):[ \t]?(.*)$`)
)

// line takes a line that is not blank. It and the others report whether to go on.
func (p *plain) line(line transcript.Line) bool {
	text := string(line.Text)
	if begins.MatchString(text) {
		if !p.end() {
			return false
		}
		t, err := parseMessage(text)
		if err != nil {
			return p.bad(line.Number, err)
		}
		t.Line = line.Number
		p.open = &t
		p.text.WriteString(t.Text)
		return true
	}
	if p.open == nil {
		return p.bad(line.Number, errors.New(`it begins no message, as "[2026-03-01 10:00] Ana: text" does, and goes on with none that could be read`))
	}
	if p.text.Len() <= transcript.MaxLine { // over it, the message is known to be too long
		p.text.WriteString("\n" + text)
	}
	return true
}

// bad reports a line that cannot be read, and ends the message before it.
func (p *plain) bad(number int, err error) bool {
	if !p.end() {
		return false
	}
	return p.yield(transcript.Turn{Line: number}, err)
}

// end hands over the message that is open.
func (p *plain) end() bool {
	if p.open == nil {
		return true
	}
	t := *p.open
	t.Text = strings.TrimSpace(p.text.String())
	p.open = nil
	p.text.Reset()
	if err := t.Check(); err != nil {
		return p.yield(transcript.Turn{Line: t.Line}, err)
	}
	return p.yield(t, nil)
}

// parseMessage reads the line that begins a message.
func parseMessage(line string) (transcript.Turn, error) {
	m := message.FindStringSubmatch(line)
	if m == nil {
		return transcript.Turn{}, errors.New(`it is not of the form "[2026-03-01 10:00] Ana: text"`)
	}
	when, target, corrects := strings.Cut(m[1], " corrects ")
	t := transcript.Turn{Speaker: strings.TrimSpace(m[2]), Text: m[3]}
	var err error
	if t.At, err = parseTime(when); err != nil {
		return transcript.Turn{}, err
	}
	t.ID = t.At.Format(time.RFC3339)
	if corrects {
		of, err := parseTime(target)
		if err != nil {
			return transcript.Turn{}, err
		}
		t.Supersedes = of.Format(time.RFC3339)
	}
	return t, nil
}

// parseTime reads a time, which is in UTC if it does not say otherwise.
func parseTime(text string) (time.Time, error) {
	text = strings.Replace(strings.TrimSpace(text), " ", "T", 1)
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, errors.New(`its time is not of the form "2026-03-01 10:00", with seconds or a zone if need be`)
}
