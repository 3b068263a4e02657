package kerneltest

import (
	"sync"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
)

// lockedTime is a time that several goroutines share.
type lockedTime struct {
	mu sync.Mutex
	t  time.Time
}

func (l *lockedTime) load() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.t
}

func (l *lockedTime) store(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = t
}

func (l *lockedTime) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = l.t.Add(d)
}

// owners holds the owner of each tenant that the kit has made.
type owners struct {
	mu       sync.Mutex
	byTenant map[string]acl.Identity
}

// owner returns the tenant's owner, making the tenant first if needed.
func (t *Kit) owner(tenant string) acl.Identity {
	t.tb.Helper()
	t.owners.mu.Lock()
	defer t.owners.mu.Unlock()
	if id, ok := t.owners.byTenant[tenant]; ok {
		return id
	}
	ctx := t.tb.Context()
	cred, err := t.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: tenant, Actor: "test:bootstrap"})
	if err != nil {
		t.tb.Fatalf("bootstrap tenant %q: %v", tenant, err)
	}
	id, err := t.Authenticate(ctx, cred.Secret)
	if err != nil {
		t.tb.Fatalf("authenticate owner of %q: %v", tenant, err)
	}
	t.owners.byTenant[tenant] = id
	return id
}
