package kerneltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
)

// Audit returns every audit row of the database, oldest first: of all tenants, of callers
// without an identity, of the host itself. Unlike the AuditSearch syscall it leaves no row.
func (t *Kit) Audit() []kernel.AuditEvent {
	t.tb.Helper()
	events, err := pgtest.AuditLog(t.tb.Context(), t.Pool)
	if err != nil {
		t.tb.Fatal(err)
	}
	return events
}

// RequireAudit runs fn and ends the test unless it left exactly one audit row, of the given
// operation and result and with a detail that has each of the given key=value parts. It
// returns the row. Nothing else may use the database meanwhile.
func (t *Kit) RequireAudit(tb testing.TB, op kernel.Op, result kernel.AuditResult, fn func(), detail ...string) kernel.AuditEvent {
	tb.Helper()
	before := t.Audit()
	fn()
	after := t.Audit()
	if len(after) != len(before)+1 {
		tb.Fatalf("the call left %d audit rows, want 1: %v", len(after)-len(before), after[len(before):])
	}
	row := after[len(after)-1]
	if row.Op != op || row.Result != result {
		tb.Fatalf("audit row is %s %s (%s), want %s %s", row.Op, row.Result, row.Detail, op, result)
	}
	parts := strings.Fields(row.Detail)
	for _, want := range detail {
		if !slices.Contains(parts, want) {
			tb.Fatalf("audit detail is %q, without %q", row.Detail, want)
		}
	}
	return row
}
