package kernel

import (
	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// Types of the leaf packages under the names that a host uses them by.
type (
	// Identity says who calls; see acl.Identity.
	Identity = acl.Identity
	// Namespace is a validated path; see acl.ParseNamespace.
	Namespace = acl.Namespace
	// Role says which operations an identity may call.
	Role = acl.Role
	// Op names an operation.
	Op = acl.Op

	// ID identifies a memory or another record.
	ID = mem.ID
	// Memory is one atomic memory as a caller sees it.
	Memory = mem.Memory
	// Kind says what sort of thing a memory is.
	Kind = mem.Kind
	// Provenance is a trust class.
	Provenance = mem.Provenance
	// Score is a ranking score on the ranker's own scale.
	Score = mem.Score
	// Policy is the rules for a namespace and what lies below it.
	Policy = mem.Policy
	// RateLimit is a token bucket of a Policy.
	RateLimit = mem.RateLimit
	// WritePolicy is the part of a Policy that bounds writes.
	WritePolicy = mem.WritePolicy
	// SecretRule says what becomes of a text with a secret in it.
	SecretRule = mem.SecretRule
	// ConflictReview says what may become of two memories that contradict each other.
	ConflictReview = mem.ConflictReview
	// Classification says what a text holds that must be kept close.
	Classification = mem.Classification
	// Sensitivity says how closely a text is to be kept.
	Sensitivity = mem.Sensitivity
	// Destination is a class of places that a text can be sent to.
	Destination = mem.Destination
	// Label says how a text speaks.
	Label = mem.Label
	// RejectReason says why a candidate did not become a memory.
	RejectReason = mem.RejectReason
	// PolicyVersion is one stored version of a Policy.
	PolicyVersion = mem.PolicyVersion

	// AuditEvent is one audit row.
	AuditEvent = audit.Event
	// AuditResult says how a call ended.
	AuditResult = audit.Result

	// OpError is what every syscall returns on failure.
	OpError = mem.OpError
	// InvalidError is an ErrInvalid that names the field.
	InvalidError = mem.InvalidError
	// TooLargeError is an ErrTooLarge that names the field and the limit.
	TooLargeError = mem.TooLargeError
	// RateLimitError is an ErrRateLimited that says when to retry.
	RateLimitError = mem.RateLimitError
)

// The roles; see acl.Allowed for what each may call.
const (
	RoleAgent   = acl.RoleAgent
	RoleMember  = acl.RoleMember
	RoleAuditor = acl.RoleAuditor
	RoleAdmin   = acl.RoleAdmin
	RoleOwner   = acl.RoleOwner
)

// The sentinel errors, the same values as in package mem; compare with errors.Is.
var (
	ErrUnauthenticated = mem.ErrUnauthenticated
	ErrForbidden       = mem.ErrForbidden
	ErrTenantSuspended = mem.ErrTenantSuspended
	ErrRateLimited     = mem.ErrRateLimited
	ErrNotFound        = mem.ErrNotFound
	ErrInvalid         = mem.ErrInvalid
	ErrConflict        = mem.ErrConflict
	ErrUnavailable     = mem.ErrUnavailable
	ErrTooLarge        = mem.ErrTooLarge
	ErrViewClosed      = mem.ErrViewClosed
	ErrInternal        = mem.ErrInternal
)

// What Migrate and Ready say about a database that they do not work with.
var (
	// ErrSchemaMissing reports a database that lacks some or all migrations.
	ErrSchemaMissing = queries.ErrSchemaMissing
	// ErrSchemaNewer reports a database that a newer build has migrated.
	ErrSchemaNewer = queries.ErrSchemaNewer
	// ErrSchemaEdited reports an applied migration whose text is another in this build.
	ErrSchemaEdited = queries.ErrSchemaEdited
	// ErrEncoding reports a database that is not in UTF-8.
	ErrEncoding = queries.ErrEncoding
)
