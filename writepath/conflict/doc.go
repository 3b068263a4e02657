// Package conflict decides what becomes of two memories that contradict each other. It is the
// half that thinks: it reads no row and changes none. A job reads an incoming memory and its
// nearest neighbours of the same namespace, asks a Judge how they relate, hands the answer to
// Decide, and carries the outcome out in a transaction whose guards look again. It must never
// log a text or an answer of a model.
//
// # Trust
//
// A confirmed contradiction is settled by the rank of the source (mem.Provenance.Rank), then by
// recency: the later of coalesce(event time, assertion time), then of the assertion time, then
// of the id. That is one strict total order, see Compare, so whatever the clocks of the writers
// say, no chain of outcomes can come back to where it began.
//
// # Restraint
//
// The safe error is to keep both. Two values of an attribute that can have many, unrelated
// facts about one subject, and near-identical facts of two times all stay. Without a model
// nothing confirms a contradiction: Rules finds the few that follow from the words alone, and
// such a finding opens a case and leaves both memories valid, unless Policy.ActOnRules says
// that it may be settled like a model's. A model's word is taken only about the memories it was
// shown, and only if they share a subject and are near enough.
//
// An outcome keeps both, closes the old memory in favour of the incoming one, sets the incoming
// one aside as disputed, or opens a case for a person. There is none that deletes. Every one
// has a reason from a closed list, and can be overturned by a new manual memory that supersedes
// whichever side stands; a closed interval is never opened again.
//
// # Charter
//
// C1: nothing is deleted. C3: a preference, goal or opinion on either side is never settled
// without a person. C4: raw input takes no part. C5: a contradiction of a confidence under
// MinConfidence goes to a person. They bind whoever wrote the memories; a person who resolves
// a case (see Resolve) is the exception they provide for.
package conflict
