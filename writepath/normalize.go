package writepath

import (
	"crypto/sha256"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalize returns the form in which two texts are the same fact: Unicode normalisation
// form C, trimmed, white space collapsed to single spaces, case folded. Digits, dates and
// punctuation stay, so two differently dated facts are two facts.
func Normalize(text string) string {
	folded := cases.Fold().String(norm.NFC.String(text))
	// Folding can leave a text that is no longer in form C.
	return norm.NFC.String(strings.Join(strings.Fields(folded), " "))
}

// DedupeKey returns the SHA-256 of the normalised text.
func DedupeKey(text string) [32]byte { return sha256.Sum256([]byte(Normalize(text))) }
