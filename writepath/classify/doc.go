// Package classify says what a text holds that must be kept close: secrets, personal data,
// and words that pretend to be instructions. From that follow how sensitive the text is and
// where it may be sent.
//
// It is deterministic and complete without a model, a file, a network or a clock: the same
// text gets the same result on every machine and in every release with the same Version. It
// never decides what becomes of a text, and it must never log or keep one.
//
// # What is found
//
// A format that can be checked is checked: Luhn and issuer for payment cards, MOD 97 and
// length by country for IBANs, the header of a JWT, the check digits of national identifiers,
// the numbering plan for telephone numbers, the published shape of the keys of clouds and
// services. A format that chance produces too often (nine digits with one check digit) counts
// only beside a word that names it, and a name for something else (order, invoice, version)
// speaks against it. What cannot be checked (a password, an illness, a street) counts only in
// a narrow phrase.
//
// # What is not
//
// Published examples are no secrets: values with EXAMPLE in them, as in the documentation of
// AWS, placeholders, the test cards of the payment processors, the sample IBANs and national
// numbers of the standards, telephone numbers reserved for fiction, addresses of the networks
// reserved for documentation. A certificate, a public key, a hash and a UUID are not secrets.
//
// Beyond it are: names of people; a password without a word for it, or with one that only
// white space divides it from; a national identifier of bare digits without its name; addresses
// without a postal code; health and money in other languages than English, but for common
// words of German, French, Spanish and Italian; text in an encoding or in a picture.
//
// # Sensitivity
//
// A secret, a payment card and a national identifier make a text Restricted. A bank account,
// an address, a way to reach a person, a date of birth, health and a person's finances make
// it Confidential. Everything else is Internal; Public is only what the caller declares to be
// so and in which nothing was found, see Result.Declare.
package classify
