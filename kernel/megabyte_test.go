package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

const megabyte = 1 << 20

// megabytes is texts of exactly one megabyte that each strain something else.
func megabytes() map[string]string {
	var distinct strings.Builder
	for i := 0; distinct.Len() < megabyte; i++ {
		fmt.Fprintf(&distinct, "w%x ", i*7919)
	}
	return map[string]string{
		"one word":       strings.Repeat("x", megabyte),
		"distinct words": distinct.String()[:megabyte],
		"one character":  "a" + strings.Repeat("\u0301", (megabyte-1)/2) + "b",
		"white space":    "x" + strings.Repeat("\n", megabyte-1),
		"forged pairs":   strings.Repeat("\na=b \"", megabyte/6) + "abcd",
	}
}

// The limits are inclusive, and one byte more is told by name, size and limit and changes
// nothing.
func TestMegabyteOfTextAndQuery(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme", kernel.RoleMember)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // what grows with the text takes a second; its square, hours
	defer cancel()
	for name, text := range megabytes() {
		require.Len(t, text, megabyte, name)
		rep, err := k.Write(ctx, who, kernel.WriteRequest{Text: text})
		require.NoError(t, err, name)
		got, err := k.Read(ctx, who, kernel.ReadRequest{ID: rep.Stored[0]})
		require.NoError(t, err, name)
		require.True(t, text == got.Memory.Text, "%s is kept as it is", name)
		again, err := k.Write(ctx, who, kernel.WriteRequest{Text: text})
		require.NoError(t, err, name)
		require.Equal(t, rep.Stored, again.Deduplicated, name)
		_, err = k.Retract(ctx, who, kernel.RetractRequest{ID: rep.Stored[0]})
		require.NoError(t, err, name)
	}
	query := strings.Repeat("when? ", megabyte/6) + "when"
	require.Len(t, query, megabyte)
	found, err := k.Search(ctx, who, kernel.SearchRequest{Query: query})
	require.NoError(t, err)
	require.Empty(t, found.Degraded)
	over := strings.Repeat("x", megabyte+1)
	k.RequireAudit(t, "write", "error", func() {
		_, err := k.Write(ctx, who, kernel.WriteRequest{Text: over})
		requireTooLarge(t, err, "Text", megabyte)
	}, "reason=too_large")
	k.RequireAudit(t, "search", "error", func() {
		_, err := k.Search(ctx, who, kernel.SearchRequest{Query: over})
		requireTooLarge(t, err, "Query", megabyte)
	}, "reason=too_large")
	stats, err := k.Stats(ctx, who, kernel.StatsRequest{})
	require.NoError(t, err)
	require.Zero(t, stats.Live)
}

func requireTooLarge(t *testing.T, err error, field string, limit int64) {
	t.Helper()
	var large *kernel.TooLargeError
	require.ErrorAs(t, err, &large)
	require.Equal(t, kernel.TooLargeError{Field: field, Size: limit + 1, Limit: limit, Unit: "bytes"}, *large)
}

// Other limits of the host and of a policy are inclusive as well.
func TestSmallerLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithLimits(kernel.Limits{MaxTextBytes: 20, MaxQueryBytes: 10}))
	ctx := t.Context()
	who := k.Key("acme", kernel.RoleOwner)
	_, err := k.Write(ctx, who, kernel.WriteRequest{Text: strings.Repeat("x", 20)})
	require.NoError(t, err)
	_, err = k.Write(ctx, who, kernel.WriteRequest{Text: strings.Repeat("x", 21)})
	requireTooLarge(t, err, "Text", 20)
	_, err = k.Search(ctx, who, kernel.SearchRequest{Query: strings.Repeat("é", 5)})
	require.NoError(t, err)
	_, err = k.Search(ctx, who, kernel.SearchRequest{Query: strings.Repeat("é", 5) + "x"})
	requireTooLarge(t, err, "Query", 10)
	_, err = k.Policies().Put(ctx, who, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{MaxBytes: 7}}})
	require.NoError(t, err)
	_, err = k.Write(ctx, who, kernel.WriteRequest{Text: "1234567"})
	require.NoError(t, err)
	_, err = k.Write(ctx, who, kernel.WriteRequest{Text: "12345678"})
	requireTooLarge(t, err, "Text", 7)
}

// Numbers and times at and beyond the ends of their ranges are served or refused by name.
func TestHostileNumbersAndTimes(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme", kernel.RoleOwner)
	stored, err := k.Write(ctx, who, kernel.WriteRequest{Text: "A fact."})
	require.NoError(t, err)
	id := stored.Stored[0]
	check := func(field string, value any, err error) {
		t.Helper()
		if err != nil && fieldOf(err) != field {
			require.NoError(t, err, "%s = %v", field, value)
		}
	}
	for _, n := range []int{math.MinInt, -1, 0, 1, 100, 101, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt} {
		_, err := k.Search(ctx, who, kernel.SearchRequest{Query: "fact", K: n})
		check("K", n, err)
		_, err = k.Search(ctx, who, kernel.SearchRequest{Query: "fact", TokenBudget: n})
		check("TokenBudget", n, err)
		_, err = k.History(ctx, who, kernel.HistoryRequest{ID: id, Limit: n})
		check("Limit", n, err)
		for _, err := range k.AuditSearch(ctx, who, kernel.AuditSearchRequest{Limit: n}) {
			check("Limit", n, err)
		}
		_, err = k.Keys().Rotate(ctx, who, kernel.RotateKeyRequest{Overlap: time.Duration(n)})
		if err == nil || fieldOf(err) != "Overlap" {
			require.ErrorIs(t, err, kernel.ErrNotFound)
		}
	}
	for _, at := range []time.Time{
		{},
		time.Unix(0, 0), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-4800, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0),
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("far", 23*3600)),
	} {
		_, err := k.Read(ctx, who, kernel.ReadRequest{ID: id, AsOf: at})
		if err == nil || fieldOf(err) != "AsOf" {
			require.True(t, err == nil || errors.Is(err, kernel.ErrNotFound), "%s: %v", at, err)
		}
		_, err = k.Search(ctx, who, kernel.SearchRequest{Query: "fact", AsOf: at})
		check("AsOf", at, err)
		_, err = k.Search(ctx, who, kernel.SearchRequest{Query: "fact", From: at})
		check("From", at, err)
		_, err = k.Search(ctx, who, kernel.SearchRequest{Query: "fact", To: at})
		check("To", at, err)
		_, err = k.Write(ctx, who, kernel.WriteRequest{Text: "At " + at.String(), EventTime: at})
		check("EventTime", at, err)
		_, err = k.Write(ctx, who, kernel.WriteRequest{Text: "Until " + at.String(), EventTime: time.Unix(0, 0), EventEnd: at})
		check("EventEnd", at, err)
		_, err = k.History(ctx, who, kernel.HistoryRequest{ID: id, After: &kernel.Memory{ValidFrom: at}})
		check("After", at, err)
		_, err = k.Keys().Create(ctx, who, kernel.KeyRequest{Actor: "a", Role: kernel.RoleAgent, ExpiresAt: at})
		check("ExpiresAt", at, err)
		for _, err := range k.AuditSearch(ctx, who, kernel.AuditSearchRequest{From: at, Limit: 1}) {
			check("From", at, err)
		}
		for _, err := range k.AuditSearch(ctx, who, kernel.AuditSearchRequest{To: at, Limit: 1}) {
			check("To", at, err)
		}
	}
}
