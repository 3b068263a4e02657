package kernel

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// maxActor bounds actors, labels and agent ids, in bytes.
const maxActor = 256

// Key describes a key; its secret is not kept.
type Key struct {
	ID        ID
	Namespace Namespace
	Actor     string
	// AgentID is what the audit log calls the agent or transport that uses the key.
	AgentID string
	Role    Role
	// Provenance is the highest trust class of what the key writes.
	Provenance Provenance
	Label      string
	// Prefix is the public part of the credential, to recognise it by.
	Prefix    string
	CreatedAt time.Time
	// CreatedBy is the key that made it, zero for a tenant's first.
	CreatedBy ID
	// RotatedFrom is the key that it replaced, zero if none.
	RotatedFrom ID
	// ExpiresAt and RevokedAt end the key; zero for never.
	ExpiresAt, RevokedAt time.Time
}

func toKey(k *store.Key) Key {
	return Key{
		ID: k.ID, Namespace: k.Namespace, Actor: k.Actor, AgentID: k.AgentID, Role: k.Role, Provenance: k.Provenance,
		Label: k.Label, Prefix: k.Prefix, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, RotatedFrom: k.RotatedFrom,
		ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
	}
}

// Keys manages the keys of a subtree.
type Keys struct{ k *Kernel }

// Keys returns the management of keys. Its methods need role admin or owner and reach the
// caller's namespace and what lies below it, nothing else: elsewhere a key is ErrNotFound and
// a namespace is ErrForbidden.
func (k *Kernel) Keys() Keys { return Keys{k} }

// KeyRequest asks for a key.
type KeyRequest struct {
	// Namespace is where the holder writes; the zero value is the caller's own.
	Namespace Namespace
	// Actor names the holder, for example "user:dana"; at most 256 bytes without control
	// characters. "host" and "anonymous" mean something else in the audit log and are refused.
	Actor string
	// Role must not be above the caller's own.
	Role Role
	// AgentID is what the audit log calls the agent or transport; default "library".
	AgentID string
	// Provenance is the highest trust class of what the holder writes. Default: conversation
	// for an agent, manual for the other roles. It must not rank above the caller's own.
	Provenance Provenance
	// Label is a note to find the key by; it may be empty.
	Label string
	// ExpiresAt ends the key; the zero value is never.
	ExpiresAt time.Time
}

// defaultProvenance: what an agent says is hearsay of a conversation, what a person enters is
// a statement.
func defaultProvenance(r Role) Provenance {
	if r == acl.RoleAgent {
		return mem.ProvenanceConversation
	}
	return mem.ProvenanceManual
}

// checkActor validates the name of a caller.
func checkActor(actor string) error {
	if err := mem.CheckText("Actor", actor, maxActor); err != nil {
		return err
	}
	switch {
	case actor == audit.HostActor || actor == audit.AnonymousActor:
		return &mem.InvalidError{Field: "Actor", Reason: "the name is reserved"}
	case strings.ContainsFunc(actor, unicode.IsControl):
		return &mem.InvalidError{Field: "Actor", Reason: "it contains a control character"}
	default:
		return nil
	}
}

func (r *KeyRequest) validate() error {
	if err := checkActor(r.Actor); err != nil {
		return err
	}
	if !r.Role.Valid() {
		return &mem.InvalidError{Field: "Role", Reason: "unknown role"}
	}
	if err := mem.CheckLabel("AgentID", r.AgentID, maxActor); err != nil {
		return err
	}
	if r.Provenance != "" && !r.Provenance.Valid() {
		return &mem.InvalidError{Field: "Provenance", Reason: "unknown class"}
	}
	if err := mem.CheckLabel("Label", r.Label, maxActor); err != nil {
		return err
	}
	return mem.CheckTime("ExpiresAt", r.ExpiresAt)
}

// makeKey makes the secret and fills in the defaults of a valid request.
func makeKey(r *KeyRequest, now time.Time) (*Credential, *store.Key) {
	secret, prefix, hash := newCredential()
	key := &store.Key{
		ID: newID(now), Namespace: r.Namespace, Actor: r.Actor, AgentID: r.AgentID, Label: r.Label, Role: r.Role,
		Provenance: r.Provenance, Prefix: prefix, Hash: hash, CreatedAt: now,
		ExpiresAt: r.ExpiresAt.UTC().Truncate(time.Microsecond),
	}
	if key.AgentID == "" {
		key.AgentID = "library"
	}
	if key.Provenance == "" {
		key.Provenance = defaultProvenance(r.Role)
	}
	return &Credential{Secret: secret, Key: toKey(key)}, key
}

// mayMake checks a key against its maker: nobody hands out more than they have.
func mayMake(who acl.Identity, key *store.Key) error {
	switch {
	case !key.Namespace.InSubtree(who.Namespace()):
		return fmt.Errorf("%w: the namespace is outside the caller's subtree", mem.ErrForbidden)
	case !who.Role().MayGrant(key.Role):
		return fmt.Errorf("%w: the role is above the caller's own", mem.ErrForbidden)
	case key.Provenance.Rank() > mem.Provenance(who.Provenance()).Rank():
		return fmt.Errorf("%w: the provenance ranks above the caller's own", mem.ErrForbidden)
	default:
		return nil
	}
}

// Create makes a key. The secret is in the reply and nowhere else. A repeat call makes
// another key. A request beyond the caller's role, subtree or trust is ErrForbidden.
func (h Keys) Create(ctx context.Context, who Identity, req KeyRequest) (*Credential, error) {
	if req.Namespace.IsZero() {
		req.Namespace = who.Namespace()
	}
	c := call{op: acl.OpKeyCreate, who: who, validate: req.validate}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*Credential, error) {
		if ended(req.ExpiresAt, cur.now) {
			return nil, &mem.InvalidError{Field: "ExpiresAt", Reason: "it is in the past"}
		}
		cred, key := makeKey(&req, cur.now)
		if err := mayMake(who, key); err != nil {
			return nil, err
		}
		key.CreatedBy = keyID(who)
		cred.Key.CreatedBy = key.CreatedBy
		describeKey(&cur.detail, key)
		event := cur.finish()
		err := h.k.store.CreateKey(ctx, key, &event)
		cur.recorded = err == nil
		return cred, err
	})
}

func keyID(who Identity) ID {
	id, err := mem.ParseID(who.KeyID())
	if err != nil {
		return ID{} // the host authenticated the caller
	}
	return id
}

func describeKey(d *audit.Detail, key *store.Key) {
	d.Str("key", key.ID.String()).Str("role", string(key.Role)).Str("target", key.Namespace.String()).Str("holder", key.Actor)
}

// RevokeKeyRequest names the key to revoke.
type RevokeKeyRequest struct{ ID ID }

// RevokeKeyReply says since when the key is revoked.
type RevokeKeyReply struct{ RevokedAt time.Time }

// Revoke ends a key at once: the next call with it, or with an identity that came from it, is
// refused. A repeat call succeeds and changes nothing.
func (h Keys) Revoke(ctx context.Context, who Identity, req RevokeKeyRequest) (*RevokeKeyReply, error) {
	c := call{op: acl.OpKeyRevoke, who: who}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*RevokeKeyReply, error) {
		reply := &RevokeKeyReply{}
		err := h.k.store.ChangeKey(ctx, who.Namespace(), req.ID,
			func(old store.Key) (time.Time, *store.Key, audit.Event, error) {
				if !who.Role().MayGrant(old.Role) {
					return time.Time{}, nil, audit.Event{}, fmt.Errorf("%w: the key's role is above the caller's own", mem.ErrForbidden)
				}
				reply.RevokedAt = cur.now
				if ended(old.RevokedAt, cur.now) {
					reply.RevokedAt = old.RevokedAt
				}
				describeKey(&cur.detail, &old)
				return reply.RevokedAt, nil, cur.finish(), nil
			})
		cur.recorded = err == nil
		return reply, err
	})
}

// RotateKeyRequest asks to replace a key's secret.
type RotateKeyRequest struct {
	ID ID
	// Overlap is how long the old secret still works, at most 30 days; default 0: it ends at once.
	Overlap time.Duration
}

const maxOverlap = 30 * 24 * time.Hour

// Rotate makes a key like the one named, with a new id and secret, and ends the old one. A
// key that has ended is ErrConflict, so of concurrent calls without overlap one succeeds.
func (h Keys) Rotate(ctx context.Context, who Identity, req RotateKeyRequest) (*Credential, error) {
	c := call{op: acl.OpKeyRotate, who: who, validate: func() error {
		if req.Overlap < 0 || req.Overlap > maxOverlap {
			return &mem.InvalidError{Field: "Overlap", Reason: fmt.Sprintf("%s is not between 0 and %s", req.Overlap, maxOverlap)}
		}
		return nil
	}}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*Credential, error) {
		var cred *Credential
		err := h.k.store.ChangeKey(ctx, who.Namespace(), req.ID,
			func(old store.Key) (time.Time, *store.Key, audit.Event, error) {
				if ended(old.RevokedAt, cur.now) || ended(old.ExpiresAt, cur.now) {
					return time.Time{}, nil, audit.Event{}, fmt.Errorf("%w: the key has ended", mem.ErrConflict)
				}
				spec := KeyRequest{
					Namespace: old.Namespace, Actor: old.Actor, Role: old.Role, AgentID: old.AgentID,
					Provenance: old.Provenance, Label: old.Label, ExpiresAt: old.ExpiresAt,
				}
				fresh, key := makeKey(&spec, cur.now)
				if err := mayMake(who, key); err != nil {
					return time.Time{}, nil, audit.Event{}, err
				}
				key.CreatedBy, key.RotatedFrom = keyID(who), old.ID
				fresh.Key = toKey(key)
				cred = fresh
				describeKey(&cur.detail, key)
				cur.detail.Str("rotated_from", old.ID.String())
				return cur.now.Add(req.Overlap), key, cur.finish(), nil
			})
		cur.recorded = err == nil
		return cred, err
	})
}

// ListKeysRequest selects the keys of the caller's subtree.
type ListKeysRequest struct {
	// Namespace narrows the list to a subtree of the caller's own; the zero value is all of it.
	// Outside of it there are no keys to list.
	Namespace Namespace
}

// keyPage is how many keys one query reads.
const keyPage = 500

// List returns the keys of a subtree, ended ones included, ordered by namespace and id. The
// call itself, and its audit row, happens at once; an error comes as the sequence's only
// element. Later pages are read as the sequence is consumed, each only if the caller's key
// and tenant still allow it; a key that is made meanwhile may or may not be in it.
func (h Keys) List(ctx context.Context, who Identity, req ListKeysRequest) iter.Seq2[Key, error] {
	root, inside := narrow(who, req.Namespace)
	c := call{op: acl.OpKeyList, who: who}
	first, err := guard(ctx, h.k, &c, func(ctx context.Context, _ *current) (*[]store.Key, error) {
		if !inside {
			return &[]store.Key{}, nil
		}
		keys, err := h.k.store.ListKeys(ctx, root, "", ID{}, keyPage)
		return &keys, err
	})
	return func(yield func(Key, error) bool) {
		if err != nil {
			yield(Key{}, err)
			return
		}
		for page := *first; ; {
			for i := range page {
				if !yield(toKey(&page[i]), nil) {
					return
				}
			}
			if len(page) < keyPage {
				return
			}
			last := &page[len(page)-1]
			err := h.k.readmit(ctx, who)
			if err == nil {
				page, err = h.k.store.ListKeys(ctx, root, last.Namespace.String(), last.ID, keyPage)
			}
			if err != nil {
				yield(Key{}, h.k.opError(ctx, acl.OpKeyList, err))
				return
			}
		}
	}
}

// narrow returns the subtree that a management call reaches: the caller's own, or the part of
// it that was asked for. inside is false for one elsewhere.
func narrow(who Identity, asked Namespace) (root Namespace, inside bool) {
	if asked.IsZero() {
		return who.Namespace(), true
	}
	return asked, asked.InSubtree(who.Namespace())
}
