// Package writepath turns input into what can be committed: it normalises, checks and keys
// text before any transaction is open. It holds the rules of writing and no I/O; it must
// never decide on anything but the draft it is given.
package writepath

import (
	"time"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Draft is one memory on its way in.
type Draft struct {
	Kind                mem.Kind
	Text                string
	EventTime, EventEnd time.Time
	Source              string
	Provenance          mem.Provenance
	// Supersedes names the memory that this one replaces, zero for none.
	Supersedes mem.ID
	// Sensitivity is what the writer declares, empty for nothing.
	Sensitivity mem.Sensitivity

	// Classification is set by whoever classifies, before anything is kept.
	Classification mem.Classification

	// DedupeKey and Tokens are derived by Prepare.
	DedupeKey [32]byte
	Tokens    int
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
	if d.Sensitivity != "" && !d.Sensitivity.Valid() {
		return &mem.InvalidError{Field: "Sensitivity", Reason: "unknown sensitivity"}
	}
	if err := mem.CheckTime("EventTime", d.EventTime); err != nil {
		return err
	}
	if err := mem.CheckTime("EventEnd", d.EventEnd); err != nil {
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
	d.EventTime = d.EventTime.Truncate(time.Microsecond)
	d.EventEnd = d.EventEnd.Truncate(time.Microsecond)
}
