package main

import (
	"math/rand/v2"
	"slices"
)

// resamples is how many times the questions are drawn anew.
const resamples = 2000

// figure is a mean with its 95 % interval.
type figure struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// bootstrap returns the mean of each column of rows, which are as long as each other, and its
// interval by the percentiles of the means of rows drawn with replacement. All columns are of the
// same draws, so a column of differences is a paired one. The draws are the same in every run.
func bootstrap(rows [][]float64) []figure {
	if len(rows) == 0 {
		return nil
	}
	columns := len(rows[0])
	out := make([]figure, columns)
	for column, mean := range means(rows, func(i int) int { return i }) {
		out[column].Mean = mean
	}
	draws := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // they are to be the same every time
	drawn := make([][]float64, columns)
	for range resamples {
		for column, mean := range means(rows, func(int) int { return draws.IntN(len(rows)) }) {
			drawn[column] = append(drawn[column], mean)
		}
	}
	for column := range out {
		slices.Sort(drawn[column])
		out[column].Low, out[column].High = quantile(drawn[column], 0.025), quantile(drawn[column], 0.975)
	}
	return out
}

// means returns the means of the columns over as many rows as there are, picked by pick.
func means(rows [][]float64, pick func(i int) int) []float64 {
	sums := make([]float64, len(rows[0]))
	for i := range rows {
		for column, v := range rows[pick(i)] {
			sums[column] += v
		}
	}
	for column := range sums {
		sums[column] /= float64(len(rows))
	}
	return sums
}
