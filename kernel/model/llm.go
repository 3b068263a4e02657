package model

import (
	"context"
	"errors"
)

// ErrFinal is in the tree of an error after which asking again will not help, such as a refusal
// or an exhausted budget. Whoever gets it does without the model.
var ErrFinal = errors.New("asking again will not help")

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

// TenantLLM is an LLM that keeps accounts, such as a spend cap, by tenant.
type TenantLLM interface {
	LLM

	// For returns the model that the kernel asks on behalf of a tenant. It must not be nil.
	For(tenant string) LLM
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
