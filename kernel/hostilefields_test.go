package kernel_test

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// field is one text that a caller or a host hands to the kernel.
type field struct {
	// name is what an error must name.
	name string
	op   kernel.Op
	// accepts says whether a value is taken, or with which error it is refused.
	accepts func(value string) error
	// send makes a call and returns what was kept of the value.
	send func(ctx context.Context, value string) (kept string, err error)
	// detail is the key of the audit detail that holds the value, if one does.
	detail string
}

func acceptsLabel(limit int) func(string) error {
	return func(value string) error {
		switch {
		case len(value) > limit:
			return kernel.ErrTooLarge
		case !utf8.ValidString(value), strings.Contains(value, "\x00"):
			return kernel.ErrInvalid
		default:
			return nil
		}
	}
}

// acceptsActor is acceptsText for the name of a caller, which is on one line.
func acceptsActor(value string) error {
	if err := acceptsText(256)(value); err != nil {
		return err
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return kernel.ErrInvalid
	}
	return nil
}

func acceptsText(limit int) func(string) error {
	return func(value string) error {
		if strings.TrimSpace(value) == "" {
			return kernel.ErrInvalid
		}
		return acceptsLabel(limit)(value)
	}
}

func acceptsQuery(value string) error {
	if strings.TrimSpace(value) == "" {
		return kernel.ErrInvalid
	}
	return nil
}

// acceptsNone is a closed list that none of the texts is on.
func acceptsNone(string) error { return kernel.ErrInvalid }

// acceptsDefault is a closed list with a default for the empty text.
func acceptsDefault(value string) error {
	if value == "" {
		return nil
	}
	return kernel.ErrInvalid
}

func acceptsDriver(value string) error {
	if value == "" || value == "-" {
		return nil
	}
	return kernel.ErrInvalid
}

// acceptsTenant: "-" is what the audit log calls callers without a tenant.
func acceptsTenant(value string) error {
	if _, err := acl.ParseNamespace(value); err != nil || strings.Contains(value, "/") || value == "-" {
		return kernel.ErrInvalid
	}
	return nil
}

func hostileFields(k *kerneltest.Kit, who kernel.Identity) map[string]field {
	fields := map[string]field{
		"search query": {"Query", "search", acceptsQuery, func(ctx context.Context, value string) (string, error) {
			_, err := k.Search(ctx, who, kernel.SearchRequest{Query: value})
			return value, err
		}, ""},
		"search driver": {"Driver", "search", acceptsDriver, func(ctx context.Context, value string) (string, error) {
			_, err := k.Search(ctx, who, kernel.SearchRequest{Query: "a fact", Driver: value})
			return value, err
		}, ""},
		"search kind": {"Kinds[1]", "search", acceptsNone, func(ctx context.Context, value string) (string, error) {
			_, err := k.Search(ctx, who, kernel.SearchRequest{Query: "a fact", Kinds: []kernel.Kind{"fact", kernel.Kind(value)}})
			return value, err
		}, ""},
		"retract reason": {"Reason", "retract", acceptsLabel(1024), func(ctx context.Context, value string) (string, error) {
			rep, err := k.Write(ctx, who, kernel.WriteRequest{Text: "To be retracted."})
			if err != nil {
				return "", err
			}
			id := append(rep.Stored, rep.Deduplicated...)[0]
			if _, err := k.Retract(ctx, who, kernel.RetractRequest{ID: id, Reason: value}); err != nil {
				return "", err
			}
			return keptColumn(ctx, k, "end_note", id)
		}, ""},
	}
	for name, add := range map[string]func(*kerneltest.Kit, kernel.Identity) map[string]field{
		"write": hostileWrites, "audit": hostileAudits, "key": hostileKeys, "policy": hostilePolicies, "host": hostileHost,
	} {
		for field, f := range add(k, who) {
			fields[name+" "+field] = f
		}
	}
	return fields
}

// keptColumn reads what is kept of a memory, without a call.
func keptColumn(ctx context.Context, k *kerneltest.Kit, name string, id kernel.ID) (kept string, err error) {
	err = k.Pool.QueryRow(ctx, "SELECT "+name+" FROM memkernel.memory_objects WHERE id = $1::text::uuid", id.String()).Scan(&kept)
	return kept, err
}

func hostileWrites(k *kerneltest.Kit, who kernel.Identity) map[string]field {
	one := func(name string, accepts func(string) error, kept string, change func(*kernel.WriteRequest, string)) field {
		return field{name, "write", accepts, func(ctx context.Context, value string) (string, error) {
			req := kernel.WriteRequest{Text: "A fact."}
			change(&req, value)
			rep, err := k.Write(ctx, who, req)
			if err != nil || kept == "" || len(rep.Stored) == 0 {
				return value, err
			}
			return keptColumn(ctx, k, kept, rep.Stored[0])
		}, ""}
	}
	n := 0
	return map[string]field{
		"text": one("Text", acceptsText(1<<20), "text", func(r *kernel.WriteRequest, v string) { r.Text = v }),
		"kind": one("Kind", acceptsDefault, "", func(r *kernel.WriteRequest, v string) { r.Kind = kernel.Kind(v) }),
		"source": one("Source", acceptsLabel(1024), "source", func(r *kernel.WriteRequest, v string) {
			n++
			r.Text, r.Source = fmt.Sprintf("Fact %d.", n), v
		}),
		"key": one("IdempotencyKey", acceptsLabel(256), "", func(r *kernel.WriteRequest, v string) { r.IdempotencyKey = v }),
	}
}

func hostileAudits(k *kerneltest.Kit, who kernel.Identity) map[string]field {
	one := func(name string, change func(*kernel.AuditSearchRequest, string)) field {
		return field{name, "audit_search", acceptsLabel(256), func(ctx context.Context, value string) (string, error) {
			req := kernel.AuditSearchRequest{Limit: 3}
			change(&req, value)
			for _, err := range k.AuditSearch(ctx, who, req) {
				if err != nil {
					return "", err
				}
			}
			return value, nil
		}, ""}
	}
	return map[string]field{
		"actor": one("Actor", func(r *kernel.AuditSearchRequest, v string) { r.Actor = v }),
		"op":    one("Ops[0]", func(r *kernel.AuditSearchRequest, v string) { r.Ops = []kernel.Op{kernel.Op(v)} }),
		"result": one("Results[1]", func(r *kernel.AuditSearchRequest, v string) {
			r.Results = []kernel.AuditResult{"ok", kernel.AuditResult(v)}
		}),
	}
}

func hostileKeys(k *kerneltest.Kit, who kernel.Identity) map[string]field {
	one := func(name string, accepts func(string) error, detail string, change func(*kernel.KeyRequest, string), kept func(*kernel.Key, string) string) field {
		return field{name, "key_create", accepts, func(ctx context.Context, value string) (string, error) {
			req := kernel.KeyRequest{Actor: "user:dana", Role: kernel.RoleAgent}
			change(&req, value)
			cred, err := k.Keys().Create(ctx, who, req)
			if err != nil {
				return "", err
			}
			// What it says about itself is what a login with it resolves to.
			id, err := k.Authenticate(ctx, cred.Secret)
			if err != nil || id.Actor() != cred.Key.Actor || id.AgentID() != cred.Key.AgentID {
				return "", fmt.Errorf("the key is %+v, its holder %q and %q (%w)", cred.Key, id.Actor(), id.AgentID(), err)
			}
			return kept(&cred.Key, value), nil
		}, detail}
	}
	return map[string]field{
		"actor": one("Actor", acceptsActor, "holder", func(r *kernel.KeyRequest, v string) { r.Actor = v },
			func(key *kernel.Key, _ string) string { return key.Actor }),
		"agent": one("AgentID", acceptsLabel(256), "", func(r *kernel.KeyRequest, v string) { r.AgentID = v },
			func(key *kernel.Key, v string) string {
				return strings.TrimPrefix(key.AgentID, strings.Repeat("library", max(0, 1-len(v))))
			}),
		"label": one("Label", acceptsLabel(256), "", func(r *kernel.KeyRequest, v string) { r.Label = v },
			func(key *kernel.Key, _ string) string { return key.Label }),
		"role": one("Role", acceptsNone, "", func(r *kernel.KeyRequest, v string) { r.Role = kernel.Role(v) }, nil),
		"provenance": one("Provenance", acceptsDefault, "", func(r *kernel.KeyRequest, v string) { r.Provenance = kernel.Provenance(v) },
			func(_ *kernel.Key, v string) string { return v }),
	}
}

func hostilePolicies(k *kerneltest.Kit, who kernel.Identity) map[string]field {
	ruled, _ := acl.ParseNamespace("acme/ruled") // if it were not valid, the caller's own would be ruled
	one := func(name string, accepts func(string) error, change func(*kernel.Policy, string)) field {
		return field{name, "policy_put", accepts, func(ctx context.Context, value string) (string, error) {
			req := kernel.PutPolicyRequest{Namespace: ruled}
			change(&req.Policy, value)
			_, err := k.Policies().Put(ctx, who, req)
			return value, err
		}, ""}
	}
	named := func(value string) error {
		if value == "-" {
			return nil
		}
		return kernel.ErrInvalid
	}
	return map[string]field{
		"driver":  one("driver", acceptsDriver, func(p *kernel.Policy, v string) { p.Driver = v }),
		"drivers": one("allowedDrivers[0]", named, func(p *kernel.Policy, v string) { p.AllowedDrivers = []string{v} }),
		"kinds":   one("write.kinds[0]", acceptsNone, func(p *kernel.Policy, v string) { p.Write.Kinds = []kernel.Kind{kernel.Kind(v)} }),
	}
}

func hostileHost(k *kerneltest.Kit, _ kernel.Identity) map[string]field {
	n := 0
	fresh := func() string { n++; return fmt.Sprintf("tenant-%d", n) }
	return map[string]field{
		"bootstrap tenant": {"Tenant", "bootstrap", acceptsTenant, func(ctx context.Context, value string) (string, error) {
			_, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: value, Actor: "user:root"})
			return value, err
		}, ""},
		"bootstrap actor": {"Actor", "bootstrap", acceptsActor, func(ctx context.Context, value string) (string, error) {
			_, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: fresh(), Actor: value})
			return value, err
		}, "holder"},
		"bootstrap label": {"Label", "bootstrap", acceptsLabel(256), func(ctx context.Context, value string) (string, error) {
			_, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: fresh(), Actor: "user:root", Label: value})
			return value, err
		}, ""},
		"suspend tenant": {"Tenant", "tenant_suspend", acceptsTenant, func(ctx context.Context, value string) (string, error) {
			return value, k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: value}) // made above
		}, ""},
		"resume reason": {"Reason", "tenant_resume", acceptsLabel(256), func(ctx context.Context, value string) (string, error) {
			return value, k.Tenants().Resume(ctx, kernel.TenantRequest{Tenant: "acme", Reason: value})
		}, "reason"},
	}
}
