package hashing

import (
	"math/bits"
	"unicode/utf8"

	"github.com/memkernel/memkernel/internal/lexical"
)

// Weights, relative to each other. Chosen on half of the conversations of LoCoMo, averaged
// over six hashes, since another hash alone moves the result by 0.02: share of questions
// with their evidence among the first ten turns 0.50, without letter groups 0.46, with
// function words at full weight 0.47, with groups of four instead of three 0.50. The
// optimum is flat: 3 to 8 for letters and 0 to 2 for function words do as well.
const (
	wordWeight     = 10
	letterWeight   = 5 // each group of three letters in a word
	functionWeight = 1 // articles, pronouns, prepositions
)

// maxLetters is the length in bytes of a term above which its letters are not looked at:
// such terms are keys and encoded data, and resemble nothing.
const maxLetters = 256

// feature is a hash whose two low bits hold what kind of feature it is, so that features
// can be sorted and counted as plain numbers.
type feature uint64

const (
	functionFeature feature = iota
	letterFeature
	wordFeature
)

const (
	kindMask = 3 // where the kind is
	signBit  = 4 // whether the feature is subtracted
)

func (f feature) weight() int64 {
	switch f & kindMask {
	case wordFeature:
		return wordWeight
	case letterFeature:
		return letterWeight
	case functionFeature:
	}
	return functionWeight
}

func (f feature) negative() bool { return f&signBit != 0 }

// component spreads the upper half of the hash over dim components without a division.
func (f feature) component(dim int) int {
	hi, _ := bits.Mul64(uint64(f), uint64(dim)) //nolint:gosec // dim is positive
	return int(hi)                              //nolint:gosec // less than dim
}

// appendFeatures appends the features of a text: its terms, and groups of three letters
// of the terms that are content words, with their edges marked.
func appendFeatures(dst []feature, text string) []feature {
	var edge []byte
	lexical.Walk(text, func(term []byte, function bool) bool {
		if function {
			dst = append(dst, hashFeature(term, functionFeature))
			return true
		}
		dst = append(dst, hashFeature(term, wordFeature))
		if len(term) <= maxLetters && utf8.RuneCount(term) >= 2 {
			edge = append(append(append(edge[:0], '<'), term...), '>')
			dst = appendLetters(dst, edge)
		}
		return true
	})
	return dst
}

// appendLetters appends every group of three consecutive characters.
func appendLetters(dst []feature, word []byte) []feature {
	for from := 0; ; {
		to := from
		first := 0
		for n := range 3 {
			if to >= len(word) {
				return dst
			}
			_, size := utf8.DecodeRune(word[to:])
			to += size
			if n == 0 {
				first = size
			}
		}
		dst = append(dst, hashFeature(word[from:to], letterFeature))
		from += first
	}
}

// hashFeature is 64-bit FNV-1a with a final mix (the one of MurmurHash3, 64 bits), because
// FNV leaves its upper bits, which choose the component, poorly mixed for short input. The
// kind takes part, so that a word of three letters and a group of them are two features.
func hashFeature(b []byte, kind feature) feature {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ uint64(kind)) * 1099511628211
	h = (h ^ h>>33) * 0xFF51AFD7ED558CCD
	h = (h ^ h>>33) * 0xC4CEB9FE1A85EC53
	h ^= h >> 33
	return feature(h)&^kindMask | kind
}
