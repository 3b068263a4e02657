// Package audit defines the audit row: what a call leaves behind, whoever asks and however
// it ends. Rows are only ever appended; the package must never offer a way to change one.
package audit

import (
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Result says how a call ended.
type Result string

// The results.
const (
	ResultOK     Result = "ok"
	ResultDenied Result = "denied" // refused: role, policy, rate, tenant, or an invisible target
	ResultMiss   Result = "miss"   // nothing there
	ResultError  Result = "error"
)

// Nobody stands for the tenant and the namespace of a caller without an identity; no
// namespace is spelt like it by accident, since actor is AnonymousActor then.
const (
	Nobody         = "-"
	AnonymousActor = "anonymous"
	// HostActor is the actor of what the host itself does, such as Bootstrap.
	HostActor = "host"
	// ConflictActor is the actor of the check for contradictions, which nobody calls. Its rows have
	// the namespace of the memories, and neither key nor agent.
	ConflictActor = "system:conflict"
)

// Event is one audit row.
type Event struct {
	// Seq orders rows within the database. Numbers are unique and grow, with gaps where a
	// transaction was rolled back; the database assigns it.
	Seq int64
	// Call identifies the call; a call has one row.
	Call mem.ID
	// Time is when the call began.
	Time time.Time
	// Tenant and Namespace are the caller's own, never the target's.
	Tenant, Namespace string
	// Actor, KeyID and AgentID identify the caller.
	Actor, KeyID, AgentID string
	Op                    acl.Op
	// MemoryID is the memory the call named or made, zero if none or several.
	MemoryID mem.ID
	// Purpose is the query text, at most MaxPurpose characters; empty for sensitive calls.
	Purpose string
	Result  Result
	// Detail is logfmt: space-separated key=value, values quoted where needed.
	Detail string
}

// MaxPurpose is the most characters (runes) of a query that the audit log keeps.
const MaxPurpose = 200

// Purpose returns the part of a query that the audit log keeps: its first MaxPurpose
// characters, cut on a character boundary.
func Purpose(query string) string {
	n := 0
	for i := range query {
		if n == MaxPurpose {
			return query[:i]
		}
		n++
	}
	return query
}
