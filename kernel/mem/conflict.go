package mem

// ConflictReview says what may become of a contradiction between two memories of a namespace.
// The list is closed.
type ConflictReview string

// The modes, from the least supervision to the most.
const (
	// ReviewOff looks for no contradictions.
	ReviewOff ConflictReview = "off"
	// ReviewAuto settles by rank and recency what the charter lets be settled, and leaves the
	// rest to a person. It is what a namespace has whose policies say nothing.
	ReviewAuto ConflictReview = "auto"
	// ReviewAll changes nothing until a person decides.
	ReviewAll ConflictReview = "review"
)

// Valid reports whether r is one of the modes above.
func (r ConflictReview) Valid() bool { return r.strictness() > 0 }

func (r ConflictReview) strictness() int {
	switch r {
	case ReviewOff:
		return 1
	case ReviewAuto:
		return 2
	case ReviewAll:
		return 3
	default:
		return 0
	}
}

// MergeConflictReviews folds the modes of a namespace and its ancestors, in any order, into
// the one in force: the strictest, so that a namespace cannot evade what is asked of it from
// above. Empty and unknown modes have no say; with none left the mode is ReviewAuto.
func MergeConflictReviews(modes ...ConflictReview) ConflictReview {
	var out ConflictReview
	for _, m := range modes {
		if m.strictness() > out.strictness() {
			out = m
		}
	}
	if out == "" {
		return ReviewAuto
	}
	return out
}
