package openai

import (
	"errors"

	"github.com/memkernel/memkernel/kernel/model"
)

// What a caller may want to tell apart with errors.Is. Other errors are ctx.Err() itself, an
// *APIError of a status that none of these covers, a budget's own failure, and what no
// request can be made of, such as a schema that is no JSON.
var (
	// ErrBudget: the tenant's budget does not allow the request. The error is a
	// *BudgetError if the budget is a Daily. It is a model.ErrFinal.
	ErrBudget error = final("budget exhausted")

	// ErrRateLimited: the server wants fewer requests, or the account's quota is used up.
	// The error is an *APIError and may say how long to wait.
	ErrRateLimited = errors.New("rate limited")

	// ErrUnavailable: the server could not be reached, did not answer in time, or failed.
	ErrUnavailable = errors.New("unavailable")

	// ErrRefused: the model or a content filter declined. It is a model.ErrFinal.
	ErrRefused error = final("refused")

	// ErrTruncated: the answer ran into its bound or the model's, and is not whole.
	ErrTruncated = errors.New("answer truncated")

	// ErrMalformed: the answer is not what the API promises, for example no JSON, too few
	// vectors, or a component that is no number.
	ErrMalformed = errors.New("malformed answer")

	// ErrTooLarge: the answer is larger than Config.MaxResponseBytes.
	ErrTooLarge = errors.New("answer too large")
)

// final is an error after which asking again will not help.
type final string

func (e final) Error() string { return string(e) }

// Is matches model.ErrFinal too.
func (e final) Is(target error) bool { return target == model.ErrFinal || target == error(e) }
