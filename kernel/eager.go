package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// eagerly tries the call in one round trip: on the policies that were read last, as long as
// they limit no rates, with a statement that decides on its own whether the caller is let in
// under exactly these, and that records the answer with it. done reports that it was. If not,
// and there is no error, nothing has happened and the call takes the long way.
//
// An error leaves open whether the audit row was committed; settle finds out.
func (k *Kernel) eagerly(ctx context.Context, c *call, cur *current) (done bool, err error) {
	if c.eager == nil {
		return false, nil
	}
	policies, ok := k.store.KnownPolicies(c.who)
	if !ok {
		return false, nil
	}
	policy := mem.MergePolicies(policies)
	if _, limited := policy.RateLimit(c.op); limited {
		return false, nil
	}
	if c.who.KeyID() == "" && checkKey(c.who, k.issuer, false, time.Time{}, time.Time{}, cur.now) != nil {
		return false, nil //nolint:nilerr // refused by the gate, which says why
	}
	before := cur.event
	cur.setPolicy(c, policy)
	err = c.eager(ctx, cur, &policy)
	if errors.Is(err, writepath.ErrStale) {
		cur.event, cur.detail, cur.answered, cur.recorded = before, audit.Detail{}, false, false
		return false, nil
	}
	return cur.answered, err
}
