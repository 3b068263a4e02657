// Package verify checks candidate facts against the text that they were taken from, without a
// model: the same source and facts get the same verdicts on every machine.
//
// It must never accept what it could not check and never lose a candidate: each has a verdict.
// It does no I/O, reads no clock, and keeps and logs no text.
//
// # Grounding
//
// A fact is grounded if the source could be where it comes from:
//
//   - Its words are in the source: function words and words like "the user says" are free,
//     inflections and some irregular and equivalent words match, and in a long fact of many
//     words one that is no name may be the model's own. Names are in the source too, a
//     speaker's label included.
//   - Its numbers are in the source, as digits or words, and count the same thing there.
//   - Its dates are in the source, in whatever form, or follow from a relative one ("last
//     week") and the source's time.
//   - It negates what the source negates and nothing else.
//   - Where the source says it, no other person is the subject: a name that the clause begins
//     with, the speaker of a labelled turn, "my wife" where the fact has the user. A clause
//     that begins with a pronoun can be anybody's.
//
// This is a check of words, not of meaning. It cannot see that roles are swapped within a
// clause ("Ann pays Bo"), that a fact joins words of distant clauses of one subject, that a
// list after a comma is negated with what stands before it, irony, or a wish or condition told
// as done. It rejects free paraphrases and translations. Words are known best in English,
// German, Spanish and French; Chinese and Japanese are compared by characters; other languages
// by whole words and their beginnings.
package verify
