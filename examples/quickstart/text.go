package main

import (
	"strings"

	"github.com/memkernel/memkernel/examples/internal/console"
)

// below strips the tenant from a path; "" is the tenant itself.
func below(tenant, path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, tenant), "/")
}

// listed joins the first names of a list.
func listed(names []string) string {
	const most = 3
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + " and " + console.Grouped(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
