package mem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

var sentinels = []error{
	mem.ErrUnauthenticated, mem.ErrForbidden, mem.ErrTenantSuspended, mem.ErrRateLimited, mem.ErrNotFound, mem.ErrInvalid,
	mem.ErrConflict, mem.ErrUnavailable, mem.ErrTooLarge, mem.ErrViewClosed, mem.ErrInternal,
}

func TestErrorsMatchOneSentinel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{&mem.InvalidError{Field: "Text", Reason: "it is blank"}, mem.ErrInvalid, "invalid Text: it is blank"},
		{
			&mem.TooLargeError{Field: "Query", Size: 11, Limit: 10, Unit: "bytes"}, mem.ErrTooLarge,
			"Query too large: 11 bytes, at most 10",
		},
		{&mem.RateLimitError{RetryAfter: 1500*time.Millisecond + 300*time.Microsecond}, mem.ErrRateLimited, "rate limited: retry after 1.5s"},
		{mem.ErrNotFound, mem.ErrNotFound, "not found"},
		{fmt.Errorf("%w: policy forbids writing", mem.ErrForbidden), mem.ErrForbidden, "forbidden: policy forbids writing"},
	} {
		op := &mem.OpError{Op: acl.OpWrite, Err: c.err}
		for _, err := range []error{c.err, op, fmt.Errorf("host: %w", op)} {
			for _, s := range sentinels {
				require.Equal(t, s == c.is, errors.Is(err, s), "%v is %v", err, s) //nolint:errorlint // identity is meant
			}
		}
		require.Equal(t, c.text, c.err.Error())
		require.Equal(t, "write: "+c.text, op.Error())
		require.Equal(t, c.err, errors.Unwrap(op))
	}
}

func TestErrorsCarryTheirData(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return fmt.Errorf("host: %w", &mem.OpError{Op: acl.OpSearch, Err: err}) }

	var op *mem.OpError
	require.ErrorAs(t, wrap(mem.ErrNotFound), &op)
	require.Equal(t, acl.OpSearch, op.Op)

	var invalid *mem.InvalidError
	require.ErrorAs(t, wrap(&mem.InvalidError{Field: "K"}), &invalid)
	require.Equal(t, "K", invalid.Field)

	var large *mem.TooLargeError
	require.ErrorAs(t, wrap(&mem.TooLargeError{Field: "Text", Size: 2, Limit: 1}), &large)
	require.Equal(t, int64(1), large.Limit)

	var limited *mem.RateLimitError
	require.ErrorAs(t, wrap(&mem.RateLimitError{RetryAfter: time.Minute}), &limited)
	require.Equal(t, time.Minute, limited.RetryAfter)

	require.ErrorIs(t, wrap(context.Canceled), context.Canceled)
}
