package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// maxCredential is the largest credential looked at, in bytes; a signed token of a host's
// own login fits.
const maxCredential = 16 << 10

// BootstrapRequest asks for the first owner key of a tenant.
type BootstrapRequest struct {
	// Tenant is the first segment of the tenant's namespaces, without a slash. It must not be
	// "-", which stands for callers without a tenant in the audit log.
	Tenant string
	// Actor names who will hold the key, for example "user:dana".
	Actor string
	// Label is a note to find the key by; it may be empty.
	Label string
}

// Credential is a new key with its secret. The secret is not stored and not shown again.
type Credential struct {
	// Secret is what Authenticate takes.
	Secret string
	// Key describes the key.
	Key Key
}

// String hides the secret, so that a Credential printed by accident gives nothing away.
func (c Credential) String() string { return "credential " + c.Key.Prefix + "…" }

// GoString hides the secret like String.
func (c Credential) GoString() string { return c.String() }

// LogValue hides the secret from structured logs.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Bootstrap makes a tenant and its first owner key, at the tenant's root. It asks for no
// identity: who can call it owns the process. It answers ErrConflict while the tenant has a
// usable owner key, so a repeat call gives away nothing; once every owner key is revoked or
// expired it makes a new one. Of concurrent calls one succeeds. The audit row's actor is "host".
func (k *Kernel) Bootstrap(ctx context.Context, req BootstrapRequest) (*Credential, error) {
	ns, err := parseTenant(req.Tenant)
	if err != nil {
		return nil, k.hostCall(ctx, acl.OpBootstrap, audit.Nobody, err, nil)
	}
	spec := KeyRequest{Namespace: ns, Actor: req.Actor, Role: acl.RoleOwner, Label: req.Label}
	if err := spec.validate(); err != nil {
		return nil, k.hostCall(ctx, acl.OpBootstrap, req.Tenant, err, nil)
	}
	now := k.clock()
	cred, key := makeKey(&spec, now)
	err = k.hostCall(ctx, acl.OpBootstrap, req.Tenant, nil, func(event *audit.Event) error {
		event.Detail = new(audit.Detail).Str("key", key.ID.String()).Str("holder", key.Actor).String()
		return k.store.Bootstrap(ctx, key, now, event)
	})
	if err != nil {
		return nil, err
	}
	return cred, nil
}

// hostCall runs what the host itself does, outside any caller's identity: change commits its
// audit row with the change, and a failure is recorded on its own.
func (k *Kernel) hostCall(ctx context.Context, op acl.Op, tenant string, err error, change func(*audit.Event) error) error {
	now := k.clock()
	event := audit.Event{
		Call: newID(now), Time: now, Tenant: tenant, Namespace: tenant, Actor: audit.HostActor, Op: op, Result: audit.ResultOK,
	}
	if err == nil {
		if err = change(&event); err == nil {
			return nil
		}
	}
	c := call{op: op}
	cur := &current{event: event}
	cur.event.Detail = ""
	return k.settle(ctx, &c, cur, true, err)
}

// Authenticate resolves a credential to an identity. A credential of the kernel's own form is
// looked up by its public prefix and compared in constant time; any other goes to the host's
// Authenticator, if there is one. An unknown, expired or revoked credential is
// ErrUnauthenticated, with the same message and work for each. The identity can be kept and
// used for many calls: its key is checked again on every one, so a revocation takes effect at
// once.
//
// A success leaves no audit row, the calls that follow do. A failure leaves one, under the
// tenant of the key if the credential is one of ours that has ended; a flood of others is
// recorded as a count.
func (k *Kernel) Authenticate(ctx context.Context, credential string) (acl.Identity, error) {
	id, key, err := k.resolve(ctx, credential)
	if err == nil {
		return id, nil
	}
	reason, result := "unknown", audit.ResultDenied
	switch {
	case key != nil:
		reason = "key_ended"
	case errors.Is(err, mem.ErrUnauthenticated):
	case ctx.Err() != nil:
		reason, result, err = "cancelled", audit.ResultError, ctx.Err()
	case errors.Is(err, mem.ErrUnavailable):
		// A host's login that failed, among others; what its error wraps means nothing here.
		reason, result = "unavailable", audit.ResultError
	default:
		result = audit.ResultError
		reason, err = k.plain(ctx, acl.OpAuthenticate, err)
	}
	if recordErr := k.recordFailure(ctx, key, result, reason); recordErr != nil {
		err = recordErr
	}
	return acl.Identity{}, &mem.OpError{Op: acl.OpAuthenticate, Err: err}
}

// resolve returns the identity or, with ErrUnauthenticated, the key that has ended.
func (k *Kernel) resolve(ctx context.Context, credential string) (acl.Identity, *store.Key, error) {
	if credential == "" || len(credential) > maxCredential {
		return acl.Identity{}, nil, mem.ErrUnauthenticated
	}
	prefix, own := credentialPrefix(credential)
	if !own {
		id, err := k.resolveHost(ctx, credential)
		return id, nil, err
	}
	// A prefix is ASCII or finds nothing; what Postgres would refuse must not reach it.
	keys, err := k.store.KeysByPrefix(ctx, mem.CleanQuery(prefix))
	if err != nil {
		return acl.Identity{}, nil, err
	}
	key := matchKey(keys, credential)
	if key == nil {
		return acl.Identity{}, nil, mem.ErrUnauthenticated
	}
	if now := k.clock(); ended(key.ExpiresAt, now) || ended(key.RevokedAt, now) {
		return acl.Identity{}, key, mem.ErrUnauthenticated
	}
	return k.identityOf(key), nil, nil
}

func (k *Kernel) identityOf(key *store.Key) acl.Identity {
	return acl.NewIdentity(k.issuer, acl.Claims{
		Namespace: key.Namespace, Actor: key.Actor, Role: key.Role, KeyID: key.ID.String(), AgentID: key.AgentID,
		Provenance: string(key.Provenance), ExpiresAt: key.ExpiresAt,
	})
}

func (k *Kernel) resolveHost(ctx context.Context, credential string) (acl.Identity, error) {
	if k.authenticator == nil {
		return acl.Identity{}, mem.ErrUnauthenticated
	}
	claims, err := k.askHost(ctx, credential)
	switch {
	case errors.Is(err, mem.ErrUnauthenticated):
		return acl.Identity{}, mem.ErrUnauthenticated
	case err != nil:
		return acl.Identity{}, fmt.Errorf("%w: authenticator: %w", mem.ErrUnavailable, err)
	}
	// The kernel's own keys are the only ones it can check again.
	claims.KeyID = ""
	if claims.Provenance == "" {
		claims.Provenance = string(defaultProvenance(claims.Role))
	}
	if field := invalidClaim(&claims); field != "" {
		k.logger.LogAttrs(ctx, slog.LevelWarn, "the host's login vouched for an invalid identity", slog.String("field", field))
		return acl.Identity{}, mem.ErrUnauthenticated
	}
	if ended(claims.ExpiresAt, k.clock()) {
		return acl.Identity{}, mem.ErrUnauthenticated
	}
	return acl.NewIdentity(k.issuer, claims), nil
}

// invalidClaim names the first field that no identity can have, or is empty.
func invalidClaim(claims *acl.Claims) string {
	switch {
	case claims.Namespace.IsZero():
		return "Namespace"
	case !claims.Role.Valid():
		return "Role"
	case checkActor(claims.Actor) != nil:
		return "Actor"
	case mem.CheckLabel("AgentID", claims.AgentID, maxActor) != nil:
		return "AgentID"
	case !mem.Provenance(claims.Provenance).Valid():
		return "Provenance"
	default:
		return ""
	}
}

func (k *Kernel) askHost(ctx context.Context, credential string) (claims acl.Claims, err error) {
	defer func() {
		if r := recover(); r != nil {
			k.logPanic(ctx, "authenticator", r)
			err = mem.ErrInternal
		}
	}()
	return k.authenticator.Authenticate(ctx, credential)
}

// failureLog bounds what anonymous failures cost: a burst has a row each, and beyond one row
// a second a failure is counted and the count goes out with the next row.
type failureLog struct {
	mu         sync.Mutex
	tokens     float64
	last       time.Time
	suppressed int64
}

const (
	failureBurst     = 10
	failurePerSecond = 1
)

// take says whether a failure has a row of its own, and how many before it had none.
func (f *failureLog) take(now time.Time) (suppressed int64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.IsZero() {
		f.tokens = failureBurst
	} else if passed := now.Sub(f.last).Seconds(); passed > 0 {
		f.tokens = min(failureBurst, f.tokens+passed*failurePerSecond)
	}
	f.last = now
	if f.tokens < 1 {
		f.suppressed++
		return 0, false
	}
	f.tokens--
	suppressed, f.suppressed = f.suppressed, 0
	return suppressed, true
}

// drain returns the count that no row holds yet.
func (f *failureLog) drain() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.suppressed
	f.suppressed = 0
	return n
}

// restore takes back a count whose row could not be written.
func (f *failureLog) restore(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.suppressed += n
}

// recordFailure records a failed Authenticate, of the holder of key or else of nobody known.
func (k *Kernel) recordFailure(ctx context.Context, key *store.Key, result audit.Result, reason string) error {
	now := k.clock()
	if key != nil {
		event := k.newEvent(&call{op: acl.OpAuthenticate, who: k.identityOf(key)}, now)
		return k.appendFailure(ctx, &event, result, reason, 0)
	}
	suppressed, ok := k.failures.take(now)
	if !ok {
		return nil
	}
	event := k.newEvent(&call{op: acl.OpAuthenticate}, now)
	return k.appendFailure(ctx, &event, result, reason, suppressed)
}

func (k *Kernel) appendFailure(ctx context.Context, event *audit.Event, result audit.Result, reason string, suppressed int64) error {
	detail := new(audit.Detail).Str("reason", reason)
	if suppressed > 0 {
		detail.Int("suppressed", suppressed)
	}
	event.Result, event.Detail = result, detail.String()
	if _, err := k.store.Append(ctx, event, nil); err != nil {
		k.failures.restore(suppressed)
		return k.notRecorded(ctx, event.Op, err)
	}
	return nil
}

// flushFailures records the failures that were only counted.
func (k *Kernel) flushFailures(ctx context.Context) error {
	n := k.failures.drain()
	if n == 0 {
		return nil
	}
	event := k.newEvent(&call{op: acl.OpAuthenticate}, k.clock())
	return k.appendFailure(ctx, &event, audit.ResultDenied, "unknown", n)
}
