package main

import (
	"cmp"
	"io"

	"github.com/memkernel/memkernel/examples/internal/console"
)

// write writes the report for people, or else for programs.
func (r *report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return console.WriteJSON(out, r)
	}
	p := &printer{console.Printer{Out: out}}
	p.summary(r)
	if len(r.Searches) > 0 {
		p.searches(r.Searches)
	}
	if r.Again != nil {
		p.again(r.Again)
	}
	return p.Err
}

// printer prints a report for people.
type printer struct{ console.Printer }

// width is how long a line is at most, in characters.
const width = 110

func (p *printer) summary(r *report) {
	s := r.Summary
	p.Printf("1. INGEST  %s of %s entries into %s/%s in %.1f s (%.0f/s)", console.Grouped(s.Entries), console.Grouped(s.Total),
		r.Tenant, console.Clip(r.Namespace, 60), s.Seconds, float64(s.Entries)/max(s.Seconds, 0.001))
	if r.Stopped != "" {
		p.Printf("   stopped: %s", console.Clip(r.Stopped, width))
	}
	var none []string
	for _, o := range s.outcomes() {
		if o.Count == 0 {
			none = append(none, o.name)
			continue
		}
		p.Printf("   %-16s %6s", o.name, console.Grouped(o.Count))
		for _, why := range o.Why {
			p.reason(&why, o.shown)
		}
	}
	p.Printf("   none of")
	p.Wrapped("      ", width, none)
}

// reason prints why something became of texts, and of which ones.
func (p *printer) reason(why *reason, most int) {
	const indent = "         "
	p.Printf("      %s: %s", console.Clip(why.Reason, 60), console.Grouped(why.Count))
	var plain []string
	shown := 0
	for _, e := range why.Examples[:min(most, len(why.Examples))] {
		at := console.Clip(e.At, 90)
		shown++
		if e.Note != "" {
			p.Printf("%s%s", indent, console.Clip(at+": "+e.Note, width-len(indent)))
		} else {
			plain = append(plain, at)
		}
	}
	if more := why.Count - shown; more > 0 {
		plain = append(plain, "and "+console.Grouped(more)+" more")
	}
	p.Wrapped(indent, width, plain)
}

func (p *printer) searches(searches []search) {
	p.Printf("\n2. SEARCH  what was written is found")
	for _, s := range searches {
		p.Printf("   %q", console.Clip(s.Question, width-5))
		for _, f := range s.Found {
			p.Printf("      %-36s  %s", console.Clip(f.Source, 36), console.Clip(cmp.Or(f.Text, "(holds a secret)"), width-44))
		}
		if len(s.Found) == 0 {
			p.Printf("      nothing")
		}
	}
}

// again says what the second reading did: nothing, if all is well.
func (p *printer) again(s *summary) {
	var parts []string
	for _, o := range s.outcomes() {
		if o.Count > 0 || o.outcome == &s.Stored {
			parts = append(parts, console.Grouped(o.Count)+" "+o.name)
		}
	}
	p.Printf("\n3. AGAIN   the same input a second time")
	p.Wrapped("      ", width, parts)
}
