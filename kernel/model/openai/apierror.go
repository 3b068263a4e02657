package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// APIError is a server's answer that is an error. It matches ErrRateLimited for status 429,
// ErrUnavailable for 5xx, and ErrRefused if a content filter is the reason. The server's own
// message is not kept: it may quote what was sent.
type APIError struct {
	// Status is the HTTP status. If the server reported a failure inside an answer whose
	// status was good, it is the one that the report names, or 502.
	Status int
	// Code is the server's word for the error, for example "model_not_found", or empty.
	Code string
	// RequestID is the server's name for the request, or empty.
	RequestID string
	// RetryAfter is how long the server wants to be left alone, or 0.
	RetryAfter time.Duration

	filtered bool
	refuses  feature
}

// Error names the status, the code and the request.
func (e *APIError) Error() string {
	text := "the server answered with status " + strconv.Itoa(e.Status)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.RetryAfter > 0 {
		text += ", retry after " + e.RetryAfter.String()
	}
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text
}

// Is matches ErrRateLimited, ErrUnavailable and ErrRefused.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrRateLimited:
		return e.Status == http.StatusTooManyRequests
	case ErrUnavailable:
		return e.Status >= http.StatusInternalServerError
	case ErrRefused:
		return e.filtered
	default:
		return false
	}
}

// transient reports whether the same request may succeed later.
func (e *APIError) transient() bool {
	switch {
	case e.refuses != nothing, e.filtered:
		return false
	case e.Status == http.StatusTooManyRequests:
		return e.Code != "insufficient_quota" // passes when somebody pays
	default:
		return e.Status >= http.StatusInternalServerError && e.Status != http.StatusNotImplemented
	}
}

// report is an error body's content, in any of the forms that servers use.
type report struct {
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Type    json.RawMessage `json:"type"`
	Param   json.RawMessage `json:"param"`
	Code    json.RawMessage `json:"code"`
	Detail  json.RawMessage `json:"detail"`
	Inner   struct {
		Code json.RawMessage `json:"code"`
	} `json:"innererror"`
}

// parseReport finds the report in a body: {"error": {...}} as OpenAI has it, the same in a
// list, {"error": "text"}, the fields without a wrapping, or FastAPI's "detail". It returns
// nil if there is none.
func parseReport(body []byte) *report {
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return nil
		}
		body = list[0]
	}
	var r report
	if json.Unmarshal(body, &r) != nil {
		return nil
	}
	if len(r.Error) == 0 || string(r.Error) == "null" {
		return &r
	}
	var inner report
	if json.Unmarshal(r.Error, &inner) != nil {
		inner = report{Message: r.Error}
	}
	return &inner
}

// newAPIError makes an error of a status and its body.
func newAPIError(status int, body []byte, redact redactor) *APIError {
	e := &APIError{Status: status}
	r := parseReport(body)
	if r == nil {
		e.refuses = refusal(status, "", string(body))
		return e
	}
	for _, word := range []json.RawMessage{r.Code, r.Type} {
		if e.Code = redact.word(plain(word)); e.Code != "" {
			break
		}
	}
	if plain(r.Code) == "content_filter" || plain(r.Inner.Code) == "ResponsibleAIPolicyViolation" {
		e.filtered = true
		return e
	}
	e.refuses = refusal(status, plain(r.Param), plain(r.Code)+" "+plain(r.Message)+" "+plain(r.Detail))
	return e
}

// apiErrorInside finds an error in an answer's body, whole or in its first choice.
func apiErrorInside(body []byte, redact redactor) *APIError {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Choices []struct {
			Error json.RawMessage `json:"error"`
		} `json:"choices"`
	}
	_ = json.Unmarshal(body, &outer) // what does not fit is not looked for
	found := outer.Error
	if absent(found) && len(outer.Choices) > 0 {
		found = outer.Choices[0].Error
	}
	if absent(found) {
		return nil
	}
	status := http.StatusBadGateway
	var r report
	if json.Unmarshal(found, &r) == nil {
		if n, err := strconv.Atoi(plain(r.Code)); err == nil && n >= 400 && n <= 599 {
			status = n
		}
	}
	return newAPIError(status, fmt.Appendf(nil, `{"error":%s}`, found), redact)
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// plain returns a JSON string's text, and any other value as it is written.
func plain(raw json.RawMessage) string {
	var s string
	if absent(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.TrimSpace(string(raw))
}
