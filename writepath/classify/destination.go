package classify

import "slices"

// Destination is a class of places that a text can be sent to.
type Destination string

// The destinations.
const (
	// Local is this process and what its operator runs for it: the database, an embedder
	// or a model on the same machines.
	Local Destination = "local"
	// TrustedModel is a model or service elsewhere that the operator has bound to keep what
	// it is sent.
	TrustedModel Destination = "trusted_model"
	// RemoteModel is any other model or service elsewhere.
	RemoteModel Destination = "remote_model"
	// Export is wherever people carry it: files, shares, tickets, logs.
	Export Destination = "export"
)

// DestinationsFor returns the places that a text of sensitivity s may be sent to, by default:
//
//	public        local  trusted_model  remote_model  export
//	internal      local  trusted_model  remote_model
//	confidential  local  trusted_model
//	restricted    local
//
// An unknown sensitivity may go nowhere but Local. A policy can narrow the table; the text of
// a secret can be redacted instead and classified anew.
func DestinationsFor(s Sensitivity) []Destination {
	switch s {
	case Public:
		return []Destination{Local, TrustedModel, RemoteModel, Export}
	case Internal:
		return []Destination{Local, TrustedModel, RemoteModel}
	case Confidential:
		return []Destination{Local, TrustedModel}
	default:
		return []Destination{Local}
	}
}

// MaySend reports whether the result lets its text go to d.
func (r *Result) MaySend(d Destination) bool { return slices.Contains(r.Destinations, d) }
