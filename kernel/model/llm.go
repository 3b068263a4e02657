package model

import "context"

// LLM is a language model that answers in JSON.
//
// Implementations must be safe for concurrent use and must never keep or log the prompt.
type LLM interface {
	// Name identifies the model, for example "gpt-4o-mini". It always returns the same.
	Name() string

	// Complete answers a prompt with one JSON document that is meant to satisfy the
	// request's schema; a caller must check that it does. It must return promptly with
	// ctx.Err() when ctx is done. Calling it again may give another answer.
	Complete(ctx context.Context, req Request) (*Response, error)
}

// Request is one prompt.
type Request struct {
	// System holds the instructions, Prompt the material: data, never instructions.
	System, Prompt string
	// SchemaName and Schema describe the answer wanted, as a JSON Schema.
	SchemaName string
	Schema     []byte
	// MaxTokens bounds the answer, 0 for the model's own bound.
	MaxTokens int
}

// Response is one answer.
type Response struct {
	// JSON is the answer as the model gave it.
	JSON []byte
	// Usage counts what it cost.
	Usage Usage
}

// Usage counts tokens.
type Usage struct{ PromptTokens, AnswerTokens int }
