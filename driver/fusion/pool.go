package fusion

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// What neighbours lend.
const (
	lentBefore = 0.5  // of the score of the row before
	lentAfter  = 0.35 // of the score of the row after
	// together is the autocorrelation of scores from which on neighbours lend all of that.
	together = 0.1
)

// maxSize bounds what being larger than the mean is worth.
const maxSize = 2

// favoured is what a row of the time that the question names gets, of the best score.
const favoured = 0.5

// row is one row of the pool.
type row struct {
	ref    mem.ID
	tokens int
	score  float64
}

// pool is what is ranked, in the order of the refs, which is that of time.
type pool []row

// newPool takes each row of both arms once and scores it by both, of which the vector arm has a
// share. Both are best first.
func newPool(words, near []driver.Candidate, share float64) pool {
	p := make(pool, 0, len(words)+len(near))
	for i := range words {
		x := 0.0
		if best := words[0].BM25; best > 0 {
			x = words[i].BM25 / best
		}
		p = append(p, row{words[i].Ref, words[i].Tokens, (1 - share) * x * x})
	}
	for i := range near {
		y := 1.0
		if low, high := near[len(near)-1].Cosine, near[0].Cosine; high > low {
			y = float64((near[i].Cosine - low) / (high - low))
		}
		p = append(p, row{near[i].Ref, near[i].Tokens, share * y})
	}
	slices.SortFunc(p, func(a, b row) int {
		x, y := binary.BigEndian.Uint64(a.ref[:]), binary.BigEndian.Uint64(b.ref[:])
		return cmp.Or(cmp.Compare(x, y), bytes.Compare(a.ref[8:], b.ref[8:]))
	})
	kept := p[:0]
	for _, r := range p {
		if last := len(kept) - 1; last >= 0 && kept[last].ref == r.ref {
			kept[last].score += r.score
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// lend gives every row a part of the scores of the rows around it.
func (p pool) lend() {
	g := p.coherence()
	if g == 0 {
		return
	}
	step := p.step()
	lent := make([]float64, len(p))
	for _, apart := range [...]int{1, 2} {
		for i := apart; i < len(p); i++ {
			part := g / float64(apart)
			if steps := float64(since(p[i-apart].ref, p[i].ref)) / step; steps > float64(apart) {
				part = g * math.Exp2(1-steps)
			}
			lent[i] += part * lentBefore * p[i-apart].score
			lent[i-apart] += part * lentAfter * p[i].score
		}
	}
	for i := range p {
		p[i].score += lent[i]
	}
}

// coherence returns how far the scores of neighbours go together, from 0 to 1.
func (p pool) coherence() float64 {
	roots := make([]float64, len(p))
	mean := 0.0
	for i := range p {
		roots[i] = math.Sqrt(p[i].score)
		mean += roots[i] / float64(len(p))
	}
	variance, covariance := 0.0, 0.0
	for i := range roots {
		roots[i] -= mean
		variance += roots[i] * roots[i]
		if i >= 1 {
			covariance += roots[i] * roots[i-1]
		}
		if i >= 2 {
			covariance += roots[i] * roots[i-2] / 2
		}
	}
	if !(covariance > 0) {
		return 0
	}
	return min(1, covariance/variance/together)
}

// step returns the median time between neighbours.
func (p pool) step() float64 {
	gaps := make([]uint64, 0, len(p))
	for i := 1; i < len(p); i++ {
		gaps = append(gaps, since(p[i-1].ref, p[i].ref))
	}
	slices.Sort(gaps)
	return float64(max(1, gaps[(len(gaps)-1)/2]))
}

// since returns the time between two refs in 1/4096 of a millisecond.
func since(earlier, later mem.ID) uint64 { return ticks(later) - ticks(earlier) }

// ticks is the time in a UUID of version 7: 48 bits of milliseconds and, around the version, 12
// that subdivide them.
func ticks(ref mem.ID) uint64 {
	hi := binary.BigEndian.Uint64(ref[:])
	return hi>>16<<12 | hi&0xfff
}

// weigh takes from rows that say little.
func (p pool) weigh() {
	sum := 0.0
	for i := range p {
		sum += float64(max(1, p[i].tokens))
	}
	mean := sum / float64(len(p))
	for i := range p {
		p[i].score *= math.Sqrt(min(maxSize, float64(max(1, p[i].tokens))/mean))
	}
}

// favour puts rows above the others, among them such as the pool lacks.
func (p pool) favour(rows []driver.Candidate) pool {
	if len(rows) == 0 {
		return p
	}
	some := favoured * p.best()
	if some == 0 {
		some = favoured
	}
	wanted := make(map[mem.ID]int, len(rows))
	for i := range rows {
		wanted[rows[i].Ref] = rows[i].Tokens
	}
	for i := range p {
		if _, ok := wanted[p[i].ref]; ok {
			p[i].score += some
			delete(wanted, p[i].ref)
		}
	}
	for ref, tokens := range wanted {
		p = append(p, row{ref, tokens, some})
	}
	return p
}

func (p pool) best() float64 {
	best := 0.0
	for i := range p {
		best = max(best, p[i].score)
	}
	return best
}

// scored returns the rows with scores from 0 to 1, of which the best is 1.
func (p pool) scored() []driver.Scored {
	best := p.best()
	if best == 0 {
		best = 1
	}
	out := make([]driver.Scored, len(p))
	for i := range p {
		out[i] = driver.Scored{Ref: p[i].ref, Tokens: p[i].tokens, Score: mem.Score(p[i].score / best)}
	}
	return out
}
