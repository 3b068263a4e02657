package lexical

// Constants of the 64-bit FNV-1a hash (Fowler, Noll, Vo; RFC 9923).
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// hashTerm is FNV-1a over the bytes of a term, reinterpreted as signed because that is
// what the database stores. It is written out, rather than taken from hash/fnv, to keep
// the hot path free of allocations. Two terms of one corpus share a hash with a
// probability of about n*n/2^65: 3e-8 for a million distinct terms.
func hashTerm(term []byte) int64 {
	h := uint64(fnvOffset)
	for _, b := range term {
		h ^= uint64(b)
		h *= fnvPrime
	}
	return int64(h) //nolint:gosec // the bits are kept, the sign means nothing
}
