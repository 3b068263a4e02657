package openai

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Cost is what an attempt uses of a budget.
type Cost struct {
	// Model is the Name of the model that is asked.
	Model string
	// PromptTokens and AnswerTokens count what is sent and what comes back.
	PromptTokens, AnswerTokens int64
}

// orElse fills in what a server did not count, from the most it can be.
func (c Cost) orElse(most Cost) Cost {
	c.Model = most.Model
	if c.PromptTokens <= 0 {
		c.PromptTokens = most.PromptTokens
	}
	if c.AnswerTokens <= 0 {
		c.AnswerTokens = most.AnswerTokens
	}
	return c
}

// Budget caps what tenants use. Implementations must be safe for concurrent use. Daily is
// one for a single process; hosts with several that share a cap implement it on a store of
// their own.
type Budget interface {
	// Reserve is asked before every attempt, repeated ones included, for the most that the
	// attempt can use. It either sets that aside and returns how to settle, or refuses
	// with an error that matches ErrBudget. Any other error, an outage of its store for
	// example, fails the call too: without an answer nothing is spent. It must return
	// promptly when ctx is done.
	//
	// The tenant is the one named with For, "" if none was.
	Reserve(ctx context.Context, tenant string, most Cost) (SettleFunc, error)
}

// SettleFunc replaces what was set aside by what was used, which may be nothing and may, if
// an answer was longer than announced, be more. It is called exactly once, with a context
// that has no end. It cannot fail: what cannot be settled stays set aside.
//
// An attempt that the server refused used nothing. One whose answer was lost, to a timeout
// for example, is settled at the most: the server may charge for it.
type SettleFunc func(ctx context.Context, used Cost)

// BudgetError says how far a tenant's budget is used. It matches ErrBudget. Amounts are in
// the budget's unit.
type BudgetError struct {
	Tenant string
	// Limit is the day's budget, Used what is spent and set aside of it, Asked the most
	// that the refused attempt could have used.
	Limit, Used, Asked int64
	// Resets is when the next day begins.
	Resets time.Time
}

// Error names the tenant and the amounts.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget exhausted: tenant %s has used %d of %d and would need up to %d, resets %s",
		strconv.Quote(e.Tenant), e.Used, e.Limit, e.Asked, e.Resets.Format(time.RFC3339))
}

// Unwrap returns ErrBudget.
func (e *BudgetError) Unwrap() error { return ErrBudget }
