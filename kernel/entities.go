package kernel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
)

// EntityType says what sort of thing an entity is, as far as could be guessed: person,
// organization, place, product, event, email, url, handle, identifier or other.
type EntityType = entity.Type

// Entity is somebody or something that memories name.
type Entity struct {
	ID ID
	// Namespace is where it is at home: those who see the namespace see it, if they see a memory
	// that names it.
	Namespace Namespace
	// Name is how it was first written.
	Name string
	Type EntityType
	// Aliases are other names that it is known by in the namespaces that the caller sees.
	// Only Get fills them in.
	Aliases   []string
	CreatedAt time.Time
	// Actor says whose memory named it first.
	Actor string
	// MergedInto is the entity that it turned out to be, zero if none; that may have been merged too.
	MergedInto ID
}

func toEntity(e *store.Entity, aliases store.EntityNames) Entity {
	out := Entity{
		ID: e.ID, Namespace: e.Namespace, Name: e.Name, Type: e.Type, CreatedAt: e.CreatedAt, Actor: e.Actor, MergedInto: e.MergedInto,
	}
	for _, a := range aliases[e.ID] {
		out.Aliases = append(out.Aliases, a.Name)
	}
	return out
}

// Entities reads the entities that a caller sees, and merges and splits those of a subtree.
type Entities struct{ k *Kernel }

// Entities returns the registry of what memories name. An entity is at home in the namespace
// whose memory named it first; it is seen from there and from below, and nowhere else: the same
// name in two namespaces that do not see each other is two entities. Nobody hears of a name that
// only memories out of their sight have, because those are held or disputed.
func (k *Kernel) Entities() Entities { return Entities{k} }

// ListEntitiesRequest selects entities; the zero value selects all that the caller sees.
type ListEntitiesRequest struct {
	// Type narrows the list; empty for all.
	Type EntityType
	// Merged includes entities that have been merged into another.
	Merged bool
}

func (r *ListEntitiesRequest) validate() error {
	if r.Type != "" && !r.Type.Valid() {
		return &mem.InvalidError{Field: "Type", Reason: "unknown type"}
	}
	return nil
}

// entityPage is how many entities one query reads.
const entityPage = 500

// List returns the entities of the caller's namespace and its ancestors, ordered by name. The
// call itself, and its audit row, happens at once; an error comes as the sequence's only
// element. Later pages are read as the sequence is consumed, each only if the caller's key and
// tenant still allow it; an entity that is made meanwhile may or may not be in it.
func (h Entities) List(ctx context.Context, who Identity, req ListEntitiesRequest) iter.Seq2[Entity, error] {
	filter := store.EntityFilter{Type: req.Type, Merged: req.Merged, Limit: entityPage}
	var first []store.Entity
	c := call{op: acl.OpEntityList, who: who, validate: req.validate}
	if req.validate() == nil {
		c.steps = append(c.steps, h.k.store.EntityPage(who.Scope(), &filter, &first))
	}
	_, err := guard(ctx, h.k, &c, func(_ context.Context, cur *current) (*struct{}, error) {
		cur.detail.Int("returned", int64(len(first)))
		return &struct{}{}, nil
	})
	return func(yield func(Entity, error) bool) {
		if err != nil {
			yield(Entity{}, err)
			return
		}
		for page, f := first, filter; ; {
			for i := range page {
				if !yield(toEntity(&page[i], nil), nil) {
					return
				}
			}
			if len(page) < entityPage {
				return
			}
			last := &page[len(page)-1]
			f.AfterKey, f.AfterID = last.Key, last.ID
			var next []store.Entity
			if err := h.k.readmit(ctx, who, h.k.store.EntityPage(who.Scope(), &f, &next)); err != nil {
				yield(Entity{}, h.k.opError(ctx, acl.OpEntityList, err))
				return
			}
			page = next
		}
	}
}

// GetEntityRequest names an entity, by its id or by a name.
type GetEntityRequest struct {
	ID ID
	// Name is any name that it may go by, at most 200 bytes; it is looked at if ID is zero.
	Name string
}

func (r *GetEntityRequest) validate() error {
	if !r.ID.IsZero() {
		return nil
	}
	return mem.CheckText("Name", r.Name, entity.MaxName)
}

// GetEntityReply is an entity.
type GetEntityReply struct {
	// Entity is the one with the id; or the one that a name stands for best: its own name
	// before a short form of one, and of several the one at home nearest to the caller.
	Entity Entity
	// Current is what Entity is by now: itself, unless it has been merged.
	Current Entity
	// Others are other entities that the name may mean.
	Others []Entity
}

// Get returns an entity that the caller sees, with its other names. A missing one and one that
// is invisible are the same ErrNotFound.
func (h Entities) Get(ctx context.Context, who Identity, req GetEntityRequest) (*GetEntityReply, error) {
	var found []store.Entity
	var names store.EntityNames
	mention := entity.Mention{Surface: req.Name, Type: entity.Other}
	c := call{op: acl.OpEntityGet, who: who, validate: req.validate}
	switch {
	case !req.ID.IsZero():
		c.steps = h.k.store.EntityByID(who.Scope(), req.ID, &found, &names)
	case req.validate() == nil:
		c.steps = h.k.store.KnownEntities(who.Scope(), []entity.Mention{mention}, &found, &names)
	}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*GetEntityReply, error) {
		ids := []ID{req.ID}
		if req.ID.IsZero() {
			ids = nil
			for _, known := range entity.Candidates(req.Name, guessedType(req.Name), store.JoinEntities(found, names)) {
				ids = append(ids, known.Entity)
			}
		}
		if len(ids) == 0 || len(found) == 0 {
			return nil, mem.ErrNotFound
		}
		byID := make(map[ID]*store.Entity, len(found))
		all := make([]ID, len(found))
		for i := range found {
			byID[found[i].ID], all[i] = &found[i], found[i].ID
		}
		names, err := h.k.store.EntityAliases(ctx, who.Scope(), all)
		if err != nil {
			return nil, err
		}
		root := func(e *store.Entity) *store.Entity {
			for range found {
				next, ok := byID[e.MergedInto]
				if !ok {
					break
				}
				e = next
			}
			return e
		}
		best := byID[ids[0]]
		reply := &GetEntityReply{Entity: toEntity(best, names), Current: toEntity(root(best), names)}
		for _, id := range ids[1:] {
			if e := byID[id]; root(e) != root(best) {
				reply.Others = append(reply.Others, toEntity(e, names))
			}
		}
		cur.detail.Str("entity", best.ID.String())
		return reply, nil
	})
}

// guessedType tells names that are recognised by their form from others.
func guessedType(name string) EntityType {
	if m := entity.Recognise(name); len(m) == 1 && m[0].Surface == name && m[0].Confidence == entity.Certain {
		return m[0].Type
	}
	return entity.Other
}

// MergeEntitiesRequest says that one entity is another.
type MergeEntitiesRequest struct {
	// ID is the entity that is merged away, Into the one that it is.
	ID, Into ID
}

// MergeEntitiesReply says what was done.
type MergeEntitiesReply struct {
	// Merge identifies the merge in the log.
	Merge ID
	// Already reports that the entity had been merged into that one; nothing was changed.
	Already bool
}

// Merge declares that one entity is another. Neither loses a name or a memory, and Split
// takes it back. It needs role admin or owner, and the entity that is merged away must be in the caller's
// subtree: a visible one elsewhere is ErrForbidden. The other must be at home in the same
// namespace or in one above, so that whoever sees the one sees the other; else, and for an entity and
// itself, the call is ErrInvalid. One that has been merged into a third is ErrConflict, and so
// is a merge that would close a circle, also of concurrent ones. What the caller neither sees
// nor manages is ErrNotFound. A repeat call succeeds and says so.
func (h Entities) Merge(ctx context.Context, who Identity, req MergeEntitiesRequest) (*MergeEntitiesReply, error) {
	c := call{op: acl.OpEntityMerge, who: who, validate: func() error {
		switch {
		case req.ID.IsZero():
			return &mem.InvalidError{Field: "ID", Reason: "it is zero"}
		case req.Into.IsZero():
			return &mem.InvalidError{Field: "Into", Reason: "it is zero"}
		case req.ID == req.Into:
			return &mem.InvalidError{Field: "Into", Reason: "an entity cannot be merged into itself"}
		default:
			return nil
		}
	}}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*MergeEntitiesReply, error) {
		reply := &MergeEntitiesReply{}
		err := h.k.store.ChangeMerge(ctx, who, req.ID, req.Into, cur.now, func(e, target store.ManagedEntity) (*entity.Merge, audit.Event, error) {
			switch {
			case !e.Managed:
				return nil, audit.Event{}, errEntityElsewhere
			case e.MergedInto == req.Into:
				reply.Merge, reply.Already = e.Merge, true
			case !e.MergedInto.IsZero():
				return nil, audit.Event{}, fmt.Errorf("%w: %w", mem.ErrConflict, entity.ErrMerged)
			case !e.Namespace.InSubtree(target.Namespace):
				return nil, audit.Event{}, &mem.InvalidError{Field: "Into", Reason: "not everybody who sees the one entity sees the other"}
			default:
				reply.Merge = newID(cur.now)
			}
			cur.detail.Str("entity", req.ID.String()).Str("into", req.Into.String()).Str("merge", reply.Merge.String())
			if reply.Already {
				return nil, cur.finish(), nil
			}
			return &entity.Merge{ID: reply.Merge, From: req.ID, Into: req.Into}, cur.finish(), nil
		})
		cur.recorded = err == nil
		return reply, conflictIfStale(err)
	})
}

// SplitEntityRequest names an entity that has been merged into another.
type SplitEntityRequest struct{ ID ID }

// SplitEntityReply says what was done.
type SplitEntityReply struct {
	// From is the entity that it had been merged into; zero if it had not been merged.
	From ID
	// Already reports that it was not merged; nothing was changed.
	Already bool
}

// Split takes the merge of an entity back. What is left is what would be there if the merge had
// never been; merges before and after it, into either of the two, stand. It needs role admin or owner
// and the entity in the caller's subtree: a visible one elsewhere is ErrForbidden, any other
// ErrNotFound. Of concurrent calls that lose the answer is ErrConflict. A repeat call succeeds
// and says so.
func (h Entities) Split(ctx context.Context, who Identity, req SplitEntityRequest) (*SplitEntityReply, error) {
	c := call{op: acl.OpEntitySplit, who: who, validate: func() error {
		if req.ID.IsZero() {
			return &mem.InvalidError{Field: "ID", Reason: "it is zero"}
		}
		return nil
	}}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*SplitEntityReply, error) {
		reply := &SplitEntityReply{}
		err := h.k.store.ChangeMerge(ctx, who, req.ID, ID{}, cur.now, func(e, _ store.ManagedEntity) (*entity.Merge, audit.Event, error) {
			if !e.Managed {
				return nil, audit.Event{}, errEntityElsewhere
			}
			cur.detail.Str("entity", req.ID.String())
			if e.MergedInto.IsZero() {
				reply.Already = true
				return nil, cur.finish(), nil
			}
			reply.From = e.MergedInto
			cur.detail.Str("from", e.MergedInto.String()).Str("merge", e.Merge.String())
			return &entity.Merge{ID: newID(cur.now), From: req.ID, Into: e.MergedInto, Reverses: e.Merge}, cur.finish(), nil
		})
		cur.recorded = err == nil
		return reply, conflictIfStale(err)
	})
}

var errEntityElsewhere = fmt.Errorf("%w: the entity is outside the caller's subtree", mem.ErrForbidden)

// conflictIfStale tells a caller who lost a race so.
func conflictIfStale(err error) error {
	if errors.Is(err, writepath.ErrStale) {
		return fmt.Errorf("%w: it does not fit the merges in force", mem.ErrConflict)
	}
	return err
}
