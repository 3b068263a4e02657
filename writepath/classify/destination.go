package classify

import (
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Destination is mem.Destination.
type Destination = mem.Destination

// The destinations under short names.
const (
	Local        = mem.DestinationLocal
	TrustedModel = mem.DestinationTrustedModel
	RemoteModel  = mem.DestinationRemoteModel
	Export       = mem.DestinationExport
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
