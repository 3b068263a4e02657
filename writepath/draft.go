// Package writepath turns input into what can be committed: it normalises, checks and keys
// text before any transaction is open. It holds the rules of writing and no I/O; it must
// never decide on anything but the draft it is given.
package writepath

import (
	"time"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/entity"
)

// Draft is one memory on its way in.
type Draft struct {
	// ID is the id of the memory that it becomes, if it is stored.
	ID                  mem.ID
	Kind                mem.Kind
	Text                string
	EventTime, EventEnd time.Time
	// ExpiresAt is when the memory ends by itself, zero for never.
	ExpiresAt  time.Time
	Source     string
	Provenance mem.Provenance
	// Supersedes names the memory that this one replaces, zero for none.
	Supersedes mem.ID
	// ContentKey names what the memory is about; it replaces the current one of the namespace that is
	// about the same. Empty for nothing in particular.
	ContentKey string
	// Certainty is what the extractor believes of it, between 0 and 1; nil for what was not
	// extracted.
	Certainty *float32
	// Sensitivity is what the writer declares, empty for nothing.
	Sensitivity mem.Sensitivity

	// Classification is set by whoever classifies, before anything is kept.
	Classification mem.Classification

	// Unchecked has the memory compared with its neighbours later. Held keeps it out of sight until
	// then: it is nobody's duplicate, and what it is to replace it replaces when it is released. They
	// are set by whoever knows the policy, before the draft is planned.
	Unchecked, Held bool

	// Mentions are the names in the text.
	Mentions []entity.Mention

	// DedupeKey and Tokens are derived by Prepare; and for the drafts of an agent, which may say
	// back what it was handed, EchoKeys; see Echoes.
	DedupeKey [32]byte
	Tokens    int
	EchoKeys  [][32]byte
	// Embedding is the unit vector of Text, nil if the embedder is down.
	Embedding []float32
	// Embedded reports that the embedder was asked, whatever came of it, Unembedded that it
	// failed and has to be asked again later.
	Embedded, Unembedded bool
}

// Limits of a draft's parts.
const (
	// MaxSourceBytes is the largest Source.
	MaxSourceBytes = 1024
	// MaxContentKeyBytes is the largest ContentKey.
	MaxContentKeyBytes = 1024
)

// Validate checks the fields of a draft against the rules and maxBytes for the text. The
// error is an *mem.InvalidError or *mem.TooLargeError that names the field of the request.
func (d *Draft) Validate(maxBytes int) error {
	if err := mem.CheckText("Text", d.Text, maxBytes); err != nil {
		return err
	}
	if !d.Kind.Valid() {
		return &mem.InvalidError{Field: "Kind", Reason: "unknown kind"}
	}
	if err := mem.CheckLabel("Source", d.Source, MaxSourceBytes); err != nil {
		return err
	}
	if err := mem.CheckLabel("ContentKey", d.ContentKey, MaxContentKeyBytes); err != nil {
		return err
	}
	if d.ContentKey != "" && !d.Supersedes.IsZero() {
		return &mem.InvalidError{Field: "ContentKey", Reason: "it already says what to replace, as Supersedes does"}
	}
	if d.Sensitivity != "" && !d.Sensitivity.Valid() {
		return &mem.InvalidError{Field: "Sensitivity", Reason: "unknown sensitivity"}
	}
	if err := mem.CheckTime("EventTime", d.EventTime); err != nil {
		return err
	}
	if err := mem.CheckTime("EventEnd", d.EventEnd); err != nil {
		return err
	}
	if err := mem.CheckTime("ExpiresAt", d.ExpiresAt); err != nil {
		return err
	}
	if !d.EventEnd.IsZero() && d.EventTime.IsZero() {
		return &mem.InvalidError{Field: "EventEnd", Reason: "it needs an EventTime"}
	}
	if !d.EventEnd.IsZero() && d.EventEnd.Before(d.EventTime) {
		return &mem.InvalidError{Field: "EventEnd", Reason: "it is before EventTime"}
	}
	return nil
}

// Prepare derives the keys and sizes of a valid draft and truncates its times to the
// database's microseconds.
func (d *Draft) Prepare() {
	d.DedupeKey = DedupeKey(d.Text)
	d.Tokens = mem.EstimateTokens(d.Text)
	d.EchoKeys = nil
	if d.Provenance == mem.ProvenanceConversation && d.Supersedes.IsZero() && d.ContentKey == "" {
		d.EchoKeys = echoKeys(d.Text, d.DedupeKey)
	}
	d.EventTime = d.EventTime.Truncate(time.Microsecond)
	d.EventEnd = d.EventEnd.Truncate(time.Microsecond)
	d.ExpiresAt = d.ExpiresAt.Truncate(time.Microsecond)
}

// Outranks reports whether the draft is of higher trust than a memory that says the same, which it
// then replaces: what a person states is not merely what an agent was told. Raw input states nothing.
func (d *Draft) Outranks(p mem.Provenance) bool {
	return d.Kind != mem.KindRaw && d.Provenance.Rank() > p.Rank()
}

// CheckExpiry refuses a draft whose time has run out by now, with an *mem.InvalidError that names
// ExpiresAt. It is for what is asked for now: what was accepted before is carried out late.
func (d *Draft) CheckExpiry(now time.Time) error {
	if !d.ExpiresAt.IsZero() && !now.Before(d.ExpiresAt.Truncate(time.Microsecond)) {
		return &mem.InvalidError{Field: "ExpiresAt", Reason: "it is not in the future"}
	}
	return nil
}
