package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// Key is a stored key. Its secret is not: only a hash is kept.
type Key struct {
	ID                     mem.ID
	Namespace              acl.Namespace
	Actor, AgentID, Label  string
	Role                   acl.Role
	Provenance             mem.Provenance
	Prefix                 string
	Hash                   []byte
	CreatedAt              time.Time
	CreatedBy, RotatedFrom mem.ID
	ExpiresAt, RevokedAt   time.Time
}

func toKey(r *queries.APIKey) Key {
	return Key{
		ID: mem.ID(r.ID), Namespace: namespaceOf(r.Namespace), Actor: r.Actor, AgentID: r.AgentID, Label: r.Label,
		Role: acl.Role(r.Role), Provenance: mem.Provenance(r.Provenance), Prefix: r.Prefix, Hash: r.SecretHash,
		CreatedAt: r.CreatedAt.UTC(), CreatedBy: mem.ID(value(r.CreatedBy)), RotatedFrom: mem.ID(value(r.RotatedFrom)),
		ExpiresAt: utc(r.ExpiresAt), RevokedAt: utc(r.RevokedAt),
	}
}

func insertKey(k *Key) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		return q.KeyInsert(ctx, queries.KeyInsertParams{
			Tenant: k.Namespace.Tenant(), ID: uuid.UUID(k.ID), Namespace: k.Namespace.String(), Actor: k.Actor, AgentID: k.AgentID,
			Role: string(k.Role), Provenance: string(k.Provenance), Label: k.Label, Prefix: k.Prefix, SecretHash: k.Hash,
			CreatedAt: k.CreatedAt, CreatedBy: optionalID(k.CreatedBy), RotatedFrom: optionalID(k.RotatedFrom),
			ExpiresAt: optionalTime(k.ExpiresAt),
		})
	}
}

// Bootstrap makes the tenant, unless it exists, and its first owner key with the audit row.
// It answers mem.ErrConflict, and changes nothing, if the tenant has a usable owner key.
func (s *Store) Bootstrap(ctx context.Context, key *Key, now time.Time, event *audit.Event) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		q := queries.New(tx)
		tenant := key.Namespace.Tenant()
		if _, err := q.TenantInsert(ctx, queries.TenantInsertParams{Tenant: tenant, CreatedAt: now}); err != nil {
			return mapErr(err)
		}
		// Whoever comes second waits here and then sees the first one's key.
		if _, err := q.TenantLock(ctx, queries.TenantLockParams{Tenant: tenant}); err != nil {
			return mapErr(err)
		}
		owners, err := q.KeyCountOwners(ctx, queries.KeyCountOwnersParams{Tenant: tenant, Now: optionalTime(now)})
		if err != nil {
			return mapErr(err)
		}
		if owners > 0 {
			return fmt.Errorf("%w: the tenant has an owner key", mem.ErrConflict)
		}
		return mapErr(queries.Pipeline(ctx, tx, insertKey(key), appendEvent(event)))
	})
}

// CreateKey stores a key and the audit row.
func (s *Store) CreateKey(ctx context.Context, key *Key, event *audit.Event) error {
	return s.atomic(ctx, insertKey(key), appendEvent(event))
}

// KeysByPrefix returns the keys that a credential's public part may stand for.
func (s *Store) KeysByPrefix(ctx context.Context, prefix string) ([]Key, error) {
	rows, err := queries.New(s.conn()).KeysByPrefix(ctx, queries.KeysByPrefixParams{Prefix: prefix})
	if err != nil {
		return nil, mapErr(err)
	}
	return toKeys(rows), nil
}

func toKeys(rows []queries.APIKey) []Key {
	out := make([]Key, len(rows))
	for i := range rows {
		out[i] = toKey(&rows[i])
	}
	return out
}

// ChangeKey locks a key in a subtree and hands it to decide, which says when it is revoked
// and what key, if any, replaces it. It answers mem.ErrNotFound if the subtree has no such key.
func (s *Store) ChangeKey(ctx context.Context, root acl.Namespace, id mem.ID,
	decide func(Key) (revokedAt time.Time, next *Key, event audit.Event, err error),
) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		exact, from, to := root.Range()
		q := queries.New(tx)
		row, err := q.KeyGet(ctx, queries.KeyGetParams{
			Tenant: root.Tenant(), ID: uuid.UUID(id), Subtree: exact, SubtreeFrom: from, SubtreeTo: to,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return mem.ErrNotFound
		}
		if err != nil {
			return mapErr(err)
		}
		revokedAt, next, event, err := decide(toKey(&row))
		if err != nil {
			return err
		}
		steps := []queries.Step{func(ctx context.Context, q *queries.Queries) error {
			_, err := q.KeyRevoke(ctx, queries.KeyRevokeParams{Tenant: root.Tenant(), ID: uuid.UUID(id), RevokedAt: &revokedAt})
			return err
		}}
		if next != nil {
			steps = append(steps, insertKey(next))
		}
		return mapErr(queries.Pipeline(ctx, tx, append(steps, appendEvent(&event))...))
	})
}

// ListKeys returns at most limit keys of a subtree, ordered by namespace and id, after the
// position given.
func (s *Store) ListKeys(ctx context.Context, root acl.Namespace, afterNamespace string, afterID mem.ID, limit int) ([]Key, error) {
	exact, from, to := root.Range()
	rows, err := queries.New(s.conn()).KeyList(ctx, queries.KeyListParams{
		Tenant: root.Tenant(), Subtree: exact, SubtreeFrom: from, SubtreeTo: to,
		AfterNamespace: afterNamespace, AfterID: uuid.UUID(afterID), MaxRows: int32(limit), //nolint:gosec // capped by the kernel
	})
	if err != nil {
		return nil, mapErr(err)
	}
	return toKeys(rows), nil
}

// SetSuspended suspends or resumes a tenant, with the audit row. It answers mem.ErrNotFound
// for an unknown tenant.
func (s *Store) SetSuspended(ctx context.Context, tenant string, suspended bool, reason string, now time.Time, event *audit.Event) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		q := queries.New(tx)
		var n int64
		var err error
		if suspended {
			n, err = q.TenantSuspend(ctx, queries.TenantSuspendParams{SuspendedAt: &now, Reason: &reason, Tenant: tenant})
		} else {
			n, err = q.TenantResume(ctx, queries.TenantResumeParams{Tenant: tenant})
		}
		switch {
		case err != nil:
			return mapErr(err)
		case n == 0:
			return mem.ErrNotFound
		}
		return mapErr(queries.Pipeline(ctx, tx, appendEvent(event)))
	})
}

// LatestPolicy returns the newest version of a namespace's own policy. It answers
// mem.ErrNotFound, after the same statement, if the namespace has none and if it is neither
// in scope nor in the subtree that the caller manages, the zero Namespace for none.
func (s *Store) LatestPolicy(ctx context.Context, scope acl.Scope, managed, ns acl.Namespace) (*mem.PolicyVersion, error) {
	exact, from, to := managed.Range()
	r, err := queries.New(s.conn()).PolicyLatest(ctx, queries.PolicyLatestParams{
		Tenant: scope.Tenant(), Namespace: ns.String(), Namespaces: scope.Namespaces(),
		Subtree: exact, SubtreeFrom: from, SubtreeTo: to,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, mem.ErrNotFound
	}
	if err != nil {
		return nil, mapErr(err)
	}
	v := &mem.PolicyVersion{Namespace: ns, Version: int(r.Version), CreatedAt: r.CreatedAt.UTC(), Actor: r.Actor}
	if err := json.Unmarshal(r.Document, &v.Policy); err != nil {
		return nil, fmt.Errorf("%w: stored policy: %w", mem.ErrUnavailable, err)
	}
	return v, nil
}

// PutPolicy appends a version after prior, with the audit row. It answers mem.ErrConflict if
// prior is not the newest version.
func (s *Store) PutPolicy(ctx context.Context, v *mem.PolicyVersion, prior int, keyID string, event *audit.Event) error {
	doc, err := json.Marshal(&v.Policy)
	if err != nil {
		return fmt.Errorf("%w: encode policy: %w", mem.ErrInternal, err)
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		n, err := queries.New(tx).PolicyInsert(ctx, queries.PolicyInsertParams{
			Tenant: v.Namespace.Tenant(), Namespace: v.Namespace.String(), Prior: int32(prior), Document: doc, //nolint:gosec // a version
			CreatedAt: v.CreatedAt, Actor: v.Actor, KeyID: optionalKey(keyID),
		})
		switch {
		case err != nil:
			return mapErr(err)
		case n == 0:
			return writepath.ErrStale
		}
		return mapErr(queries.Pipeline(ctx, tx, appendEvent(event)))
	})
	if errors.Is(err, writepath.ErrStale) {
		return fmt.Errorf("%w: another version was put meanwhile", mem.ErrConflict)
	}
	return err
}

// RetractTarget returns the steps that look at a memory to retract now.
func (s *Store) RetractTarget(scope acl.Scope, own acl.Namespace, id mem.ID, now time.Time, out *writepath.Standing) []queries.Step {
	return []queries.Step{lookAtTarget(scope, own, id, nil, now, out), hidden(scope, own, id, &out.TargetHidden)}
}

// Retract closes a current memory of the caller's own namespace as wrong, with the audit row.
// It answers writepath.ErrStale, and changes nothing, if the memory has ended meanwhile.
func (s *Store) Retract(ctx context.Context, who acl.Identity, id mem.ID, note string, now time.Time, event *audit.Event) error {
	tenant, path := who.Tenant(), who.Namespace().String()
	ns, err := queries.New(s.conn()).NamespaceID(ctx, queries.NamespaceIDParams{Tenant: tenant, Path: path})
	if err != nil {
		return mapErr(staleIfMissing(err))
	}
	steps := []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		_, err := q.MemoryRetract(ctx, queries.MemoryRetractParams{
			TValidTo: now, Note: note, Tenant: tenant, ID: uuid.UUID(id), Namespace: path,
		})
		return err
	}}
	steps = append(steps, closeArms(tenant, path, place(ns), id)...)
	return s.atomic(ctx, append(steps, appendEvent(event), bumpNamespace(tenant, path, 0, 0, id))...)
}
