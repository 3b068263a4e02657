package lexical

// kind says what is still to be done to a token's text.
type kind uint8

const (
	kindExact kind = iota // already a term
	kindWord              // to be stemmed by its script
)

// token is one term in the making: a range of the analyzer's buffer.
type token struct {
	start, end int
	kind       kind
	script     script
	// extra marks a token that stands beside another for the same stretch of text (a part
	// of a compound, a particle-free word). It does not count towards a text's length.
	extra bool
	// name marks a word written with a capital where none is due, or in capitals: Will, IT
	// and WHO are then no function words.
	name bool
}
