package mem

// RejectReason says why a candidate did not become a memory. The list is closed.
type RejectReason string

// The reasons.
const (
	RejectUnsupported      RejectReason = "unsupported_by_source" // the source does not say it
	RejectEmpty            RejectReason = "empty"
	RejectTooLong          RejectReason = "too_long"
	RejectInjection        RejectReason = "injection_suspected"
	RejectSecretForbidden  RejectReason = "secret_forbidden" // policy keeps no texts with secrets
	RejectPolicyDenied     RejectReason = "policy_denied"
	RejectDuplicateInBatch RejectReason = "duplicate_in_batch"
	RejectExampleLeak      RejectReason = "example_leak" // an example from the extractor's prompt
)
