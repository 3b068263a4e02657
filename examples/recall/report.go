package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memkernel/memkernel/examples/internal/locomo"
)

// report is what a run says in the end.
type report struct {
	File          string `json:"file"`
	Tenant        string `json:"tenant"`
	Conversations int    `json:"conversations"`
	Turns         int    `json:"turns"`
	// Memories is what the turns became. Repeated ones say what an earlier turn of the conversation
	// says and count as that one; Refused ones were not stored, so they cannot be found.
	Memories int `json:"memories"`
	Repeated int `json:"repeated"`
	Refused  int `json:"refused"`
	// Questions are those of the file, Used those that were asked.
	Questions int     `json:"questions"`
	Used      int     `json:"used"`
	LeftOut   leftOut `json:"leftOut"`
	// Results is how many results a search returned at most.
	Results int    `json:"results"`
	Rules   string `json:"rules"`
	// Groups are all questions, and then those of each category.
	Groups  []group   `json:"groups"`
	Latency []latency `json:"latency"`
}

// group is some of the questions.
type group struct {
	Name      string `json:"name"`
	Category  int    `json:"category,omitempty"` // not of all
	Questions int    `json:"questions"`
	// Drivers has what each driver scored, in the order of the flag.
	Drivers []ranking `json:"drivers"`
	// Differences has how much higher the recall@10 of the first driver is than that of each other
	// one, over the same questions.
	Differences []difference `json:"recall10Differences"`
}

type ranking struct {
	Driver  string            `json:"driver"`
	Metrics map[string]figure `json:"metrics"`
}

type difference struct {
	Driver string `json:"driver"`
	Over   string `json:"over"`
	figure
}

// latency is how long the searches by a driver took.
type latency struct {
	Driver string  `json:"driver"`
	P50    float64 `json:"p50Milliseconds"`
	P95    float64 `json:"p95Milliseconds"`
}

func newReport(in *input, opts *options) *report {
	return &report{
		File: in.name, Conversations: len(in.conversations), Turns: in.turns, Questions: in.asked, Used: len(in.questions),
		LeftOut: in.left, Results: opts.results, Rules: strings.ReplaceAll(rules, "\n", " "),
	}
}

// evaluate works out the figures.
func (r *report) evaluate(in *input, e *examination) {
	var all []int
	by := map[int][]int{}
	for i, q := range in.questions {
		all = append(all, i)
		by[q.category] = append(by[q.category], i)
	}
	r.Groups = append(r.Groups, groupOf("all", all, e))
	for _, number := range slices.Sorted(maps.Keys(by)) {
		g := groupOf(locomo.Category(number), by[number], e)
		g.Category = number
		r.Groups = append(r.Groups, g)
	}
	for d, name := range e.opts.drivers {
		took := slices.Sorted(slices.Values(e.took[d]))
		r.Latency = append(r.Latency, latency{name, milliseconds(quantile(took, 0.5)), milliseconds(quantile(took, 0.95))})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// groupOf works out the figures of some questions, all of them by the same draws.
func groupOf(name string, questions []int, e *examination) group {
	drivers := e.opts.drivers
	rows := make([][]float64, len(questions))
	for n, i := range questions {
		for d := range drivers {
			rows[n] = append(rows[n], e.scores[d][i][:]...)
		}
		for d := range drivers[1:] {
			rows[n] = append(rows[n], e.scores[0][i][recall10]-e.scores[d+1][i][recall10])
		}
	}
	figures := bootstrap(rows)
	g := group{Name: name, Questions: len(questions), Differences: []difference{}}
	for d, driver := range drivers {
		metrics := map[string]figure{}
		for m := range metricCount {
			metrics[m.String()] = figures[d*int(metricCount)+int(m)]
		}
		g.Drivers = append(g.Drivers, ranking{driver, metrics})
	}
	for d, driver := range drivers[1:] {
		g.Differences = append(g.Differences, difference{drivers[0], driver, figures[len(drivers)*int(metricCount)+d]})
	}
	return g
}
