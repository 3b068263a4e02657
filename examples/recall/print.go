package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/memkernel/memkernel/examples/internal/console"
)

// write writes the report for people, or else for programs.
func (r *report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return console.WriteJSON(out, r)
	}
	p := &printer{console.Printer{Out: out}}
	p.input(r)
	p.recall(r)
	p.differences(r)
	p.latency(r)
	return p.Err
}

// printer prints a report for people.
type printer struct{ console.Printer }

// width is how long a line is at most, in characters.
const width = 110

func (p *printer) input(r *report) {
	p.Printf("1. INPUT    %s: %s, %s, %s", console.Clip(r.File, 40),
		counted(r.Conversations, "conversation"), counted(r.Turns, "turn"), counted(r.Questions, "question"))
	p.Printf("   written  as %s memories, each conversation in a namespace of its own below %s", console.Grouped(r.Memories), r.Tenant)
	if r.Repeated > 0 {
		p.Printf("   repeated %s: the earlier one that says the same counts for it", counted(r.Repeated, "turn"))
	}
	if r.Refused > 0 {
		p.Printf("   refused  %s: not stored, so not to be found", counted(r.Refused, "turn"))
	}
	p.Printf("   asked    %s, each in its own conversation, for %d results", counted(r.Used, "question"), r.Results)
	l := &r.LeftOut
	if l.NoEvidence > 0 {
		p.Printf("   left out %s without evidence", counted(l.NoEvidence, "question"))
	}
	if l.UnknownOnly > 0 {
		p.Printf("   left out %s with evidence that names no turn", counted(l.UnknownOnly, "question"))
	}
	if n := len(l.Unknown); n > 0 {
		p.Printf("   left out %s in evidence to turns that are not there", counted(n, "reference"))
		const most = 10
		var shown []string
		for _, ref := range l.Unknown[:min(n, most)] {
			shown = append(shown, fmt.Sprintf("%q", console.Clip(ref, 30)))
		}
		if n > most {
			shown = append(shown, "and "+console.Grouped(n-most)+" more")
		}
		p.Wrapped("            ", width, shown)
	}
}

// counted writes how many there are of something.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return console.Grouped(n) + " " + noun
}

func (p *printer) recall(r *report) {
	p.Printf("\n2. RECALL   by category (and how many questions), with the 95 %% intervals below")
	for i := range r.Groups {
		g := &r.Groups[i]
		var heads strings.Builder
		_, _ = fmt.Fprintf(&heads, "   %-20s%4s", console.Clip(g.title(), 20), "R@5")
		for _, head := range []string{"R@10", "R@20", "MRR", "nDCG@10", "all@10", "sess-any@10", "sess-all@10"} {
			_, _ = fmt.Fprintf(&heads, "%12s", head)
		}
		p.Printf("%s", heads.String())
		for _, d := range g.Drivers {
			var means, intervals strings.Builder
			_, _ = fmt.Fprintf(&means, "     %-10s", d.Driver)
			intervals.WriteString(strings.Repeat(" ", 15))
			for m := range metricCount {
				f := d.Metrics[m.String()]
				_, _ = fmt.Fprintf(&means, "%12.3f", f.Mean)
				_, _ = fmt.Fprintf(&intervals, "%12s", short(f.Low)+"-"+short(f.High))
			}
			p.Printf("%s", means.String())
			p.Printf("%s", intervals.String())
		}
	}
	for line := range strings.Lines(rules) {
		p.Printf("   %s", strings.TrimSuffix(line, "\n"))
	}
}

// title names the questions of a group, and how many there are.
func (g *group) title() string {
	number := ""
	if g.Category != 0 {
		number = fmt.Sprintf("%d ", g.Category)
	}
	return fmt.Sprintf("%s%s (%s)", number, g.Name, console.Grouped(g.Questions))
}

// short writes a number from 0 to 1 without the zero in front.
func short(f float64) string { return strings.TrimPrefix(fmt.Sprintf("%.3f", f), "0") }

func (p *printer) differences(r *report) {
	all := &r.Groups[0]
	if len(all.Differences) == 0 {
		return
	}
	p.Printf("\n3. PAIRED   how much more recall@10 %s has over the same questions, and the 95 %% interval", all.Differences[0].Driver)
	for _, d := range all.Differences {
		p.Printf("   than %-9s %+.3f  %+.3f to %+.3f", d.Over, d.Mean, d.Low, d.High)
	}
}

func (p *printer) latency(r *report) {
	p.Printf("\n4. LATENCY  of one search at a time, in milliseconds: half of them took at most p50, 95 of 100 at most p95")
	for _, l := range r.Latency {
		p.Printf("   %-9s p50 %7.2f  p95 %7.2f", l.Driver, l.P50, l.P95)
	}
}
