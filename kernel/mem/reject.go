package mem

import "slices"

// RejectReason says why a candidate fact did not become a memory. The list is closed and
// only ever grows. A rejected candidate is reported with its reason, never dropped.
type RejectReason string

// The reasons.
const (
	// RejectUnsupported: the source does not say it: a word, a name, a number, a date or a
	// negation differs.
	RejectUnsupported RejectReason = "unsupported_by_source"
	// RejectEmpty: there is no text, or nothing in it that could be remembered.
	RejectEmpty RejectReason = "empty"
	// RejectTooLong: the text is longer than one fact may be.
	RejectTooLong RejectReason = "too_long"
	// RejectInjection: the text imitates an instruction, and the source did not.
	RejectInjection RejectReason = "injection_suspected"
	// RejectSecret: the text holds a secret, and a policy forbids to keep one.
	RejectSecret RejectReason = "secret_forbidden"
	// RejectPolicy: a policy of the namespace forbids the text.
	RejectPolicy RejectReason = "policy_denied"
	// RejectDuplicate: an earlier candidate of the same input says the same.
	RejectDuplicate RejectReason = "duplicate_in_batch"
	// RejectExampleLeak: the model repeated an example of its instructions.
	RejectExampleLeak RejectReason = "example_leak"
	// RejectMalformed: the model's answer has something else where a fact should be.
	RejectMalformed RejectReason = "malformed"
	// RejectTooMany: the input already has as many facts as one input may have.
	RejectTooMany RejectReason = "too_many_facts"
)

// RejectReasons returns all reasons.
func RejectReasons() []RejectReason {
	return []RejectReason{
		RejectUnsupported, RejectEmpty, RejectTooLong, RejectInjection, RejectSecret,
		RejectPolicy, RejectDuplicate, RejectExampleLeak, RejectMalformed, RejectTooMany,
	}
}

// Valid reports whether r is one of the reasons above; the empty reason is none.
func (r RejectReason) Valid() bool { return slices.Contains(RejectReasons(), r) }
