package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// eager is a way to answer and record a call in one round trip. It decides on policy and sends
// a statement that rests on known, of which policy is the meaning; sent reports that it has
// been sent, and cur.answered that it brought the answer.
type eager func(ctx context.Context, cur *current, known *store.Known, policy *mem.EffectivePolicy) (sent bool, err error)

// eagerly tries the call in one round trip: on the policies that were read last, as long as
// they limit no rates, with a statement that decides on its own whether the caller is let in
// under exactly these, and that records the answer with it. done reports that it was. If not,
// and there is no error, nothing has happened and the call takes the long way.
//
// An error leaves open whether the audit row was committed; settle finds out. What goes wrong
// before the statement that asks for admission is not for a caller to know who may not be let
// in: the long way meets it again.
func (k *Kernel) eagerly(ctx context.Context, c *call, cur *current) (done bool, err error) {
	if c.eager == nil {
		return false, nil
	}
	known := k.store.Known(c.who)
	if known == nil {
		return false, nil
	}
	policy := mem.MergePolicies(known.Policies)
	if _, limited := policy.RateLimit(c.op); limited {
		return false, nil
	}
	if c.who.KeyID() == "" && checkKey(c.who, k.issuer, false, time.Time{}, time.Time{}, cur.now) != nil {
		return false, nil //nolint:nilerr // refused by the gate, which says why
	}
	before := *cur
	k.setPolicy(c, cur, known, policy)
	sent, err := c.eager(ctx, cur, known, &policy)
	if errors.Is(err, writepath.ErrStale) || (err != nil && !sent && ctx.Err() == nil) {
		cur.answered, err = false, nil
	}
	if !cur.answered {
		// What was believed of the policies must not show.
		*cur = before
	}
	return cur.answered, err
}
