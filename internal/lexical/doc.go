// Package lexical turns text in any language into terms and ranks rows by them with
// BM25.
//
// The same text must yield the same terms on every machine, in every process and in
// every release with the same Version, because terms are stored. The package therefore
// reads no locale, no dictionary file and no clock, and keeps no state between calls
// besides pools of scratch memory.
//
// # From text to terms
//
// Text is brought to NFKC and cut into words by UAX #29. Words are case folded, then
// treated by script:
//
//   - Latin: a Snowball stem in the language detected for the whole text, English when
//     there is no evidence; the stem then loses its accents (München and munchen meet).
//   - Cyrillic, Arabic, Tamil: the Russian, Arabic and Tamil stem. Devanagari: a light
//     Hindi stem. The script alone decides, so both sides always agree.
//   - Han, Hiragana, Katakana: overlapping character pairs, and every Han character by
//     itself, so that a query of one character finds a longer word.
//   - Thai, Lao, Khmer, Myanmar: overlapping pairs of code points.
//   - Hangul: the word, the word without a trailing particle, and syllable pairs.
//   - Numbers: digits of every script become ASCII, "1,000" meets "1000", "05" meets
//     "5", "7th" meets "7"; nothing else about a number is changed.
//   - Compounds such as user_name, getUserName, example.com or 9router: the whole, and
//     its parts.
//
// # How a query meets a document
//
// The language of a sentence can be told from its function words; that of a two-word
// query cannot. So a document is stemmed in one language, and a query in all of them:
// the stems a word could have are alternatives, marked by one Term.Group, and BM25 gives
// the whole group one document frequency. A wrong guess on either side then costs a
// little precision and no recall.
package lexical
