package mem

import "slices"

// Sensitivity says how closely a text is to be kept.
type Sensitivity string

// The sensitivities, from the least to the most.
const (
	SensitivityPublic       Sensitivity = "public"
	SensitivityInternal     Sensitivity = "internal"
	SensitivityConfidential Sensitivity = "confidential"
	SensitivityRestricted   Sensitivity = "restricted"
)

// Sensitivities returns all of them, the least first.
func Sensitivities() []Sensitivity {
	return []Sensitivity{SensitivityPublic, SensitivityInternal, SensitivityConfidential, SensitivityRestricted}
}

// Rank orders the sensitivities from 1 to 4. An unknown one is 0.
func (s Sensitivity) Rank() int { return slices.Index(Sensitivities(), s) + 1 }

// Valid reports whether s is one of the sensitivities above.
func (s Sensitivity) Valid() bool { return s.Rank() > 0 }

// Destination is a class of places that a text can be sent to.
type Destination string

// The destinations.
const (
	// DestinationLocal is this process and what its operator runs for it: the database, an
	// embedder or a model on the same machines.
	DestinationLocal Destination = "local"
	// DestinationTrustedModel is a model or service elsewhere that the operator has bound to
	// keep what it is sent.
	DestinationTrustedModel Destination = "trusted_model"
	// DestinationRemoteModel is any other model or service elsewhere.
	DestinationRemoteModel Destination = "remote_model"
	// DestinationExport is wherever people carry it: files, shares, tickets, logs.
	DestinationExport Destination = "export"
)

// Label says how a text speaks. The list is closed and only ever grows.
type Label string

// The labels.
const (
	// LabelImitatesInstructions is text that pretends to be a system message, a policy, a
	// tool's reply or an order to the model that reads it. Such text is data like any other:
	// the label asks for it to be quoted, not to be dropped.
	LabelImitatesInstructions Label = "imitates_instructions"
	// LabelHiddenText is text with characters that a reader cannot see and a model can: tag
	// characters, or controls that reorder what is shown.
	LabelHiddenText Label = "hidden_text"
)

// Classification says what a text holds that must be kept close, and from it where the text
// may go. Every memory has one, whatever way it was written.
type Classification struct {
	Sensitivity Sensitivity
	// PIISubjects are the people and accounts that the text points to, such as
	// "email:dana@example.org": personal data like the text itself.
	PIISubjects []string
	// SecretKinds are the kinds of the secrets in the text, such as "aws_access_key".
	SecretKinds []string
	// Destinations are the places that the text may be sent to.
	Destinations []Destination
	// Labels say how the text speaks.
	Labels []Label
}

// MaySend reports whether a text so classified may go to d.
func (c *Classification) MaySend(d Destination) bool { return slices.Contains(c.Destinations, d) }
