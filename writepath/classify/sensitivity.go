package classify

import "github.com/memkernel/memkernel/kernel/mem"

// Version names the rules. It changes whenever the same text could get another result.
const Version = 1

// Sensitivity is mem.Sensitivity.
type Sensitivity = mem.Sensitivity

// The sensitivities under short names.
const (
	Public       = mem.SensitivityPublic
	Internal     = mem.SensitivityInternal
	Confidential = mem.SensitivityConfidential
	Restricted   = mem.SensitivityRestricted
)

// Max returns the closer of two sensitivities. An unknown one counts as Restricted: what
// cannot be read must not open anything.
func Max(a, b Sensitivity) Sensitivity {
	if !a.Valid() || !b.Valid() {
		return Restricted
	}
	if a.Rank() >= b.Rank() {
		return a
	}
	return b
}

// sensitivity returns what a finding of the kind makes of a text.
func (k Kind) sensitivity() Sensitivity {
	switch k.Class() {
	case ClassSecret, ClassCard, ClassNationalID:
		return Restricted
	default:
		return Confidential
	}
}
