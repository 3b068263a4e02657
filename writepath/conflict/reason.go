package conflict

// Reason says why an outcome is what it is. The list is closed and only ever grows.
type Reason string

// Reasons to keep both.
const (
	ReasonNoCandidates      Reason = "no_candidates"        // nothing to compare with
	ReasonReviewOff         Reason = "review_off"           // the policy wants no conflicts looked for
	ReasonIncomingEnded     Reason = "incoming_ended"       // the incoming memory is not current any more
	ReasonIncomingDisputed  Reason = "incoming_disputed"    // it is set aside, by another candidate
	ReasonOtherNamespace    Reason = "other_namespace"      // a memory of another namespace is never touched
	ReasonCandidateEnded    Reason = "candidate_ended"      // the candidate is not current any more
	ReasonCandidateInactive Reason = "candidate_not_active" // it is held or disputed
	ReasonCandidateIncoming Reason = "candidate_incoming"   // it is the incoming memory itself
	ReasonRawInput          Reason = "raw_input"            // charter C4
	ReasonNoDecision        Reason = "no_decision"          // the judge failed
	ReasonUndecided         Reason = "undecided"            // the judge cannot tell
	ReasonSame              Reason = "says_the_same"        // both state the same
	ReasonRefines           Reason = "adds_to_it"           // the incoming one adds to the candidate
	ReasonUnrelated         Reason = "unrelated"            // both can be true
	ReasonOtherTime         Reason = "other_time"           // both can be true, each in its time
	ReasonOtherSubject      Reason = "other_subject"        // they share no subject, whatever the model said
	ReasonTooFar            Reason = "too_far"              // they are not near enough, whatever the model said
)

// Reasons to open a case.
const (
	ReasonProtectedKind Reason = "protected_kind"    // charter C3
	ReasonLowConfidence Reason = "low_confidence"    // charter C5
	ReasonReviewMode    Reason = "review_mode"       // the policy wants a person to decide
	ReasonRuleOnly      Reason = "rule_only"         // the words contradict each other and no model has confirmed it
	ReasonOpenQuestion  Reason = "another_case_open" // the incoming memory is under question itself
)

// Reasons to supersede the candidate or to dispute the incoming memory.
const (
	ReasonOutranks   Reason = "outranks"    // the incoming one has the higher rank
	ReasonMoreRecent Reason = "more_recent" // equal rank, and it is later
	ReasonReplaces   Reason = "replaces"    // whoever wrote the incoming one said that it replaces it
	ReasonUnderranks Reason = "underranks"  // it has the lower rank
	ReasonLessRecent Reason = "less_recent" // equal rank, and it is earlier
)
