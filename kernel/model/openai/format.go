package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/memkernel/memkernel/kernel/model"
)

// Format is a form of structured output.
type Format int

// The forms, from the strictest to what every server has.
const (
	// FormatSchema: the server holds the model to the schema.
	FormatSchema Format = iota
	// FormatObject: the server holds the model to JSON; the schema is in the instructions.
	FormatObject
	// FormatText: the model is told to write JSON that fits the schema.
	FormatText
)

// String names the form in the protocol's words.
func (f Format) String() string {
	switch f {
	case FormatSchema:
		return "json_schema"
	case FormatObject:
		return "json_object"
	case FormatText:
		return "text"
	default:
		return "unknown"
	}
}

// errOldBound: the protocol's client refuses the older name of the bound for this model.
var errOldBound = errors.New("the bound on the answer has another name for this model")

// refusedIn returns the feature that an error says the server lacks.
func refusedIn(err error) feature {
	var api *APIError
	switch {
	case errors.As(err, &api):
		return api.refuses
	case errors.Is(err, errOldBound):
		return theBound
	default:
		return nothing
	}
}

// attemptForm is how a request is put.
type attemptForm struct {
	format   Format
	began    Format // format of the first try
	oldBound bool   // max_tokens, not max_completion_tokens

	onlySchema bool // format was lowered because of the schema, not the server
	flipped    bool // oldBound was changed
}

// without returns the form that does without a feature, false if there is none.
func (a attemptForm) without(f feature, req *model.Request) (attemptForm, bool) {
	switch {
	case (f == aFormat || f == aSchema) && a.format < FormatText:
		a.format++
		a.onlySchema = a.onlySchema || f == aSchema
		return a, true
	case f == theBound && req.MaxTokens > 0 && !a.flipped:
		a.oldBound, a.flipped = !a.oldBound, true
		return a, true
	default:
		return a, false
	}
}

// instructions tell a model what the server does not hold it to.
const instructions = "Answer with one JSON document and nothing else: no explanation and no code fence."

// body puts a request into the protocol's words.
func (a attemptForm) body(name string, req *model.Request) goopenai.ChatCompletionRequest {
	out := goopenai.ChatCompletionRequest{Model: name}
	system := req.System
	switch a.format {
	case FormatSchema:
		out.ResponseFormat = &goopenai.ChatCompletionResponseFormat{
			Type: goopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{
				Name: cmp.Or(req.SchemaName, "answer"), Schema: json.RawMessage(req.Schema), Strict: true,
			},
		}
	case FormatObject:
		out.ResponseFormat = &goopenai.ChatCompletionResponseFormat{Type: goopenai.ChatCompletionResponseFormatTypeJSONObject}
		system = instructed(system, req.Schema)
	case FormatText:
		system = instructed(system, req.Schema)
	}
	for _, m := range []goopenai.ChatCompletionMessage{
		{Role: goopenai.ChatMessageRoleSystem, Content: system},
		{Role: goopenai.ChatMessageRoleUser, Content: req.Prompt},
	} {
		if m.Content != "" {
			out.Messages = append(out.Messages, m)
		}
	}
	if a.oldBound {
		out.MaxTokens = req.MaxTokens //nolint:staticcheck // OpenAI's replacement is not known to every other server
	} else {
		out.MaxCompletionTokens = req.MaxTokens
	}
	return out
}

// instructed adds to a system text what the server does not hold the model to.
func instructed(system string, schema []byte) string {
	system = strings.TrimSpace(system + "\n\n" + instructions)
	if len(schema) > 0 {
		system += " It must satisfy this JSON Schema:\n" + string(schema)
	}
	return system
}
