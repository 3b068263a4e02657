package classify

// Version names the rules. It changes whenever the same text could get another result.
const Version = 1

// Sensitivity says how closely a text is to be kept.
type Sensitivity string

// The sensitivities, from the least to the most.
const (
	Public       Sensitivity = "public"
	Internal     Sensitivity = "internal"
	Confidential Sensitivity = "confidential"
	Restricted   Sensitivity = "restricted"
)

// Sensitivities returns all of them, the least first.
func Sensitivities() []Sensitivity {
	return []Sensitivity{Public, Internal, Confidential, Restricted}
}

// Rank orders the sensitivities from 1 to 4. An unknown one is 0.
func (s Sensitivity) Rank() int {
	switch s {
	case Public:
		return 1
	case Internal:
		return 2
	case Confidential:
		return 3
	case Restricted:
		return 4
	default:
		return 0
	}
}

// Valid reports whether s is one of the sensitivities above.
func (s Sensitivity) Valid() bool { return s.Rank() > 0 }

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
