package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath/entity"
)

// Entity is a row of the entity registry.
type Entity struct {
	entity.Entity
	CreatedAt time.Time
	Actor     string
}

type entityRow = queries.EntityListRow

func toEntity(r *entityRow) Entity {
	return Entity{
		Entity: entity.Entity{
			ID: mem.ID(r.ID), Namespace: namespaceOf(r.Namespace), Name: r.Name, Key: r.CanonicalKey, Type: entity.Type(r.Type),
			MergedInto: mem.ID(value(r.MergedInto)),
		},
		CreatedAt: r.CreatedAt.UTC(), Actor: r.Actor,
	}
}

func toEntities[R queries.EntityListRow | queries.EntityGetRow | queries.EntityNamedRow](rows []R) []Entity {
	out := make([]Entity, len(rows))
	for i := range rows {
		row := entityRow(rows[i])
		out[i] = toEntity(&row)
	}
	return out
}

// maxEntities bounds what one look-up by id or by name reads, merges included, and maxAliases
// the other names of those.
const (
	maxEntities = 1000
	maxAliases  = 5000
)

// EntityFilter selects a page of entities.
type EntityFilter struct {
	// Type narrows to one type, "" for all; Merged includes what has been merged away.
	Type   entity.Type
	Merged bool
	// AfterKey and AfterID are the last entity of the page before.
	AfterKey string
	AfterID  mem.ID
	Limit    int
}

// EntityPage returns the step that reads a page of the entities in scope, by canonical key.
func (s *Store) EntityPage(scope acl.Scope, f *EntityFilter, out *[]Entity) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.EntityList(ctx, queries.EntityListParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Wanted: string(f.Type), Merged: f.Merged,
			AfterKey: f.AfterKey, AfterID: uuid.UUID(f.AfterID), MaxRows: int32(f.Limit), //nolint:gosec // capped by the kernel
		})
		if err == nil {
			*out = toEntities(rows)
		}
		return err
	}
}

// EntityByID returns the step that reads an entity in scope and what it has been merged into,
// and the step that reads its other names in scope.
func (s *Store) EntityByID(scope acl.Scope, id mem.ID, out *[]Entity, names *EntityNames) []queries.Step {
	get := func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.EntityGet(ctx, queries.EntityGetParams{
			Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces(), MaxRows: maxEntities,
		})
		if err == nil {
			*out = toEntities(rows)
		}
		return err
	}
	return []queries.Step{get, s.entityAliases(scope, []mem.ID{id}, names)}
}

// EntityNames are other names of entities, by entity.
type EntityNames map[mem.ID][]entity.Alias

func (n *EntityNames) add(id uuid.UUID, namespace, key, name string) {
	if *n == nil {
		*n = EntityNames{}
	}
	(*n)[mem.ID(id)] = append((*n)[mem.ID(id)], entity.Alias{Name: name, Key: key, Namespace: namespaceOf(namespace)})
}

func (s *Store) entityAliases(scope acl.Scope, ids []mem.ID, out *EntityNames) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.EntityAliasMany(ctx, queries.EntityAliasManyParams{
			Tenant: scope.Tenant(), Ids: idStrings(ids), Namespaces: scope.Namespaces(), MaxRows: maxAliases,
		})
		if err == nil {
			*out = nil
			for _, r := range rows {
				out.add(r.EntityID, r.Namespace, r.AliasKey, r.Name)
			}
		}
		return err
	}
}

// EntityAliases reads the other names of entities, as far as they are in scope.
func (s *Store) EntityAliases(ctx context.Context, scope acl.Scope, ids []mem.ID) (EntityNames, error) {
	var names EntityNames
	if len(ids) == 0 {
		return nil, nil
	}
	err := s.run(ctx, s.entityAliases(scope, ids, &names))
	return names, err
}

// KnownEntities returns the steps that read what in scope the names of a text may mean, with
// the aliases that match: all that entity.Resolve needs. Names that have no key ask nothing.
func (s *Store) KnownEntities(scope acl.Scope, names []entity.Mention, out *[]Entity, aliases *EntityNames) []queries.Step {
	return s.knownEntities(scope, names, 1, out, aliases)
}

// knownEntities is KnownEntities for several texts at once.
func (s *Store) knownEntities(scope acl.Scope, names []entity.Mention, texts int, out *[]Entity, aliases *EntityNames) []queries.Step {
	keys := []string{}
	for _, m := range names {
		if key := entity.CanonicalKey(m.Surface); key != "" {
			keys = append(keys, key)
		}
		for _, short := range entity.ShortKeys(m.Surface, m.Type) {
			keys = append(keys, short.Key)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	named := func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.EntityNamed(ctx, queries.EntityNamedParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Keys: keys, MaxRows: int32(maxEntities * texts), //nolint:gosec // bounded by the kernel
		})
		if err == nil {
			*out = toEntities(rows)
		}
		return err
	}
	also := func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.EntityAliasNamed(ctx, queries.EntityAliasNamedParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Keys: keys, MaxRows: int32(maxAliases * texts), //nolint:gosec // bounded by the kernel
		})
		if err == nil {
			*aliases = nil
			for _, r := range rows {
				aliases.add(r.EntityID, r.Namespace, r.AliasKey, r.Name)
			}
		}
		return err
	}
	return []queries.Step{named, also}
}

// JoinEntities joins what KnownEntities read for entity.Resolve.
func JoinEntities(found []Entity, aliases EntityNames) []entity.Entity {
	out := make([]entity.Entity, len(found))
	for i := range found {
		out[i] = found[i].Entity
		out[i].Aliases = aliases[out[i].ID]
	}
	return out
}

// Named is a new memory and what it names.
type Named struct {
	Memory mem.ID
	Links  []entity.Link
}

// LinkEntities returns the steps by which a write that stores memories in the caller's own
// namespace also says whom and what they name: they go behind the steps that insert them, in their
// transaction. New entities are made in that namespace, with ids from newID unless the link has one,
// and unless another writer has made them meanwhile; aliases that are learnt stay there. Entities
// elsewhere are linked, never changed. The transaction fails with writepath.ErrStale if the
// caller's scope lacks an entity or a memory is not there; running the steps again adds nothing.
func (s *Store) LinkEntities(who acl.Identity, now time.Time, named []Named, newID func() mem.ID) []queries.Step {
	l := newLinks(who)
	for _, n := range named {
		for i := range n.Links {
			l.add(n.Memory, &n.Links[i], now, newID)
		}
	}
	return l.steps()
}

// links collects what memories name.
type links struct {
	isMade  map[entityName]bool
	made    queries.EntityInsertManyParams
	derived queries.EntityDeriveManyParams
	toNew   queries.EntityMentionNewManyParams
	toKnown queries.EntityMentionManyParams
	learnt  queries.EntityLearnManyParams
}

type entityName struct {
	key string
	of  entity.Type
}

func newLinks(who acl.Identity) *links {
	tenant, ns, scope := who.Tenant(), who.Namespace().String(), who.Scope().Namespaces()
	return &links{
		isMade:  map[entityName]bool{},
		made:    queries.EntityInsertManyParams{Tenant: tenant, Namespace: ns, Actor: who.Actor(), KeyID: optionalKey(who.KeyID())},
		derived: queries.EntityDeriveManyParams{Tenant: tenant, Namespace: ns},
		toNew:   queries.EntityMentionNewManyParams{Tenant: tenant, Namespace: ns},
		toKnown: queries.EntityMentionManyParams{Tenant: tenant, Namespace: ns, Namespaces: scope},
		learnt:  queries.EntityLearnManyParams{Tenant: tenant, Namespace: ns, Namespaces: scope},
	}
}

func (l *links) add(memory mem.ID, to *entity.Link, now time.Time, newID func() mem.ID) {
	if to.IsNew() {
		l.make(to, now, newID)
		p := &l.toNew
		p.MemoryIds, p.CanonicalKeys = append(p.MemoryIds, memory.String()), append(p.CanonicalKeys, to.Key)
		p.Types, p.Surfaces = append(p.Types, string(to.Type)), append(p.Surfaces, to.Mention.Surface)
		return
	}
	p := &l.toKnown
	p.MemoryIds, p.EntityIds = append(p.MemoryIds, memory.String()), append(p.EntityIds, to.Entity.String())
	p.Surfaces = append(p.Surfaces, to.Mention.Surface)
	if to.Learns() {
		p := &l.learnt
		p.AliasKeys, p.Names = append(p.AliasKeys, entity.CanonicalKey(to.Mention.Surface)), append(p.Names, to.Mention.Surface)
		p.MemoryIds, p.EntityIds = append(p.MemoryIds, memory.String()), append(p.EntityIds, to.Entity.String())
		p.Times = append(p.Times, now)
	}
}

// make adds a new entity, once.
func (l *links) make(to *entity.Link, now time.Time, newID func() mem.ID) {
	name := entityName{to.Key, to.Type}
	if l.isMade[name] {
		return
	}
	l.isMade[name] = true
	id := to.NewID
	if id.IsZero() {
		id = newID()
	}
	p := &l.made
	p.Ids, p.CanonicalKeys, p.Names = append(p.Ids, id.String()), append(p.CanonicalKeys, to.Key), append(p.Names, to.Name)
	p.Types, p.Times = append(p.Types, string(to.Type)), append(p.Times, now)
	for _, short := range entity.ShortKeys(to.Name, to.Type) {
		p := &l.derived
		p.AliasKeys, p.CanonicalKeys = append(p.AliasKeys, short.Key), append(p.CanonicalKeys, to.Key)
		p.Types, p.Times = append(p.Types, string(to.Type)), append(p.Times, now)
	}
}

func (l *links) steps() []queries.Step {
	var steps []queries.Step
	add := func(rows int, step queries.Step) {
		if rows > 0 {
			steps = append(steps, step)
		}
	}
	add(len(l.made.Ids), func(ctx context.Context, q *queries.Queries) error { return q.EntityInsertMany(ctx, l.made) })
	add(len(l.derived.AliasKeys), func(ctx context.Context, q *queries.Queries) error { return q.EntityDeriveMany(ctx, l.derived) })
	add(len(l.toNew.MemoryIds), func(ctx context.Context, q *queries.Queries) error {
		_, err := q.EntityMentionNewMany(ctx, l.toNew)
		return err
	})
	add(len(l.toKnown.MemoryIds), func(ctx context.Context, q *queries.Queries) error {
		_, err := q.EntityMentionMany(ctx, l.toKnown)
		return err
	})
	add(len(l.learnt.MemoryIds), func(ctx context.Context, q *queries.Queries) error { return q.EntityLearnMany(ctx, l.learnt) })
	return steps
}

// ManagedEntity is an entity that somebody wants to merge or to split.
type ManagedEntity struct {
	ID         mem.ID
	Namespace  acl.Namespace
	MergedInto mem.ID
	// Managed says that it is in the caller's subtree, and not only in scope.
	Managed bool
	// Merge is the merge in force by which it is another, zero if none.
	Merge mem.ID
}

// manageEntity reads an entity that is in the caller's scope or subtree, else mem.ErrNotFound.
func manageEntity(ctx context.Context, q *queries.Queries, who acl.Identity, id mem.ID) (ManagedEntity, error) {
	exact, from, to := who.Namespace().Range()
	r, err := q.EntityManage(ctx, queries.EntityManageParams{
		Tenant: who.Tenant(), ID: uuid.UUID(id), Namespaces: who.Scope().Namespaces(), Subtree: exact, SubtreeFrom: from, SubtreeTo: to,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return ManagedEntity{}, mem.ErrNotFound
	}
	if err != nil {
		return ManagedEntity{}, mapErr(err)
	}
	e := ManagedEntity{ID: mem.ID(r.ID), Namespace: namespaceOf(r.Namespace), MergedInto: mem.ID(value(r.MergedInto)), Managed: r.Managed}
	if e.MergedInto.IsZero() {
		return e, nil
	}
	m, err := q.EntityMergeInForce(ctx, queries.EntityMergeInForceParams{Tenant: who.Tenant(), EntityID: r.ID, Namespace: r.Namespace})
	if err != nil {
		return ManagedEntity{}, mapErr(staleIfMissing(err))
	}
	e.Merge = mem.ID(m.ID)
	return e, nil
}

// ChangeMerge reads the entity id and, unless it is zero, the entity into, hands them to decide,
// and adds the row that it returns to the merge log, with the audit row; no row changes
// nothing. It answers mem.ErrNotFound for what the caller neither sees nor manages, and
// writepath.ErrStale, having changed nothing, if the row does not fit what is in force by then.
func (s *Store) ChangeMerge(ctx context.Context, who acl.Identity, id, into mem.ID, now time.Time,
	decide func(e, target ManagedEntity) (*entity.Merge, audit.Event, error),
) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		q := queries.New(tx)
		e, err := manageEntity(ctx, q, who, id)
		if err != nil {
			return err
		}
		var target ManagedEntity
		if !into.IsZero() {
			if target, err = manageEntity(ctx, q, who, into); err != nil {
				return err
			}
		}
		row, event, err := decide(e, target)
		if err != nil {
			return err
		}
		var steps []queries.Step
		if row != nil {
			steps = append(steps, func(ctx context.Context, q *queries.Queries) error {
				return q.EntityMergeInsert(ctx, queries.EntityMergeInsertParams{
					Tenant: who.Tenant(), ID: uuid.UUID(row.ID), EntityID: uuid.UUID(row.From), Namespace: e.Namespace.String(),
					IntoID: uuid.UUID(row.Into), Reverses: optionalID(row.Reverses), CreatedAt: now, Actor: who.Actor(),
					KeyID: optionalKey(who.KeyID()),
				})
			})
		}
		return mapErr(queries.Pipeline(ctx, tx, append(steps, appendEvent(&event))...))
	})
}
