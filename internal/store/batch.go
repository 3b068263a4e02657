package store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
)

// Batch is writes of one caller that are looked at together and committed in one transaction.
type Batch struct {
	store  *Store
	writes []*Write
	// tx is set inside Serialized.
	tx    pgx.Tx
	place place
	// entities and aliases are what the mentions of the drafts may mean.
	entities []Entity
	aliases  EntityNames
}

// NewBatch returns the batch of some writes of one caller. They can still be committed each on its own.
func (s *Store) NewBatch(writes []*Write) *Batch { return &Batch{store: s, writes: writes} }

func (b *Batch) who() acl.Identity { return b.writes[0].Who }

func (b *Batch) conn() conn {
	if b.tx != nil {
		return b.tx
	}
	return b.store.conn()
}

// Keep is Write.Keep for all of them, in one transaction or, if one of them is kept already, each in
// its own: then the error is that of the first that was not.
func (b *Batch) Keep(ctx context.Context) error {
	var fresh []*Write
	for _, w := range b.writes {
		if !w.captured && w.Attempt == 0 && !b.store.InTx() {
			fresh = append(fresh, w)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	var rows captures
	for _, w := range fresh {
		rows = append(rows, w.capture(capturePending, nil))
	}
	err := b.store.run(ctx, rows.insert()...)
	if errors.Is(err, writepath.ErrStale) && len(fresh) > 1 {
		var first error
		for _, w := range fresh {
			if err := w.Keep(ctx); err != nil && first == nil {
				first = err
			}
		}
		return first
	}
	for _, w := range fresh {
		w.captured = err == nil
	}
	return err
}

// State reads what bears on the drafts, one state for each write.
func (b *Batch) State(ctx context.Context, states ...*writepath.State) error {
	for _, st := range states {
		*st = writepath.State{}
	}
	return mapErr(queries.Pipeline(ctx, b.conn(), b.Probe(states...)...))
}

// Serialized runs fn in one transaction, into which Keep, State and Apply of the batch go, and in
// whose way no other serialized writer of the namespace can get.
func (b *Batch) Serialized(ctx context.Context, fn func() error) error {
	return b.store.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := queries.New(tx).WriteLock(ctx, queries.WriteLockParams{Namespace: b.who().Namespace().String()}); err != nil {
			return mapErr(err)
		}
		b.tx = tx
		defer func() { b.tx = nil }()
		return fn()
	})
}

// Part is what one call has in a batch's transaction: a write and what was decided on its drafts,
// or only an audit row.
type Part struct {
	Write     *Write
	Decisions []writepath.Decision
	// Event is the audit row of a call without a Write.
	Event audit.Event
}

// Apply carries out what was decided, with one audit row for each part in their order: all of it or
// nothing. writepath.ErrStale reports that the state has changed, writepath.ErrUnprepared that the
// embedder was not asked for what is to be stored.
func (b *Batch) Apply(ctx context.Context, parts ...Part) error {
	for _, p := range parts {
		for i, dec := range p.Decisions {
			if dec.Action.Stores() && !p.Write.drafts[i].Embedded {
				return writepath.ErrUnprepared
			}
		}
	}
	steps, err := b.steps(ctx, parts)
	if err != nil {
		return err
	}
	return b.send(ctx, parts, steps)
}

// stored is a draft that becomes a memory.
type stored struct {
	*draft

	of *Write
	// victim is the memory that it replaces, zero for none.
	victim mem.ID
}

// changes is what a batch comes to.
type changes struct {
	inputs  captures
	ended   finishes
	tickets []queries.Step
	made    []stored
	held    []mem.ID
	events  []audit.Event
	// bumps is what is counted as asked for once more; not an echo, which nobody asked for.
	bumps queries.AccessBumpManyParams
}

func (c *changes) add(p *Part) {
	w := p.Write
	if w == nil {
		c.events = append(c.events, p.Event)
		return
	}
	receipt, event := w.Outcome(p.Decisions)
	c.events = append(c.events, event)
	switch {
	case w.Attempt > 0:
		c.tickets = append(c.tickets, w.finishTicket(receipt))
	case w.captured:
		c.ended = append(c.ended, w.finish(receipt))
	default:
		c.inputs = append(c.inputs, w.capture(captureDone, receipt))
	}
	for i, dec := range p.Decisions {
		if dec.Action.Stores() {
			w.drafts[i].analyze()
		}
		switch dec.Action {
		case writepath.Insert:
			c.made = append(c.made, stored{draft: w.drafts[i], of: w})
		case writepath.Supersede:
			c.made = append(c.made, stored{draft: w.drafts[i], of: w, victim: dec.Memory})
		case writepath.Duplicate:
			c.held = append(c.held, dec.Memory)
			addBumps(&c.bumps, &event, []mem.ID{dec.Memory})
		case writepath.Echo:
		}
	}
}

// steps returns what carries the parts out: the raw input first, which the memories refer to,
// and the counters of the namespace last, which its other writers wait for.
func (b *Batch) steps(ctx context.Context, parts []Part) ([]queries.Step, error) {
	var c changes
	for i := range parts {
		c.add(&parts[i])
	}
	if len(c.made) > 0 {
		if err := b.ensureNamespace(ctx); err != nil {
			return nil, err
		}
	}
	steps := slices.Concat(c.inputs.insert(), c.ended.update(), c.tickets, b.hold(&c), b.insert(c.made))
	index, err := b.index(ctx, c.made)
	if err != nil {
		return nil, err
	}
	steps = append(append(steps, index...), recordEvents(c.events))
	if len(c.bumps.CallIds) > 0 && !b.store.InTx() { // a host's transaction could hold the counter for long, and readers would wait for it
		steps = append(steps, bump(c.bumps))
	}
	if len(c.made) > 0 {
		steps = append(steps, b.bumpNamespace(c.made))
	}
	return steps, nil
}

// hold keeps what duplicates are duplicates of from being closed.
func (b *Batch) hold(c *changes) []queries.Step {
	own := make(map[mem.ID]bool, len(c.made))
	for _, d := range c.made {
		own[d.ID] = true
	}
	ids := slices.DeleteFunc(c.held, func(id mem.ID) bool { return own[id] })
	slices.SortFunc(ids, func(x, y mem.ID) int { return bytes.Compare(x[:], y[:]) })
	if ids = slices.Compact(ids); len(ids) == 0 {
		return nil
	}
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		_, err := q.MemoryHoldMany(ctx, queries.MemoryHoldManyParams{
			Tenant: b.who().Tenant(), Namespace: b.who().Namespace().String(), Ids: idStrings(ids), Now: b.writes[0].Now,
		})
		return err
	}}
}

// insert returns the steps that store memories, in an order that all writers share, so that those
// who meet the same texts do not wait for each other in a circle.
func (b *Batch) insert(made []stored) []queries.Step {
	made = slices.Clone(made)
	slices.SortStableFunc(made, func(x, y stored) int { return bytes.Compare(x.DedupeKey[:], y.DedupeKey[:]) })
	var steps []queries.Step
	var rows memories
	tenant, ns := b.who().Tenant(), b.who().Namespace().String()
	gone := map[mem.ID]bool{}
	for _, d := range made {
		for _, id := range d.expired { // of a text, and of a key, the database allows one
			if !gone[id] {
				gone[id] = true
				steps = append(steps, expire(tenant, ns, b.place, id, d.of.Now)...)
			}
		}
		if d.victim.IsZero() || d.Held {
			row := d.of.insertParams(d.draft)
			row.Replaces = optionalID(d.victim)
			rows = append(rows, row)
			continue
		}
		steps = append(steps, d.of.supersede(d.draft, d.victim))
		steps = append(steps, closeArms(tenant, ns, b.place, d.victim)...)
		steps = append(steps, d.overturn()...)
	}
	return append(steps, rows.insert()...)
}

// index returns the steps by which new memories are found: by what they name, by vector and by
// word.
func (b *Batch) index(ctx context.Context, made []stored) ([]queries.Step, error) {
	links := newLinks(b.who())
	known := entity.NewRegistry(JoinEntities(b.entities, b.aliases), b.who().Namespace())
	var vectors []stored
	var words terms
	var gaps queries.GapInsertManyParams
	for rest := made; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].of == rest[0].of {
			n++
		}
		b.link(links, known, rest[:n])
		rest = rest[n:]
	}
	for _, d := range made {
		if d.Embedding != nil {
			vectors = append(vectors, d)
		}
		if d.Unembedded {
			gaps.MemoryIds, gaps.Times = append(gaps.MemoryIds, d.ID.String()), append(gaps.Times, d.of.Now)
		}
		if len(d.doc.Terms) > 0 {
			words = append(words, d)
		}
	}
	steps := links.steps()
	if len(vectors) > 0 {
		model, err := b.store.modelID(ctx, b.conn())
		if err != nil {
			return nil, err
		}
		steps = append(steps, insertVectors(b.place, model, vectors))
	}
	if len(gaps.MemoryIds) > 0 {
		gaps.Tenant = b.who().Tenant()
		steps = append(steps, func(ctx context.Context, q *queries.Queries) error { return q.GapInsertMany(ctx, gaps) })
	}
	return append(steps, words.insert(b.place)...), nil
}

// link adds what the memories of one write name.
func (b *Batch) link(links *links, known *entity.Registry, made []stored) {
	mentions := make([][]entity.Mention, len(made))
	for i, d := range made {
		mentions[i] = d.Mentions
	}
	w := made[0].of
	for i, named := range known.Resolve(mentions, w.NewID) {
		for j := range named {
			links.add(made[i].ID, &named[j], w.Now, w.NewID)
		}
	}
}

func (b *Batch) bumpNamespace(made []stored) queries.Step {
	var rows, length int64
	var closed []mem.ID
	for _, d := range made {
		gone := slices.Clone(d.expired)
		if !d.Held {
			rows, length = rows+1, length+int64(d.doc.Length)
			gone = append(gone, d.victim)
		}
		for _, id := range gone {
			if !id.IsZero() && !slices.Contains(closed, id) {
				closed = append(closed, id)
			}
		}
	}
	return bumpNamespace(b.who().Tenant(), b.who().Namespace().String(), rows, length, closed...)
}

func (b *Batch) ensureNamespace(ctx context.Context) error {
	if b.place.ID != 0 {
		return nil
	}
	id, err := queries.New(b.conn()).NamespaceEnsure(ctx, queries.NamespaceEnsureParams{
		Tenant: b.who().Tenant(), Path: b.who().Namespace().String(),
	})
	if err != nil {
		// No row: another transaction has made it and is about to commit.
		return mapErr(staleIfMissing(err))
	}
	b.place = place(id)
	return nil
}

// keepPlace remembers the place for later writes, unless a transaction of the host's could still
// undo it.
func (b *Batch) keepPlace() {
	if b.store.tx == nil && b.tx == nil {
		b.store.known.keepPlace(b.who().Namespace().String(), b.place)
	}
}

func staleIfMissing(err error) error {
	if noRows(err) == nil {
		return writepath.ErrStale
	}
	return err
}
