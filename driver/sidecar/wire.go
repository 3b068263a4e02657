package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// version is the protocol's.
const version = 1

// maxItems is how many items a response may have: as many as the kernel looks at.
const maxItems = 10_000

type request struct {
	Version    int         `json:"version"`
	Query      query       `json:"query"`
	Candidates []candidate `json:"candidates"`
}

type query struct {
	Text        string `json:"text"`
	K           int    `json:"k"`
	TokenBudget int    `json:"tokenBudget,omitzero"`
}

// candidate is what leaves of a row. The namespace does not: it names the tenant.
type candidate struct {
	Ref           string      `json:"ref"`
	Tokens        int         `json:"tokens"`
	BM25          *float64    `json:"bm25,omitempty"`
	Cosine        *mem.Cosine `json:"cosine,omitempty"`
	Text          string      `json:"text,omitempty"`
	TextWithheld  bool        `json:"textWithheld,omitzero"`
	Kind          mem.Kind    `json:"kind,omitempty"`
	EventTime     time.Time   `json:"eventTime,omitzero"`
	AssertionTime time.Time   `json:"assertionTime,omitzero"`
}

func newCandidate(c *driver.Candidate) candidate {
	out := candidate{Ref: c.Ref.String(), Tokens: c.Tokens}
	if c.TextWithheld {
		out.TextWithheld = true
		return out
	}
	out.Text, out.Kind, out.EventTime, out.AssertionTime = c.Text, c.Kind, c.EventTime, c.AssertionTime
	return out
}

// encode returns a request's bytes, within the limit.
func encode(q driver.Query, candidates []candidate, limit int64) ([]byte, error) {
	body, err := json.Marshal(request{version, query{q.Text, q.K, q.TokenBudget}, candidates})
	if err != nil {
		return nil, errors.New("the request cannot be written") // its error may quote what is in it
	}
	if size := int64(len(body)); size > limit {
		return nil, &mem.TooLargeError{Field: "request", Size: size, Limit: limit, Unit: "bytes"}
	}
	return body, nil
}

// ErrMalformed is a response that is not what the protocol says. The text of the error says what is
// wrong with it and holds nothing of it.
var ErrMalformed = errors.New("malformed response")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// decode reads a response's items: each ref once, each score finite. Encoding/json accepts no number
// that is not.
func decode(contentType string, body []byte) ([]driver.Ranked, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if charset := params["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, malformed("its type is not application/json")
	}
	if !utf8.Valid(body) {
		return nil, malformed("it is not valid UTF-8")
	}
	var r struct {
		Items *[]struct {
			Ref   string   `json:"ref"`
			Score *float64 `json:"score"`
		} `json:"items"`
	}
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return nil, malformed("%d bytes are not JSON of its form", len(body))
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("something comes after it")
	}
	switch {
	case r.Items == nil:
		return nil, malformed("it has no items")
	case len(*r.Items) > maxItems:
		return nil, malformed("%d items, more than %d", len(*r.Items), maxItems)
	case len(*r.Items) == 0:
		return nil, malformed("it ranks nothing")
	}
	items := make([]driver.Ranked, len(*r.Items))
	seen := make(map[mem.ID]bool, len(items))
	for i, it := range *r.Items {
		ref, err := mem.ParseID(it.Ref)
		switch {
		case err != nil:
			return nil, malformed("the ref of item %d is no id", i)
		case seen[ref]:
			return nil, malformed("the ref of item %d is there twice", i)
		case it.Score == nil:
			return nil, malformed("item %d has no score", i)
		}
		seen[ref] = true
		items[i] = driver.Ranked{Ref: ref, Score: mem.Score(*it.Score)}
	}
	return items, nil
}
