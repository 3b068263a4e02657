package kernel

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Room is made for several callers at a time: in a flood of new ones the kernel does not look
// at all the others for each.
func TestLimiterMakesRoomForSeveral(t *testing.T) {
	t.Parallel()
	l := newLimiter(160)
	now := time.Unix(1, 0)
	for i := range 161 {
		require.NoError(t, l.take(strconv.Itoa(i), acl.OpStats, mem.RateLimit{PerSecond: 0.001, Burst: 1}, now))
	}
	require.Len(t, l.buckets, 151)
	require.Error(t, l.take("160", acl.OpStats, mem.RateLimit{PerSecond: 0.001, Burst: 1}, now), "the new one is remembered")

	one := newLimiter(1)
	for i := range 3 {
		require.NoError(t, one.take(strconv.Itoa(i), acl.OpStats, mem.RateLimit{PerSecond: 0.001, Burst: 1}, now))
		require.Len(t, one.buckets, 1)
	}
}
