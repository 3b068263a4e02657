package lexical

// TermHash is the hash of a finished term.
func TermHash(term string) int64 { return hashTerm([]byte(term)) }
