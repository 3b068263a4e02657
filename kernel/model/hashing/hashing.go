// Package hashing is the embedder that needs no model: it hashes the words of a text and
// their letters into a vector.
//
// It works offline, in any language, at microseconds a sentence, and returns the same
// vector in every process and on every platform. It knows nothing of meaning: two texts
// are near when they share words, or words that look alike. Hosts that can call a real
// embedding model should; this one is there so that everything works without.
package hashing

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/memkernel/memkernel/internal/lexical"
	"github.com/memkernel/memkernel/kernel/model"
)

const (
	// Name is the model's, in Info.
	Name = "hashing"

	// DefaultDim is the number of components unless the host asks for another: as many as
	// the small sentence models have, and few enough for a covering index on the vectors.
	DefaultDim = 384

	// MaxDim is the most components a vector may have.
	MaxDim = 16384
)

// version is the first half of Info().Revision. It changes with the features, the
// weights or the hash; the second half is lexical.Version.
const version = 1

// Embedder is the hashing embedder. It has no state; it is safe for concurrent use.
type Embedder struct {
	dim int
}

var _ model.Embedder = (*Embedder)(nil)

// New returns an embedder of DefaultDim components.
func New() *Embedder { return &Embedder{dim: DefaultDim} }

// NewDim returns an embedder of dim components, 1 to MaxDim. More components mean fewer
// features that fall on each other: on LoCoMo 1024 find a twelfth of what 384 miss.
// Vectors of different dimensions cannot be compared.
func NewDim(dim int) (*Embedder, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("hashing: dim is %d, must be 1 to %d", dim, MaxDim)
	}
	return &Embedder{dim: dim}, nil
}

// Info describes the embedder.
func (e *Embedder) Info() model.Info {
	return model.Info{
		Name:      Name,
		Revision:  strconv.Itoa(version) + "." + strconv.Itoa(lexical.Version),
		Dim:       e.dim,
		InProcess: true,
	}
}

// Embed returns one vector of length 1 per text. A text without a term (empty, or nothing
// but punctuation) has no direction: its vector is all zeros, and its cosine with anything
// is undefined. Embed fails only with ctx.Err(), which it looks at before each text.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	s, _ := pool.Get().(*scratch)
	defer s.release()
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.features = appendFeatures(s.features[:0], text)
		out[i] = e.project(s)
	}
	return out, nil
}

// project adds every feature to its component, with its sign, and scales to length 1.
// Sums are whole numbers, so neither their order nor fused multiply-add can change a bit.
func (e *Embedder) project(s *scratch) []float32 {
	slices.Sort(s.features)
	s.sums = append(s.sums[:0], make([]int64, e.dim)...)
	for i := 0; i < len(s.features); {
		f := s.features[i]
		n := 1
		for i+n < len(s.features) && s.features[i+n] == f {
			n++
		}
		i += n
		if at := f.component(e.dim); f.negative() {
			s.sums[at] -= f.weight() * sublinear(n)
		} else {
			s.sums[at] += f.weight() * sublinear(n)
		}
	}
	square := 0.0
	for _, x := range s.sums {
		square += float64(float64(x) * float64(x)) // the conversion forbids fusing
	}
	out := make([]float32, e.dim)
	if square == 0 {
		return out
	}
	length := math.Sqrt(square)
	for i, x := range s.sums {
		out[i] = float32(float64(x) / length)
	}
	return out
}

// sublinear is 1 + ln n in 1/256: the tenth mention of a word says less than the first.
func sublinear(n int) int64 {
	if n == 1 {
		return 256
	}
	return int64(256*(1+math.Log(float64(n))) + 0.5)
}

// keepFeatures bounds the scratch memory that goes back to the pool.
const keepFeatures = 1 << 14

// scratch is the working memory of one call. It holds hashes, no text.
type scratch struct {
	features []feature
	sums     []int64
}

//nolint:gochecknoglobals // a pool of scratch memory; holds nothing between calls
var pool = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) release() {
	if cap(s.features) <= keepFeatures {
		pool.Put(s)
	}
}
