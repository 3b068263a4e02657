package main

import (
	"iter"
	"time"
)

// origin says what an entry is from, and so who writes it and how far it is to be trusted.
type origin string

const (
	fromChat origin = "chat"
	fromDocs origin = "docs"
)

// entry is a piece of the input: a text to keep, or what stands against it.
type entry struct {
	origin origin
	place  string // for people: "chat.txt:12"
	source string // of the memory
	text   string
	at     time.Time // zero for unknown
	// namespace is below the run's own, "" for that itself.
	namespace string
	// ref names the entry for a later one that corrects it, corrects an earlier one; "" for
	// none.
	ref, corrects string
	problem       *problem
}

// problem says why a piece of the input is no text to keep.
type problem struct {
	whole  bool   // it is a file, left out as a whole
	reason string // one of a few
	note   string // what is special about this one; it does not quote texts
}

// input is all that a run is given. It can be read more than once.
type input struct {
	chat *chat // nil for none
	docs *docs // nil for none
}

// entries reads the input: the chat, then the documents. What cannot be read is an entry with
// a problem.
func (in *input) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if in.chat != nil {
			for e := range in.chat.entries() {
				if !yield(e) {
					return
				}
			}
		}
		if in.docs != nil {
			for e := range in.docs.entries() {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func (in *input) count() (n int) {
	for range in.entries() {
		n++
	}
	return n
}

// Close releases the folder.
func (in *input) Close() error {
	if in.docs == nil || in.docs.closer == nil {
		return nil
	}
	return in.docs.closer.Close() //nolint:wrapcheck // it names the folder
}
