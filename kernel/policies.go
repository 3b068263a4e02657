package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Policies manages the rules of namespaces.
type Policies struct{ k *Kernel }

// Policies returns the management of policies.
func (k *Kernel) Policies() Policies { return Policies{k} }

// PutPolicyRequest sets the policy of a namespace.
type PutPolicyRequest struct {
	// Namespace is the caller's own or one below it; the zero value is the caller's own.
	Namespace Namespace
	// Policy replaces the namespace's own policy; an ancestor's still applies.
	Policy Policy
}

// Put appends a new version of a namespace's own policy; older versions stay. It takes effect
// for every call that begins afterwards. It needs role admin or owner; a namespace outside
// the caller's subtree is ErrForbidden. Of concurrent puts to one namespace those that lose
// are ErrConflict. A repeat call appends another version.
func (h Policies) Put(ctx context.Context, who Identity, req PutPolicyRequest) (*PolicyVersion, error) {
	if req.Namespace.IsZero() {
		req.Namespace = who.Namespace()
	}
	c := call{op: acl.OpPolicyPut, who: who, validate: req.Policy.Validate}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*PolicyVersion, error) {
		if !req.Namespace.InSubtree(who.Namespace()) {
			return nil, fmt.Errorf("%w: the namespace is outside the caller's subtree", mem.ErrForbidden)
		}
		prior := 0
		latest, err := h.k.store.LatestPolicy(ctx, who.Scope(), who.Namespace(), req.Namespace)
		switch {
		case err == nil:
			prior = latest.Version
		case !errors.Is(err, mem.ErrNotFound):
			return nil, err
		}
		v := &PolicyVersion{Namespace: req.Namespace, Version: prior + 1, Policy: req.Policy, CreatedAt: cur.now, Actor: who.Actor()}
		cur.detail.Str("target", req.Namespace.String()).Int("version", int64(v.Version))
		event := cur.finish()
		err = h.k.store.PutPolicy(ctx, v, prior, who.KeyID(), &event)
		cur.recorded = err == nil
		return v, err
	})
}

// GetPolicyRequest names a namespace.
type GetPolicyRequest struct {
	// Namespace is the caller's own, an ancestor, or one in the caller's subtree; the zero
	// value is the caller's own.
	Namespace Namespace
}

// Get returns the newest version of a namespace's own policy, ErrNotFound if it has none or
// the caller may not see it. It is for every role and changes nothing.
func (h Policies) Get(ctx context.Context, who Identity, req GetPolicyRequest) (*PolicyVersion, error) {
	ns := req.Namespace
	if ns.IsZero() {
		ns = who.Namespace()
	}
	c := call{op: acl.OpPolicyGet, who: who}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*PolicyVersion, error) {
		var managed Namespace
		if acl.Allowed(who.Role(), acl.OpPolicyPut) {
			managed = who.Namespace()
		}
		cur.detail.Str("target", ns.String())
		return h.k.store.LatestPolicy(ctx, who.Scope(), managed, ns)
	})
}
