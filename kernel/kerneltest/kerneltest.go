// Package kerneltest helps to test what uses the kernel: a kernel on a database of its own in
// milliseconds, keys for any namespace and role, a clock that tests set, models that tests
// script, and assertions on the audit log.
//
// The databases live on one private Postgres that all test binaries of the user share while
// they run; see [Open]. Nothing in this package is for production.
package kerneltest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
)

// Kit is a kernel under test. It is safe for concurrent use.
type Kit struct {
	*kernel.Kernel
	// Pool is the pool that the kernel runs on, for tests that look behind it.
	Pool *pgxpool.Pool
	// Clock is the kernel's clock, unless an option of the test replaced it.
	Clock *Clock

	tb     testing.TB
	owners owners
}

// Open returns a kernel on a new, migrated database with a fake clock; options come last and
// win. The database is dropped at the end of the test. The first call on a machine provides
// a Postgres (see package embedded) and may take a minute; from then on a call takes
// milliseconds. If the environment variable MEMKERNEL_TEST_DATABASE_URL names a server, the
// databases are made there. Open ends the test if it fails.
func Open(tb testing.TB, opts ...kernel.Option) *Kit {
	tb.Helper()
	return OpenOn(tb, pgtest.Open(tb), opts...)
}

// OpenOn is Open on a pool of the test's own, whose database must be migrated.
func OpenOn(tb testing.TB, pool *pgxpool.Pool, opts ...kernel.Option) *Kit {
	tb.Helper()
	clock := NewClock()
	k, err := kernel.Open(pool, append([]kernel.Option{kernel.WithClock(clock.Now)}, opts...)...)
	if err != nil {
		tb.Fatalf("open kernel: %v", err)
	}
	tb.Cleanup(func() {
		if err := k.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("close kernel: %v", err)
		}
	})
	return &Kit{Kernel: k, Pool: pool, Clock: clock, tb: tb, owners: owners{byTenant: map[string]acl.Identity{}}}
}

// Namespace parses a path and ends the test if it is malformed.
func Namespace(tb testing.TB, path string) kernel.Namespace {
	tb.Helper()
	ns, err := acl.ParseNamespace(path)
	if err != nil {
		tb.Fatalf("namespace %q: %v", path, err)
	}
	return ns
}

// Key makes a key in the namespace with the role and returns the identity that it resolves
// to. The actor is "test:" and the role. The tenant is made at its first key.
func (t *Kit) Key(ns string, role kernel.Role) kernel.Identity {
	t.tb.Helper()
	id, _ := t.Credential(ns, role)
	return id
}

// Credential is Key and also returns the credential.
func (t *Kit) Credential(ns string, role kernel.Role) (kernel.Identity, *kernel.Credential) {
	t.tb.Helper()
	ctx := t.tb.Context()
	parsed := Namespace(t.tb, ns)
	owner := t.owner(parsed.Tenant())
	cred, err := t.Keys().Create(ctx, owner, kernel.KeyRequest{Namespace: parsed, Actor: "test:" + string(role), Role: role})
	if err != nil {
		t.tb.Fatalf("make key for %s in %s: %v", role, ns, err)
	}
	id, err := t.Authenticate(ctx, cred.Secret)
	if err != nil {
		t.tb.Fatalf("authenticate: %v", err)
	}
	return id, cred
}

// Clock is a clock that stands still until a test moves it. It is safe for concurrent use.
type Clock struct{ now lockedTime }

// NewClock returns a clock that stands at noon UTC on 1 March 2026.
func NewClock() *Clock {
	c := &Clock{}
	c.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return c
}

// Now returns the time.
func (c *Clock) Now() time.Time { return c.now.load() }

// Set moves the clock to a time, also backwards.
func (c *Clock) Set(t time.Time) { c.now.store(t) }

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.now.add(d) }
