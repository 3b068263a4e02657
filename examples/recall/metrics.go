package main

import (
	"math"
	"slices"
)

// metric is one way to look at the results of a question.
type metric int

// The metrics. See rules for what they say.
const (
	recall5 metric = iota
	recall10
	recall20
	mrr
	ndcg10
	all10
	sessionAny10
	sessionAll10
	metricCount
)

func (m metric) String() string {
	return [metricCount]string{
		"recall@5", "recall@10", "recall@20", "MRR", "nDCG@10", "all-evidence@10", "session-any@10", "session-all@10",
	}[m]
}

// rules says how the metrics are counted.
const rules = `recall@k is the share of a question's evidence turns that are among the first k results (any of
them counts for its part), all-evidence@10 is 1 if all of them are among the first 10 and else 0. MRR is
1 over the place of the first of them among all results, 0 if none is there. nDCG@10 counts each by
1/log2(place+1), over the best there could be. session-any@10 and session-all@10 look at the first 10
different sessions that the results are from: 1 if at least one, or all, of the sessions with evidence
are among them. Every figure is the mean over the questions, with the 95 % interval of a percentile
bootstrap over them. A question is used if its evidence names at least one turn that there is.`

// scores are a question's, by metric, each from 0 to 1.
type scores [metricCount]float64

// hit is a result: a turn and the session that it is from.
type hit struct{ turn, session int }

// score looks at the results of one question, best first, no turn twice. The evidence is not
// empty, and its turns and sessions are each there once.
func score(results []hit, evidence, sessions []int) scores {
	var s scores
	share := 1 / float64(len(evidence))
	found, gain := 0, 0.0
	for i, h := range results {
		if !slices.Contains(evidence, h.turn) {
			continue
		}
		if s[mrr] == 0 {
			s[mrr] = 1 / float64(i+1)
		}
		for m, k := range map[metric]int{recall5: 5, recall10: 10, recall20: 20} {
			if i < k {
				s[m] += share
			}
		}
		if i < 10 {
			found++
			gain += discount(i)
		}
	}
	ideal := 0.0
	for i := range min(len(evidence), 10) {
		ideal += discount(i)
	}
	s[ndcg10] = gain / ideal
	s[all10] = one(found == len(evidence))
	s[sessionAny10], s[sessionAll10] = sessionScores(results, sessions)
	return s
}

func sessionScores(results []hit, sessions []int) (some, all float64) {
	var first []int
	found := 0
	for _, h := range results {
		if len(first) == 10 {
			break
		}
		if slices.Contains(first, h.session) {
			continue
		}
		first = append(first, h.session)
		if slices.Contains(sessions, h.session) {
			found++
		}
	}
	return one(found > 0), one(found == len(sessions))
}

// discount is what a result counts at a place, from 0.
func discount(place int) float64 { return 1 / math.Log2(float64(place+2)) }

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// quantile returns what a share q of the values is at most, by nearest rank. They are sorted, and
// there is at least one.
func quantile[T any](sorted []T, q float64) T {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))))-1))]
}
