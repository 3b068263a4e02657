package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// Check is an attempt at comparing a memory with its neighbours.
type Check struct {
	Memory    mem.ID
	Namespace acl.Namespace
	// Attempt counts them since the memory was marked.
	Attempt int
	// Waited is how long ago the memory was marked, or was claimed first by whoever's clock is behind
	// that of whoever marked it.
	Waited time.Duration

	// seq is the number of the mark, which with the attempt is the fence. It orders checks by which
	// memory came first.
	seq int64
	// replaces is what the memory's writer wants it to replace, zero for nothing.
	replaces mem.ID
	place    place
	// embedded reports that it has a vector of the kernel's model, held that it is held.
	embedded, held bool
}

func (c *Check) tenant() string { return c.Namespace.Tenant() }

func toChecks[R queries.CheckClaimManyRow | queries.CheckClaimRow](rows []R) []Check {
	out := make([]Check, len(rows))
	for i := range rows {
		r := queries.CheckClaimManyRow(rows[i])
		out[i] = Check{
			Memory: mem.ID(r.MemoryID), Namespace: namespaceOf(r.Namespace), Attempt: int(r.Attempts),
			Waited: time.Duration(r.Waited * float64(time.Second)), seq: r.Seq,
			replaces: mem.ID(value(r.Replaces)), embedded: r.Embedded, held: r.Held,
			place: place{ID: r.Ns, TenantID: r.TenantID},
		}
	}
	return out
}

// checkModel is the model whose vectors are compared, 0 if the database has none of it.
func (s *Store) checkModel(ctx context.Context) (int32, error) {
	model, err := s.readModelID(ctx)
	if errors.Is(err, errNoModel) {
		return 0, nil
	}
	return model, err
}

// ClaimChecks begins attempts at what is to be checked by now, of all tenants that are served,
// those that came first, and keeps other workers off it until a time.
func (s *Store) ClaimChecks(ctx context.Context, now, until time.Time, limit int) ([]Check, error) {
	model, err := s.checkModel(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := queries.New(s.conn()).CheckClaimMany(ctx, queries.CheckClaimManyParams{
		Now: now, Until: until, Model: model, MaxRows: int32(limit), //nolint:gosec // a constant
	})
	if err != nil {
		return nil, mapErr(err)
	}
	return inSequence(toChecks(rows)), nil
}

// ClaimCheck is ClaimChecks for some memories. It claims none that is not to be checked now.
func (s *Store) ClaimCheck(ctx context.Context, tenant string, ids []mem.ID, now, until time.Time) ([]Check, error) {
	model, err := s.checkModel(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := queries.New(s.conn()).CheckClaim(ctx, queries.CheckClaimParams{
		Tenant: tenant, Ids: idStrings(ids), Now: now, Until: until, Model: model, MaxRows: int32(len(ids)), //nolint:gosec // those of a job
	})
	if err != nil {
		return nil, mapErr(err)
	}
	return inSequence(toChecks(rows)), nil
}

// inSequence orders checks by which memory came first.
func inSequence(checks []Check) []Check {
	slices.SortFunc(checks, func(a, b Check) int { return cmp.Compare(a.seq, b.seq) })
	return checks
}

const (
	// trustedPlaces is how many of the memories that one is compared with may be nearer than others
	// because they are more trusted, and barePlaces because they have no vector: the nearest might
	// be of anybody's making, and hide them.
	trustedPlaces, barePlaces = 3, 3
	// trustedPool is how many of the nearest are looked through for those that are more trusted,
	// wordPool how many of those with the same words for any.
	trustedPool, wordPool = maxViewRows, 10 * maxViewRows
)

// neighbour is what a memory is to be compared with; cosine is nil if it is not known.
type neighbour struct {
	id     mem.ID
	cosine *mem.Cosine
}

// neighbours are those of one memory, the nearest first.
type neighbours struct {
	// head is what it is to replace by now, zero for nothing.
	head mem.ID
	near []neighbour
	// trusted are of a class that outranks its own, bare have no vector while it has one.
	trusted, bare []neighbour
}

// chosen returns what a memory is compared with, and what it is to replace first.
func (n *neighbours) chosen() []neighbour {
	var out []neighbour
	add := func(list []neighbour) {
		for _, x := range list {
			known := slices.ContainsFunc(out, func(o neighbour) bool { return o.id == x.id })
			if !known && len(out) < conflict.MaxCandidates {
				out = append(out, x)
			}
		}
	}
	if !n.head.IsZero() {
		add([]neighbour{{id: n.head}})
	}
	add(n.trusted[:min(len(n.trusted), trustedPlaces)])
	add(n.bare[:min(len(n.bare), barePlaces)])
	for _, list := range [][]neighbour{n.near, n.trusted, n.bare} {
		add(list)
	}
	return out
}

// classes returns the classes of provenance above a rank.
func classes(above int) []string {
	out := []string{}
	for _, p := range mem.Provenances() {
		if p.Rank() > above {
			out = append(out, string(p))
		}
	}
	return out
}

// Questions reads what is to be judged in each of some checks now, in order: for the kernel's own
// worker, which must show none of it to anybody but the model, and to that only what may go there.
// The question of a memory that was erased has no Incoming. One about a memory that is too long
// to be compared has no candidates, and a text that is too long is empty.
func (s *Store) Questions(ctx context.Context, checks []Check, now time.Time) ([]conflict.Question, error) {
	if len(checks) == 0 {
		return nil, nil
	}
	model, err := s.checkModel(ctx)
	if err != nil {
		return nil, err
	}
	own, err := s.checkMemories(ctx, checks, func(i int) []mem.ID { return []mem.ID{checks[i].Memory} }, now)
	if err != nil {
		return nil, err
	}
	found, err := s.lookAround(ctx, checks, own, model, now)
	if err != nil {
		return nil, err
	}
	others, err := s.checkMemories(ctx, checks, func(i int) (ids []mem.ID) {
		for _, n := range found[i].chosen() {
			ids = append(ids, n.id)
		}
		return ids
	}, now)
	if err != nil {
		return nil, err
	}
	out := make([]conflict.Question, len(checks))
	for i := range checks {
		out[i] = question(&checks[i], own, others, &found[i])
	}
	return out, nil
}

// lookAround finds the neighbours of the memories of checks.
func (s *Store) lookAround(ctx context.Context, checks []Check, own checkFound, model int32, now time.Time) ([]neighbours, error) {
	found, bare := make([]neighbours, len(checks)), map[place]*bool{}
	var steps []queries.Step
	for i := range checks {
		c := &checks[i]
		in := own.get(c, c.Memory)
		if c.held {
			steps = append(steps, checkHead(c, now, &found[i].head))
		}
		if !c.embedded || !contradictory(in) {
			continue
		}
		steps = append(steps, s.nearest(c, model, now, classes(-1), math.MaxInt32, &found[i].near))
		if trusted := classes(in.Provenance.Rank()); len(trusted) > 0 {
			steps = append(steps, s.nearest(c, model, now, trusted, trustedPool, &found[i].trusted))
		}
		if bare[c.place] == nil {
			bare[c.place] = new(bool)
			steps = append(steps, checkBare(c, model, bare[c.place]))
		}
	}
	if err := s.run(ctx, steps...); err != nil {
		return nil, err
	}
	for i := range checks {
		c := &checks[i]
		in := own.get(c, c.Memory)
		if !contradictory(in) || c.embedded && !*bare[c.place] {
			continue
		}
		if err := s.nearWords(ctx, c, in, model, now, &found[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// contradictory reports whether a memory, nil if it was erased, can contradict others.
func contradictory(m *mem.Memory) bool {
	return m != nil && m.Text != "" && m.Current() && m.Kind != mem.KindRaw
}

// nearest returns the step that ranks the neighbours of a memory by its vector: those of some
// classes among the nearest of a pool.
func (s *Store) nearest(c *Check, model int32, now time.Time, classes []string, pool int32, out *[]neighbour) queries.Step {
	p := queries.CheckNearestParams{
		Tenant: c.tenant(), Namespace: c.Namespace.String(), MemoryID: uuid.UUID(c.Memory), Seq: c.seq, Model: model, Now: now, Pool: pool,
		TenantID: c.place.TenantID, Ns: c.place.ID, Classes: classes,
		MaxBytes: conflict.MaxTextBytes, MaxRows: conflict.MaxCandidates,
	}
	return func(ctx context.Context, q *queries.Queries) error {
		var rows []queries.CheckNearestRow
		var err error
		if s.models.info.Dim > maxCoveredDim {
			var wide []queries.CheckNearestWideRow
			wide, err = q.CheckNearestWide(ctx, queries.CheckNearestWideParams(p))
			for _, r := range wide {
				rows = append(rows, queries.CheckNearestRow(r))
			}
		} else {
			rows, err = q.CheckNearest(ctx, p)
		}
		*out = nil
		for _, r := range rows {
			cosine := cosineOf(r.Distance)
			*out = append(*out, neighbour{id: mem.ID(r.ID), cosine: &cosine})
		}
		return err
	}
}

func checkHead(c *Check, now time.Time, out *mem.ID) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CheckHead(ctx, queries.CheckHeadParams{
			Tenant: c.tenant(), Namespace: c.Namespace.String(), MemoryID: uuid.UUID(c.Memory), Replaces: optionalID(c.replaces), Now: now,
		})
		*out = mem.ID{}
		if err == nil && len(rows) > 0 {
			*out = mem.ID(rows[0])
		}
		return err
	}
}

func checkBare(c *Check, model int32, out *bool) queries.Step {
	return func(ctx context.Context, q *queries.Queries) (err error) {
		*out, err = q.CheckBare(ctx, queries.CheckBareParams{
			Tenant: c.tenant(), Namespace: c.Namespace.String(), TenantID: c.place.TenantID, Ns: c.place.ID, Model: model,
		})
		return err
	}
}

// nearWords ranks by its words the neighbours of a memory without a vector or, of one that has
// one, those that have none.
func (s *Store) nearWords(ctx context.Context, c *Check, in *mem.Memory, model int32, now time.Time, out *neighbours) error {
	f, hashes := newLexicalFetch(in.Text)
	if len(hashes) == 0 {
		return nil
	}
	if err := s.run(ctx, s.plainLexical(f, c.tenant(), []string{c.Namespace.String()}, hashes, now)...); err != nil {
		return err
	}
	scored, err := f.rank(wordPool)
	if err != nil || len(scored) == 0 {
		return err
	}
	ids := make([]mem.ID, len(scored))
	for i := range scored {
		ids[i] = mem.ID(scored[i].ID)
	}
	ranked := func(classes []string, to *[]neighbour) queries.Step {
		return func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.CheckRanked(ctx, queries.CheckRankedParams{
				Tenant: c.tenant(), Namespace: c.Namespace.String(), MemoryID: uuid.UUID(c.Memory), Seq: c.seq, Now: now, Ids: idStrings(ids),
				Classes: classes, Bare: c.embedded, TenantID: c.place.TenantID, Model: model,
				MaxBytes: conflict.MaxTextBytes, MaxRows: conflict.MaxCandidates,
			})
			*to = nil
			for _, id := range rows {
				*to = append(*to, neighbour{id: mem.ID(id)})
			}
			return err
		}
	}
	if c.embedded {
		return s.run(ctx, ranked(classes(-1), &out.bare))
	}
	steps := []queries.Step{ranked(classes(-1), &out.near)}
	if trusted := classes(in.Provenance.Rank()); len(trusted) > 0 {
		steps = append(steps, ranked(trusted, &out.trusted))
	}
	return s.run(ctx, steps...)
}

// checkKey names a memory of a tenant.
type checkKey struct {
	tenant string
	id     mem.ID
}

type checkFound map[checkKey]*mem.Memory

func (f checkFound) get(c *Check, id mem.ID) *mem.Memory { return f[checkKey{c.tenant(), id}] }

// checkMemories reads memories of the namespaces of checks: those that ids returns for each.
func (s *Store) checkMemories(ctx context.Context, checks []Check, ids func(i int) []mem.ID, now time.Time) (checkFound, error) {
	p := queries.CheckMemoryManyParams{MaxBytes: conflict.MaxTextBytes}
	for i := range checks {
		for _, id := range ids(i) {
			p.Tenants = append(p.Tenants, checks[i].tenant())
			p.Namespaces = append(p.Namespaces, checks[i].Namespace.String())
			p.Ids = append(p.Ids, id.String())
		}
	}
	if len(p.Ids) == 0 {
		return nil, nil
	}
	p.MaxRows = int32(len(p.Ids)) //nolint:gosec // a batch of questions
	rows, err := queries.New(s.conn()).CheckMemoryMany(ctx, p)
	if err != nil {
		return nil, mapErr(err)
	}
	out := checkFound{}
	for i := range rows {
		row := memoryRow(rows[i])
		m := toMemory(&row, now)
		out[checkKey{m.Namespace.Tenant(), m.ID}] = &m
	}
	return out, nil
}

func question(c *Check, own, others checkFound, around *neighbours) conflict.Question {
	q := conflict.Question{Incoming: own.get(c, c.Memory)}
	if q.Incoming == nil {
		return q
	}
	for _, n := range around.chosen() {
		m := others.get(c, n.id)
		if m == nil {
			continue
		}
		if n.id == around.head {
			q.Replaces = n.id
		}
		q.Candidates = append(q.Candidates, conflict.Candidate{Memory: m, Cosine: n.cosine})
	}
	return q
}

// hold returns the step that finds out whether the attempt is still to decide, and keeps it so.
func (c *Check) hold(held *bool) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CheckHold(ctx, queries.CheckHoldParams{
			Tenant: c.tenant(), MemoryID: uuid.UUID(c.Memory), Seq: c.seq, Attempts: int32(c.Attempt), //nolint:gosec // counted by the database
		})
		*held = err == nil && len(rows) > 0
		return err
	}
}

// done returns the step that ends the attempt.
func (c *Check) done() queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.CheckDone(ctx, queries.CheckDoneParams{
			Tenant: c.tenant(), MemoryID: uuid.UUID(c.Memory), Seq: c.seq, Attempts: int32(c.Attempt), //nolint:gosec // counted by the database
		})
		return err
	}
}

// FinishChecks ends attempts that leave everything as it is. What is not theirs to end any more
// stays.
func (s *Store) FinishChecks(ctx context.Context, checks []Check) error {
	if len(checks) == 0 {
		return nil
	}
	var p queries.CheckDoneManyParams
	p.Tenants, p.Ids, p.Seqs, p.Attempts = checkColumns(checks)
	return mapErr(queries.New(s.conn()).CheckDoneMany(ctx, p))
}

// DeferChecks ends attempts that decided nothing; each is due again at a time. With uncounted they
// are as if they had not been made.
func (s *Store) DeferChecks(ctx context.Context, checks []Check, now, until time.Time, uncounted bool) error {
	if len(checks) == 0 {
		return nil
	}
	p := queries.CheckDeferManyParams{Now: now, Until: until, Uncounted: uncounted}
	p.Tenants, p.Ids, p.Seqs, p.Attempts = checkColumns(checks)
	return mapErr(queries.New(s.conn()).CheckDeferMany(ctx, p))
}

func checkColumns(checks []Check) (tenants, ids []string, seqs []int64, attempts []int32) {
	for i := range checks {
		tenants = append(tenants, checks[i].tenant())
		ids = append(ids, checks[i].Memory.String())
		seqs = append(seqs, checks[i].seq)
		attempts = append(attempts, int32(checks[i].Attempt)) //nolint:gosec // counted by the database
	}
	return tenants, ids, seqs, attempts
}

func markCheck(tenant, namespace string, id mem.ID, now time.Time) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		return q.CheckMark(ctx, queries.CheckMarkParams{Tenant: tenant, MemoryID: uuid.UUID(id), Namespace: namespace, MarkedAt: now})
	}
}

// CheckStats counts what is to be checked.
type CheckStats struct {
	Waiting int64
	// Oldest is when the first of it was written, the zero time if there is none.
	Oldest time.Time
}

// Checks returns the step that counts what is to be checked in the visible namespaces.
func (s *Store) Checks(scope acl.Scope, out *CheckStats) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		r, err := q.CheckStats(ctx, queries.CheckStatsParams{Tenant: scope.Tenant(), Namespaces: scope.Namespaces()})
		if err != nil {
			return err
		}
		*out = CheckStats{Waiting: r.Waiting}
		if r.Waiting > 0 {
			out.Oldest = r.Oldest.UTC()
		}
		return nil
	}
}
