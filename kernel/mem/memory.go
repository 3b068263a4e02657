package mem

import (
	"slices"
	"time"

	"github.com/memkernel/memkernel/acl"
)

// Kind says what sort of thing a memory is. The list is closed.
type Kind string

// The kinds.
const (
	KindFact        Kind = "fact"
	KindPreference  Kind = "preference"
	KindSkill       Kind = "skill"
	KindGoal        Kind = "goal"
	KindOpinion     Kind = "opinion"
	KindExperience  Kind = "experience"
	KindAchievement Kind = "achievement"
	KindAction      Kind = "action"
	KindEpisode     Kind = "episode"
	KindEntity      Kind = "entity"
	KindPointer     Kind = "pointer"
	KindRaw         Kind = "raw"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		KindFact, KindPreference, KindSkill, KindGoal, KindOpinion, KindExperience,
		KindAchievement, KindAction, KindEpisode, KindEntity, KindPointer, KindRaw,
	}
}

// Valid reports whether k is one of the kinds above.
func (k Kind) Valid() bool { return slices.Contains(Kinds(), k) }

// Status says whether a current memory is believed.
type Status string

// The statuses. Only active memories are found by search.
const (
	StatusActive   Status = "active"
	StatusDisputed Status = "disputed"
	StatusHeld     Status = "held"
)

// EndReason says why a memory is no longer current. An erased memory leaves no row, so it
// has no reason here.
type EndReason string

// The reasons.
const (
	EndSuperseded EndReason = "superseded" // a newer memory replaced it
	EndRetracted  EndReason = "retracted"  // it was wrong
	EndExpired    EndReason = "expired"    // its time ran out
)

// Memory is one atomic memory as a caller sees it.
type Memory struct {
	ID        ID
	Namespace acl.Namespace
	Kind      Kind
	Text      string

	// EventTime and EventEnd say when the thing was so in the world; zero when unknown.
	EventTime, EventEnd time.Time
	// AssertionTime is when the kernel was told.
	AssertionTime time.Time
	// ValidFrom and ValidTo bound the time in which the kernel believed it: from the first
	// up to but not including the second, which is zero for a current memory.
	ValidFrom, ValidTo time.Time
	// ExpiresAt is when it ends by itself, unless something else ends it before; zero for never.
	ExpiresAt time.Time
	// EndReason and EndNote say why a memory is no longer current; empty for a current one.
	EndReason EndReason
	EndNote   string

	// Supersedes is the memory that this one replaced when it was written, zero if none.
	Supersedes ID
	// SupersededBy is what replaced this memory though it had been there before, as when a
	// contradiction between the two was settled; zero for a memory that a write replaced, whose
	// successor is the next of its history.
	SupersededBy ID
	Status       Status
	// Provenance is the trust class of the source.
	Provenance Provenance
	// Source is what the writer said of the origin, for example a file or a speaker.
	Source string
	// Actor and AgentID say who wrote it.
	Actor, AgentID string
	// Tokens is the estimated size of Text; see EstimateTokens.
	Tokens int
	// Classification says what Text holds that must be kept close.
	Classification Classification
}

// Current reports whether the memory has not ended.
func (m *Memory) Current() bool { return m.ValidTo.IsZero() }

// Provenance is a trust class; a higher rank wins a conflict.
type Provenance string

// The trust classes with their ranks (50, 40, 40, 30, 20, 10).
const (
	ProvenanceManual        Provenance = "manual"
	ProvenanceDocument      Provenance = "document"
	ProvenanceLiveFetch     Provenance = "live-fetch"
	ProvenanceConsolidation Provenance = "consolidation"
	ProvenanceSwapImport    Provenance = "swap-import"
	ProvenanceConversation  Provenance = "conversation"
)

// Provenances returns the trust classes, the most trusted first. The slice is the caller's.
func Provenances() []Provenance {
	return []Provenance{
		ProvenanceManual, ProvenanceDocument, ProvenanceLiveFetch, ProvenanceConsolidation, ProvenanceSwapImport, ProvenanceConversation,
	}
}

// Rank returns the class's place in the trust lattice, 0 for an unknown class, which so loses
// to every other. The figures are those of the trust lattice and only order the classes; their distances
// mean nothing. It is pure.
func (p Provenance) Rank() int {
	switch p {
	case ProvenanceManual:
		return 50
	case ProvenanceDocument, ProvenanceLiveFetch:
		return 40
	case ProvenanceConsolidation:
		return 30
	case ProvenanceSwapImport:
		return 20
	case ProvenanceConversation:
		return 10
	default:
		return 0
	}
}

// Valid reports whether p is one of the classes above.
func (p Provenance) Valid() bool { return p.Rank() > 0 }
