package main

import (
	"context"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
)

// people are the four who ask: one in a namespace that holds memories, one in its parent, one
// in a sibling, and an auditor of the whole tenant.
type people struct{ dana, priya, omar, kim kernel.Identity }

func (p *people) all() []kernel.Identity { return []kernel.Identity{p.dana, p.priya, p.omar, p.kim} }

// hire makes the four and their keys, around the namespace home.
func hire(ctx context.Context, k *kernel.Kernel, owner kernel.Identity, s *survey, home kernel.Namespace) (*people, error) {
	parent, _ := home.Parent() // there is one: no namespace of the input is the tenant
	sibling, err := siblingOf(s, home, parent)
	if err != nil {
		return nil, err
	}
	p := &people{}
	for _, hire := range []struct {
		who   *kernel.Identity
		ns    kernel.Namespace
		actor string
		role  kernel.Role
	}{
		{&p.dana, home, "user:dana", kernel.RoleMember},
		{&p.priya, parent, "user:priya", kernel.RoleMember},
		{&p.omar, sibling, "user:omar", kernel.RoleMember},
		{&p.kim, owner.Namespace(), "user:kim", kernel.RoleAuditor},
	} {
		if *hire.who, err = issueKey(ctx, k, owner, hire.ns, hire.actor, hire.role); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// siblingOf picks another namespace of the same parent, or makes one up.
func siblingOf(s *survey, home, parent kernel.Namespace) (kernel.Namespace, error) {
	for _, ns := range s.namespaces {
		if up, _ := ns.full.Parent(); up == parent && ns.full != home {
			return ns.full, nil
		}
	}
	return acl.ParseNamespace(parent.String() + "/elsewhere")
}
