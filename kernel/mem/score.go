package mem

// Cosine is a raw cosine similarity in [-1, 1]. It is a type of its own so that it is never
// compared with the threshold of a blended score.
type Cosine float64

// Score is a ranking score that was blended or normalised; its scale is the ranker's own.
type Score float64
