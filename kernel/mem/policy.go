package mem

import (
	"fmt"
	"slices"
	"time"

	"github.com/memkernel/memkernel/acl"
)

// Policy is the rules for a namespace and everything below it. The zero value rules
// nothing. Policies of a namespace and its ancestors merge into one: see MergePolicies.
type Policy struct {
	// RateLimits bounds how often one caller may call an operation. The entry "*" bounds
	// every operation, each by a bucket of its own, beside that operation's own entry.
	RateLimits map[acl.Op]RateLimit `json:"rateLimits,omitzero"`
	// Driver is the preferred retrieval driver by name.
	Driver string `json:"driver,omitzero"`
	// AllowedDrivers, when not empty, lists the drivers that may be used at all, besides the
	// built-in baseline, which cannot be excluded: it is what a search falls back on.
	AllowedDrivers []string `json:"allowedDrivers,omitzero"`
	// Sensitive keeps query texts out of the audit log.
	Sensitive bool `json:"sensitive,omitzero"`
	// Write bounds what may be written.
	Write WritePolicy `json:"write,omitzero"`
	// ConflictReview says what may become of two memories that contradict each other; empty says
	// nothing. The strictest mode of a namespace and its ancestors is in force, ReviewAuto if
	// none says anything.
	ConflictReview ConflictReview `json:"conflictReview,omitzero"`
	// HoldForReview keeps new memories out of sight until they have been checked for
	// contradictions and, if a case was opened, until somebody has decided it. A memory that is
	// to replace another replaces it then. Raw input is not held, nor is what a person (an
	// identity of provenance manual) writes to replace a memory; with ReviewOff nothing is.
	HoldForReview bool `json:"holdForReview,omitzero"`
}

// RateLimit is a token bucket: Burst calls at once, refilled at PerSecond calls a second.
type RateLimit struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
}

// WritePolicy bounds writes; the zero value of each field is no bound.
type WritePolicy struct {
	// MaxBytes is the largest text accepted, in bytes.
	MaxBytes int `json:"maxBytes,omitzero"`
	// Kinds, when not empty, lists the kinds that may be written.
	Kinds []Kind `json:"kinds,omitzero"`
	// Denied forbids writing altogether.
	Denied bool `json:"denied,omitzero"`
	// Secrets says what becomes of a text with a secret in it, such as a key or a password.
	Secrets SecretRule `json:"secrets,omitzero"`
}

// SecretRule says what becomes of a text with a secret in it.
type SecretRule string

// The rules, each stricter than the one before.
const (
	// SecretsAllow keeps the text as it is, classified as restricted; the default.
	SecretsAllow SecretRule = ""
	// SecretsRedact replaces the secret by its kind, before anything is kept or sent.
	SecretsRedact SecretRule = "redact"
	// SecretsBlock keeps nothing of the text.
	SecretsBlock SecretRule = "block"
)

// Valid reports whether r is one of the rules above.
func (r SecretRule) Valid() bool { return r == SecretsAllow || r.rank() > 0 }

func (r SecretRule) rank() int {
	return slices.Index([]SecretRule{SecretsAllow, SecretsRedact, SecretsBlock}, r)
}

// Largest values of a policy's parts.
const (
	maxPolicyList   = 64
	maxDriverName   = 64
	maxPolicyPerSec = 1_000_000
)

// Validate returns an *InvalidError that names the first offending field, or nil.
func (p *Policy) Validate() error {
	for op, l := range p.RateLimits {
		field := fmt.Sprintf("rateLimits[%s]", op)
		if op != "*" && !anyRoleMay(op) {
			return &InvalidError{Field: field, Reason: "unknown operation"}
		}
		// The comparison is written so that NaN fails it.
		if !(l.PerSecond > 0 && l.PerSecond <= maxPolicyPerSec) {
			return &InvalidError{Field: field + ".perSecond", Reason: fmt.Sprintf("%v is not above 0 and at most %d", l.PerSecond, maxPolicyPerSec)}
		}
		if l.Burst < 1 || l.Burst > maxPolicyPerSec {
			return &InvalidError{Field: field + ".burst", Reason: fmt.Sprintf("%d is not between 1 and %d", l.Burst, maxPolicyPerSec)}
		}
	}
	if len(p.AllowedDrivers) > maxPolicyList {
		return &TooLargeError{Field: "allowedDrivers", Size: int64(len(p.AllowedDrivers)), Limit: maxPolicyList, Unit: "names"}
	}
	for i, name := range p.AllowedDrivers {
		if !ValidDriverName(name) {
			return &InvalidError{Field: fmt.Sprintf("allowedDrivers[%d]", i), Reason: driverNameRule}
		}
	}
	if p.Driver != "" && !ValidDriverName(p.Driver) {
		return &InvalidError{Field: "driver", Reason: driverNameRule}
	}
	if !p.Write.Secrets.Valid() {
		return &InvalidError{Field: "write.secrets", Reason: "it is neither empty nor redact nor block"}
	}
	if p.Write.MaxBytes < 0 {
		return &InvalidError{Field: "write.maxBytes", Reason: "it is negative"}
	}
	if p.ConflictReview != "" && !p.ConflictReview.Valid() {
		return &InvalidError{Field: "conflictReview", Reason: "it is neither auto nor review nor off"}
	}
	if len(p.Write.Kinds) > maxPolicyList {
		return &TooLargeError{Field: "write.kinds", Size: int64(len(p.Write.Kinds)), Limit: maxPolicyList, Unit: "kinds"}
	}
	for i, k := range p.Write.Kinds {
		if !k.Valid() {
			return &InvalidError{Field: fmt.Sprintf("write.kinds[%d]", i), Reason: "unknown kind"}
		}
	}
	return nil
}

func anyRoleMay(op acl.Op) bool { return acl.Allowed(acl.RoleOwner, op) }

const driverNameRule = "a driver name is 1 to 64 of a-z, 0-9, '-' and '_'"

// ValidDriverName reports whether name can name a driver: 1 to 64 characters of a-z, 0-9,
// "-" and "_", so that it can stand in an audit detail as it is.
func ValidDriverName(name string) bool {
	if name == "" || len(name) > maxDriverName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// MergePolicies folds the policies of a namespace and its ancestors, root first, into the
// one in force. Restrictions only tighten on the way down: the lower rate and burst, the
// smaller size, the intersection of lists, the stricter mode, and every flag once raised stays. A preference
// (Driver) is the nearest one that the merged list allows.
func MergePolicies(rootFirst []Policy) EffectivePolicy {
	var out EffectivePolicy
	reviews := make([]ConflictReview, len(rootFirst))
	for i := range rootFirst {
		p := &rootFirst[i]
		reviews[i] = p.ConflictReview
		out.HoldForReview = out.HoldForReview || p.HoldForReview
		for op, l := range p.RateLimits {
			out.tightenRate(op, l)
		}
		out.allowedDrivers.narrow(p.AllowedDrivers)
		out.writeKinds.narrow(p.Write.Kinds)
		out.Sensitive = out.Sensitive || p.Sensitive
		out.WriteDenied = out.WriteDenied || p.Write.Denied
		if p.Write.Secrets.rank() > out.WriteSecrets.rank() {
			out.WriteSecrets = p.Write.Secrets
		}
		if m := p.Write.MaxBytes; m > 0 && (out.WriteMaxBytes == 0 || m < out.WriteMaxBytes) {
			out.WriteMaxBytes = m
		}
	}
	out.ConflictReview = MergeConflictReviews(reviews...)
	for i := len(rootFirst) - 1; i >= 0; i-- {
		if d := rootFirst[i].Driver; d != "" && out.DriverAllowed(d) {
			out.Driver = d
			break
		}
	}
	return out
}

// EffectivePolicy is the merged policy that one call runs under.
type EffectivePolicy struct {
	// Driver is the preferred driver, "" for the kernel's default.
	Driver string
	// Sensitive keeps query texts out of the audit log.
	Sensitive bool
	// WriteMaxBytes bounds a text, 0 for no bound; WriteDenied forbids writing.
	WriteMaxBytes int
	WriteDenied   bool
	// WriteSecrets is the strictest rule on secrets.
	WriteSecrets SecretRule
	// ConflictReview is the strictest mode, never empty; HoldForReview holds what is new.
	ConflictReview ConflictReview
	HoldForReview  bool

	rates          map[acl.Op]RateLimit
	allowedDrivers allowList[string]
	writeKinds     allowList[Kind]
}

func (e *EffectivePolicy) tightenRate(op acl.Op, l RateLimit) {
	if e.rates == nil {
		e.rates = map[acl.Op]RateLimit{}
	}
	if have, ok := e.rates[op]; ok {
		l = have.tighten(l)
	}
	e.rates[op] = l
}

func (l RateLimit) tighten(other RateLimit) RateLimit {
	return RateLimit{PerSecond: min(l.PerSecond, other.PerSecond), Burst: min(l.Burst, other.Burst)}
}

// RateLimit returns the limit on op: the lowest rate and the lowest burst of all that apply.
func (e *EffectivePolicy) RateLimit(op acl.Op) (limit RateLimit, limited bool) {
	own, hasOwn := e.rates[op]
	all, hasAll := e.rates["*"]
	switch {
	case hasOwn && hasAll:
		return own.tighten(all), true
	case hasOwn:
		return own, true
	default:
		return all, hasAll
	}
}

// DriverAllowed reports whether the policy lets the named driver run.
func (e *EffectivePolicy) DriverAllowed(name string) bool { return e.allowedDrivers.has(name) }

// KindAllowed reports whether memories of kind k may be written.
func (e *EffectivePolicy) KindAllowed(k Kind) bool { return e.writeKinds.has(k) }

// allowList is an intersection of lists; until the first one it allows everything.
type allowList[T comparable] struct {
	bounded bool
	values  []T
}

func (a *allowList[T]) narrow(list []T) {
	if len(list) == 0 {
		return
	}
	if !a.bounded {
		a.bounded, a.values = true, slices.Clone(list)
		return
	}
	a.values = slices.DeleteFunc(a.values, func(v T) bool { return !slices.Contains(list, v) })
}

func (a *allowList[T]) has(v T) bool { return !a.bounded || slices.Contains(a.values, v) }

// PolicyVersion is one stored version of a namespace's own policy.
type PolicyVersion struct {
	Namespace acl.Namespace
	// Version counts from 1 within the namespace.
	Version   int
	Policy    Policy
	CreatedAt time.Time
	// Actor is who put it.
	Actor string
}
