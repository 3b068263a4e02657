package kernel

import (
	"context"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// serve turns a ranking into the answer.
func (s *search) serve(ctx context.Context, cur *current, ranked []pick, reply *SearchReply) (*SearchReply, error) {
	if done, err := s.serveRecorded(ctx, cur, cur.known, ranked, reply); err != nil {
		return nil, err
	} else if done {
		return reply, nil
	}
	if err := s.fill(ctx, ranked, reply); err != nil {
		return nil, err
	}
	for i := range reply.Items {
		cur.served = append(cur.served, reply.Items[i].Memory.ID)
	}
	describeSearch(cur, reply)
	return reply, nil
}

// serveRecorded re-reads the ranked rows together with the commit of the audit row that says that
// all of them are served. If one of them has ended meanwhile, nothing is recorded, and the rows are
// read again to see what is left.
func (s *search) serveRecorded(
	ctx context.Context, cur *current, known *store.Known, ranked []pick, reply *SearchReply,
) (done bool, err error) {
	want := *reply
	ids := make([]mem.ID, 0, len(ranked))
	for _, r := range ranked {
		if s.fits(&want, r.tokens) {
			want.Items = append(want.Items, SearchItem{Score: r.Score})
			ids = append(ids, r.Ref)
		}
	}
	if len(ids) == 0 || known == nil || cur.again {
		return false, nil
	}
	before := cur.detail
	describeSearch(cur, &want)
	event, filter := cur.finish(), s.filter()
	found, recorded, err := s.k.store.ServeRecorded(ctx, s.who, known, &filter, ids, &event)
	if err != nil || !recorded {
		cur.detail = before
		return false, err
	}
	for i, id := range ids {
		want.Items[i].Memory = found[id]
	}
	cur.recorded = true
	*reply = want
	return true, nil
}

// fits reports whether a row of so many tokens goes into the reply, and counts it there.
func (s *search) fits(reply *SearchReply, tokens int) bool {
	if len(reply.Items) > 0 && s.query.TokenBudget > 0 && reply.Tokens+tokens > s.query.TokenBudget {
		reply.OverBudget++
		return false
	}
	reply.Tokens += tokens
	return true
}

// fill re-reads the ranked rows and serves those that still are what the view showed.
func (s *search) fill(ctx context.Context, ranked []pick, reply *SearchReply) error {
	ids := make([]mem.ID, len(ranked))
	for i, r := range ranked {
		ids[i] = r.Ref
	}
	filter := s.filter()
	found, err := s.k.store.Serve(ctx, s.who.Scope(), &filter, ids)
	if err != nil {
		return err
	}
	for _, r := range ranked {
		m, ok := found[r.Ref]
		if !ok || !s.fits(reply, m.Tokens) {
			continue
		}
		reply.Items = append(reply.Items, SearchItem{Memory: m, Score: r.Score})
	}
	return nil
}

func describeSearch(cur *current, reply *SearchReply) {
	cur.detail.Int("returned", int64(len(reply.Items))).Int("tokens", int64(reply.Tokens)).Str("driver", reply.Driver)
	for _, f := range reply.Fallbacks {
		cur.detail.Str("driver_fallback", f.Driver+"->"+baseline.Name).Str("fallback_reason", f.Reason)
	}
	if reply.Violations > 0 {
		cur.detail.Int("driver_violations", int64(reply.Violations))
	}
	for _, b := range reply.Degraded {
		cur.detail.Str("brownout", string(b))
	}
	if len(reply.Items) == 0 {
		cur.event.Result = audit.ResultMiss
	}
}
