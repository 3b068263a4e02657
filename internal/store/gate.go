package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// Gate is what decides whether a caller may go on, read in one statement.
type Gate struct {
	// TenantKnown and TenantSuspended are the tenant's state.
	TenantKnown, TenantSuspended bool
	// KeyKnown, KeyExpires and KeyRevoked are the state of the caller's own key now; they
	// mean nothing for a caller that the host authenticated.
	KeyKnown               bool
	KeyExpires, KeyRevoked time.Time
	// Policies are those of the visible namespaces, root first.
	Policies []mem.Policy
	// Known is the same for statements that rest on it, nil inside a host's transaction.
	Known *Known

	raw []byte
}

// SamePolicies reports whether the policies of two gates of one namespace are the same.
func (g *Gate) SamePolicies(other *Gate) bool { return bytes.Equal(g.raw, other.raw) }

// freshGate reads the gate outside of the host's transaction, on a connection of the pool,
// for which it waits no longer than for one to append to the audit log with.
func (s *Store) freshGate(ctx context.Context, who acl.Identity) (*Gate, error) {
	ctx, cancel := context.WithTimeout(ctx, s.appender.opts.Timeout)
	defer cancel()
	free := *s
	free.tx = nil
	gate, err := free.Gate(ctx, who, Ahead{})
	if err == nil {
		gate.Known = nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w: no connection to check the caller on", mem.ErrUnavailable)
	}
	return gate, err
}

// Gate reads the gate of a caller, together with the steps a call wants to run at the same
// time.
func (s *Store) Gate(ctx context.Context, who acl.Identity, ahead Ahead) (*Gate, error) {
	var row queries.GateReadRow
	known := true
	gate := func(ctx context.Context, q *queries.Queries) error {
		r, err := q.GateRead(ctx, queries.GateReadParams{
			Tenant: who.Tenant(), KeyID: optionalKey(who.KeyID()), Namespaces: who.Scope().Namespaces(),
		})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			known = false
			return nil
		case err != nil:
			return err
		}
		row = r
		return nil
	}
	ahead.first = gate
	if err := s.Fetch(ctx, ahead); err != nil {
		return nil, err
	}
	if s.tx != nil && known && row.Isolation != "read committed" {
		// The host's snapshot may be older than a revocation: the gate has to see what is.
		return s.freshGate(ctx, who)
	}
	out := &Gate{
		TenantKnown: known, TenantSuspended: row.SuspendedAt != nil,
		KeyKnown: row.KeyID != nil, KeyExpires: utc(row.KeyExpiresAt), KeyRevoked: utc(row.KeyRevokedAt),
		raw: bytes.Clone(row.Policies),
	}
	// Empty is by far the most common; "[]" needs no decoder.
	if known && len(row.Policies) > len("[]") {
		decoder := json.NewDecoder(bytes.NewReader(row.Policies))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&out.Policies); err != nil {
			// A policy that cannot be read, or that says more than this build understands, must
			// refuse, not permit.
			return nil, &fault{kind: mem.ErrUnavailable, text: ": a stored policy cannot be read", cause: err}
		}
	}
	if known && s.tx == nil {
		out.Known = s.known.keepPolicies(who.Namespace().String(), row.Policies, out.Policies)
	}
	return out, nil
}
