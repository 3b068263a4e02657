// Package embedcache remembers what an embedding model said, so that the same text is not paid for
// twice: in memory, and on disk if there is a directory for it.
//
// A vector is remembered under a hash of who made it (provider, endpoint, model, revision, dimension
// and epoch) and of the text. The text itself is kept nowhere. A vector says a good deal about its
// text all the same, so whoever can read the directory can learn what was written; it is made for
// the user of the process alone.
//
// A cache knows nothing of who may see what, and needs not: a vector is handed only to whoever has
// the text. It is worth nothing in front of a model in the process, such as the hashing embedder.
package embedcache
