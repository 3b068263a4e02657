package mem

import (
	"errors"
	"fmt"
	"time"

	"github.com/memkernel/memkernel/acl"
)

// Sentinel errors; compare with errors.Is. Every error of a syscall is an *OpError around
// one of them.
var (
	// ErrUnauthenticated: no identity, or a credential that is unknown, expired or revoked.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden: the role or a policy refuses the call.
	ErrForbidden = errors.New("forbidden")
	// ErrTenantSuspended: the caller's tenant is suspended or unknown.
	ErrTenantSuspended = errors.New("tenant suspended")
	// ErrRateLimited: too many calls; the error is a *RateLimitError.
	ErrRateLimited = errors.New("rate limited")
	// ErrNotFound: the thing does not exist or the caller may not see it. Which of the two
	// is not told.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request is malformed; the error is an *InvalidError.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: the call lost against other changes or contradicts the state of things.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: the database or something else that the answer depends on is out of reach.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge: an input is over its limit; the error is a *TooLargeError.
	ErrTooLarge = errors.New("too large")
	// ErrViewClosed: a driver used its view after the call that it was made for.
	ErrViewClosed = errors.New("view closed")
	// ErrInternal: a fault of the kernel or of a plugged-in part. The cause is logged, not returned.
	ErrInternal = errors.New("internal error")
)

// OpError is what every syscall returns on failure: the operation and why.
type OpError struct {
	// Op is the operation that failed.
	Op acl.Op
	// Err is or wraps one of the sentinels, or is the context's error.
	Err error
}

// Error returns the operation and the cause.
func (e *OpError) Error() string { return string(e.Op) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// InvalidError is an ErrInvalid that names the field and what is wrong with it.
type InvalidError struct {
	// Field is the request field, for example "Text".
	Field string
	// Reason says which rule was broken, with its limit.
	Reason string
}

// Error returns the field and the reason.
func (e *InvalidError) Error() string { return "invalid " + e.Field + ": " + e.Reason }

// Is makes errors.Is(err, ErrInvalid) true.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// TooLargeError is an ErrTooLarge that names the field, its size and the limit.
type TooLargeError struct {
	// Field is the request field, for example "Text".
	Field string
	// Size is what was given and Limit the most that is accepted, both in Unit.
	Size, Limit int64
	// Unit is what Size and Limit count, for example "bytes".
	Unit string
}

// Error returns the field, its size and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s too large: %d %s, at most %d", e.Field, e.Size, e.Unit, e.Limit)
}

// Is makes errors.Is(err, ErrTooLarge) true.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// RateLimitError is an ErrRateLimited that says when a retry can succeed.
type RateLimitError struct {
	// RetryAfter is how long to wait; never negative.
	RetryAfter time.Duration
}

// Error returns the waiting time.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("rate limited: retry after %s", e.RetryAfter.Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrRateLimited) true.
func (e *RateLimitError) Is(target error) bool { return target == ErrRateLimited }
