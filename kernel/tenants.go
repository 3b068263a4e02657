package kernel

import (
	"context"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Tenants suspends and resumes tenants. Like Bootstrap it is for the host and asks for no
// identity: a tenant that is suspended must not be able to lift it.
type Tenants struct{ k *Kernel }

// Tenants returns the management of tenants.
func (k *Kernel) Tenants() Tenants { return Tenants{k} }

// TenantRequest names a tenant and why its state changes.
type TenantRequest struct {
	Tenant string
	// Reason is kept with the tenant and in the audit row; at most 256 bytes.
	Reason string
}

func (r *TenantRequest) validate() error {
	if _, err := parseTenant(r.Tenant); err != nil {
		return err
	}
	return mem.CheckLabel("Reason", r.Reason, maxActor)
}

// parseTenant returns the root of a tenant's namespaces.
func parseTenant(name string) (Namespace, error) {
	ns, err := acl.ParseNamespace(name)
	var reason string
	switch {
	case err != nil:
		reason = err.Error()
	case ns.Tenant() != name:
		reason = "it has more than one segment"
	case name == audit.Nobody:
		reason = "it stands for nobody in the audit log"
	default:
		return ns, nil
	}
	return Namespace{}, &mem.InvalidError{Field: "Tenant", Reason: reason}
}

// Suspend refuses every call of the tenant's callers with ErrTenantSuspended from now on,
// until Resume. A repeat call keeps the first time and takes the new reason. An unknown
// tenant is ErrNotFound. The audit row's actor is "host".
func (t Tenants) Suspend(ctx context.Context, req TenantRequest) error {
	return t.set(ctx, acl.OpTenantSuspend, req, true)
}

// Resume lifts a suspension. A repeat call changes nothing. A tenant that does not exist is
// ErrNotFound.
func (t Tenants) Resume(ctx context.Context, req TenantRequest) error {
	return t.set(ctx, acl.OpTenantResume, req, false)
}

func (t Tenants) set(ctx context.Context, op acl.Op, req TenantRequest, suspended bool) error {
	if err := req.validate(); err != nil {
		return t.k.hostCall(ctx, op, audit.Nobody, err, nil)
	}
	return t.k.hostCall(ctx, op, req.Tenant, nil, func(event *audit.Event) error {
		event.Detail = new(audit.Detail).Str("reason", req.Reason).String()
		return t.k.store.SetSuspended(ctx, req.Tenant, suspended, req.Reason, t.k.clock(), event)
	})
}
