package openai

import (
	"net/http"
	"strings"
)

// feature is a part of the protocol that a server may not have.
type feature int

const (
	nothing  feature = iota
	aFormat          // response_format, in the form that was sent
	aSchema          // this schema, in a form that other schemas may be sent in
	theBound         // the name of the bound on an answer
)

// refusal reads from an error what the server refuses. Servers have no common code for it,
// only words; a wrong guess costs a request, for nothing is remembered unless doing without
// the feature has worked.
func refusal(status int, param, text string) feature {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden,
		http.StatusRequestTimeout, http.StatusTooManyRequests:
		return nothing
	}
	param, text = strings.ToLower(param), strings.ToLower(text)
	about := param + " " + text
	switch {
	case has(about, "max_completion_tokens", "max_tokens") &&
		has(text, "unsupported", "not supported", "unrecognized", "unknown", "not permitted", "unexpected"):
		return theBound
	case !has(about, "response_format", "response format", "responseformat", "json_schema", "json_object",
		"structured output", "guided_json", "guided decoding", "grammar"):
		return nothing
	case has(text, "invalid schema", "invalid_json_schema", "grammar"):
		return aSchema
	default:
		return aFormat
	}
}

func has(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
