package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestWriteManyExpiry: many writes at once find the places of expired texts free, keep their own
// ends, and refuse what has ended before it began.
func TestWriteManyExpiry(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	writes := []kernel.WriteRequest{{Text: "The oven is hot.", ExpiresAt: at}, {Text: "Soup is on.", ExpiresAt: at}, {Text: "Bread is out."}}
	many := func() []kernel.WriteResult {
		return must(k.WriteMany(t.Context(), dana, kernel.WriteManyRequest{Writes: writes})).Results
	}
	first := many()
	for _, r := range first {
		require.NoError(t, r.Err)
		require.Len(t, r.Reply.Stored, 1)
	}
	require.Equal(t, at, must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: first[1].Reply.Stored[0]})).Memory.ExpiresAt)
	k.Clock.Advance(time.Hour)
	var invalid *kernel.InvalidError
	require.ErrorAs(t, many()[0].Err, &invalid)
	require.Equal(t, "ExpiresAt", invalid.Field)
	writes[0].ExpiresAt, writes[1].ExpiresAt = time.Time{}, time.Time{}
	second := many()
	require.Len(t, second[0].Reply.Stored, 1)
	require.Len(t, second[1].Reply.Stored, 1)
	require.Len(t, second[2].Reply.Deduplicated, 1)
	requireSound(t, k.Pool)
}
