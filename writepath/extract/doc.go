// Package extract turns an input (a message, a transcript or a document) into atomic facts
// with a language model, and into one verbatim fact without.
//
// It must never lose an input: whatever the model does, each part of it comes back in facts,
// and what came back but is of no use is in Result.Rejected with a reason. It must never let
// an input or an answer decide on trust: the answer's schema has no place for provenance, and
// the input is delimited data. It makes no call but to the model, reads no clock, and keeps
// and logs nothing.
//
// # Calls
//
// A part of the input costs at most two calls: the first, and one more if that failed (the
// same again) or brought back what is not a list of facts (a repair, which is told what was
// wrong). The input is one part unless Options.PartTokens is set. What does not work
// then becomes a verbatim fact, with a Reason.
//
// # Answers
//
// Code fences, words around the document, a bare list in place of the object and several
// documents (the last counts) are understood. A document that is cut off or has a syntax error
// is not, however many whole facts it has: which facts are missing nobody knows, so it is
// repaired, and if that fails the source itself is kept. One item of another shape in a good
// list is reported as malformed and costs no call; if no item is any good, that is a bad answer.
//
// An empty list is taken at its word and costs no second call; the input is kept verbatim.
package extract
