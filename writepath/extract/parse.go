package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// What can be wrong with an answer.
var (
	errTooLarge  = errors.New("the answer is too large")
	errNoJSON    = errors.New("the answer has no JSON document with facts")
	errTruncated = errors.New("the answer ends in the middle of its JSON document")
	errShape     = errors.New("no item of the answer has the shape of a fact")
)

// faultOf says what was wrong in words that are ours alone.
func faultOf(err error) string {
	for _, known := range []error{errTooLarge, errTruncated, errShape} {
		if errors.Is(err, known) {
			return strings.TrimPrefix(known.Error(), "the ")
		}
	}
	return strings.TrimPrefix(errNoJSON.Error(), "the ")
}

// Bounds on the work of one answer.
const (
	maxAnswerBytes = 1 << 20
	// maxStarts is how many places of an answer are tried as the beginning of a document.
	maxStarts = 64
	// maxItems is how many items of one list are looked at; the rest counts as one more.
	maxItems = 2000
)

// item is one element of an answer's list. If it is malformed, text is what stood there.
type item struct {
	text      string
	malformed bool
	unknown   bool // it has properties that the schema does not have

	kind, eventTime, eventEnd, entities, certainty json.RawMessage
}

// parse returns the items of an answer: of its last whole document that is an object with a
// list of facts, or else a list of objects. It never panics, and takes time linear in the
// length of the answer for each of maxStarts places. With errShape it returns the items too.
func parse(answer []byte) ([]item, error) {
	if len(answer) > maxAnswerBytes {
		return nil, errTooLarge
	}
	var items []item
	found, cutOff := false, false
	rest := answer
	for range maxStarts {
		start := bytes.IndexAny(rest, "{[")
		if start < 0 {
			break
		}
		rest = rest[start:]
		dec := json.NewDecoder(bytes.NewReader(rest))
		var doc json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			cutOff = cutOff || errors.Is(err, io.ErrUnexpectedEOF) && begins(rest)
			rest = rest[1:]
			continue
		}
		if list, ok := listOf(doc); ok {
			items, found, cutOff = readItems(list), true, false
		}
		rest = rest[len(doc):]
	}
	switch {
	case cutOff:
		return nil, errTruncated
	case !found:
		return nil, errNoJSON
	}
	for i := range items {
		if !items[i].malformed {
			return items, nil
		}
	}
	if len(items) > 0 {
		return items, errShape
	}
	return nil, nil
}

// begins reports whether text starts like a document of ours, so that it being cut off
// matters: a stray brace in the words around a document does not.
func begins(text []byte) bool {
	inner := bytes.TrimLeft(text[1:], " \t\r\n")
	if len(inner) == 0 {
		return true
	}
	if text[0] == '[' {
		return inner[0] == '{'
	}
	return inner[0] == '"'
}

// listOf returns the list of facts in a document. An object may name its list twice; then
// both count.
func listOf(doc json.RawMessage) ([]json.RawMessage, bool) {
	if doc[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(doc, &list) != nil {
			return nil, false
		}
		for _, one := range list {
			if one[0] == '{' {
				return list, true
			}
		}
		return nil, len(list) == 0
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	var all []json.RawMessage
	found := false
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return nil, false
		}
		if name, _ := key.(string); !strings.EqualFold(name, "facts") {
			continue
		}
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return nil, false
		}
		all, found = append(all, list...), true
	}
	return all, found
}

func readItems(list []json.RawMessage) []item {
	items := make([]item, 0, min(len(list), maxItems+1))
	for i, raw := range list {
		if i == maxItems {
			return append(items, item{text: "and more", malformed: true})
		}
		items = append(items, readItem(raw))
	}
	return items
}

func readItem(raw json.RawMessage) item {
	bad := item{text: string(raw), malformed: true}
	if s, ok := text(raw); ok {
		bad.text = s
	}
	var fields map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		return bad
	}
	var it item
	told := false
	for name, value := range fields {
		switch name {
		case "text":
			it.text, told = text(value)
		case "kind":
			it.kind = value
		case "event_time":
			it.eventTime = value
		case "event_end":
			it.eventEnd = value
		case "entities":
			it.entities = value
		case "certainty":
			it.certainty = value
		default:
			it.unknown = true
		}
	}
	if !told {
		return bad
	}
	return it
}
