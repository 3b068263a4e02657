package acl

import "slices"

// Role says which operations an identity may call; the namespace says on what.
type Role string

// The roles, from least to most powerful but for the auditor, who stands aside: an auditor
// reads and audits and changes nothing.
const (
	RoleAgent   Role = "agent"
	RoleMember  Role = "member"
	RoleAuditor Role = "auditor"
	RoleAdmin   Role = "admin"
	RoleOwner   Role = "owner"
)

// Valid reports whether r is one of the roles above.
func (r Role) Valid() bool { return r.rank() > 0 }

// rank orders roles for key making. The auditor shares the agent's rank: any maker of keys
// may make one.
func (r Role) rank() int {
	switch r {
	case RoleAgent, RoleAuditor:
		return 1
	case RoleMember:
		return 2
	case RoleAdmin:
		return 3
	case RoleOwner:
		return 4
	default:
		return 0
	}
}

// MayGrant reports whether a key of role r may make a key of role other: never one above
// its own. That it may make keys at all is for [Allowed] to say.
func (r Role) MayGrant(other Role) bool { return other.Valid() && r.rank() >= other.rank() }

// Op names an operation, as it stands in the audit log.
type Op string

// The operations.
const (
	OpRead        Op = "read"
	OpSearch      Op = "search"
	OpWrite       Op = "write"
	OpWriteAsync  Op = "write_async"
	OpTicket      Op = "ticket"
	OpWaitVisible Op = "wait_visible"
	OpRetract     Op = "retract"
	OpHistory     Op = "history"
	OpStats       Op = "stats"
	OpAuditSearch Op = "audit_search"
	OpKeyCreate   Op = "key_create"
	OpKeyRevoke   Op = "key_revoke"
	OpKeyRotate   Op = "key_rotate"
	OpKeyList     Op = "key_list"
	OpPolicyPut   Op = "policy_put"
	OpPolicyGet   Op = "policy_get"
	OpEntityList  Op = "entity_list"
	OpEntityGet   Op = "entity_get"
	OpEntityMerge Op = "entity_merge"
	OpEntitySplit Op = "entity_split"

	OpConflictList    Op = "conflict_list"
	OpConflictResolve Op = "conflict_resolve"

	// These have no caller identity; the host itself calls them.
	OpAuthenticate  Op = "authenticate"
	OpBootstrap     Op = "bootstrap"
	OpTenantSuspend Op = "tenant_suspend"
	OpTenantResume  Op = "tenant_resume"

	// This is what a worker does, for nobody.
	OpConflictCheck Op = "conflict_check"
)

// Allowed is the role table: whether role may call op at all. An unknown role or operation
// is refused, and so is an operation that only the host or a worker performs.
func Allowed(role Role, op Op) bool {
	var roles []Role
	switch op {
	case OpRead, OpSearch, OpHistory, OpStats, OpPolicyGet, OpEntityList, OpEntityGet:
		roles = []Role{RoleAgent, RoleMember, RoleAuditor, RoleAdmin, RoleOwner}
	case OpWrite, OpWriteAsync, OpTicket, OpWaitVisible, OpRetract:
		roles = []Role{RoleAgent, RoleMember, RoleAdmin, RoleOwner}
	case OpAuditSearch:
		roles = []Role{RoleAuditor, RoleAdmin, RoleOwner}
	case OpKeyCreate, OpKeyRevoke, OpKeyRotate, OpKeyList, OpPolicyPut, OpEntityMerge, OpEntitySplit,
		OpConflictList, OpConflictResolve:
		roles = []Role{RoleAdmin, RoleOwner}
	case OpAuthenticate, OpBootstrap, OpTenantSuspend, OpTenantResume, OpConflictCheck:
		return false
	default:
		return false
	}
	return slices.Contains(roles, role)
}
