// Package entity finds the people, organizations, places and things that a text names, gives
// every name a canonical form, and says which entity that is known already a name means.
//
// It is deterministic and complete without a model, a file, a network or a clock: the same
// text gets the same mentions on every machine. It is pure; all of its functions may be called
// at the same time, and a repeat call gives the same answer. It must never decide who may see
// an entity: the caller hands Resolve what its own caller sees, and nothing else. It must never
// trust a text about itself: what looks like an annotation in a text is text.
//
// # What is found
//
// Addresses, links, handles and identifiers are found by their form. Names in Latin script are
// found by their capitals, which mean least where a sentence begins and in German, where every
// noun has one: there a name needs another sign, such as a title, a given name, a place or a
// firm that the word lists have, a legal form, or a construction that takes no common noun.
// Chinese, Japanese and Korean have no capitals: there only what a title, a legal form, a
// quotation mark or a list gives away is found.
//
// # What is not
//
// Names in lower case, unless the lists have the place after a preposition; unknown names at
// the beginning of a sentence, unless a verb that takes a person, a second name or another
// mention gives them away; unknown names in a German text without such a sign; names in
// scripts other than Latin, Chinese, Japanese and Korean; what a pronoun means.
package entity
