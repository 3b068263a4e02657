package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/kernel"
)

// report prints what the product does, section by section, while it does it.
type report struct {
	kernel *kernel.Kernel
	job    *job
	loaded *loaded
	people *people
	console.Printer
}

func (r *report) write(ctx context.Context) error {
	for _, section := range []func(context.Context) error{r.writes, r.searches, r.history, r.denials, r.audit} {
		if err := section(ctx); err != nil {
			return err
		}
	}
	return r.Err
}

// place is how a namespace is printed: without the tenant, which all of them share.
func (r *report) place(ns string) string {
	if path := below(r.job.tenant, ns); path != "" {
		return console.Clip(path, 32)
	}
	return r.job.tenant
}

// writes says what became of the input.
func (r *report) writes(context.Context) error {
	const most = 12
	sum := r.loaded.total()
	r.Printf("1. WRITE   %s turns of %s, each a memory in its namespace, by agent:scribe", console.Grouped(sum.turns), r.job.in.Name)
	r.Printf("   %-32s %8s %8s %10s %10s", "namespace", "turns", "stored", "duplicate", "corrected")
	shown := r.loaded.namespaces
	if len(shown) > most+1 {
		shown = shown[:most]
	}
	for _, n := range shown {
		r.Printf("   %-32s %8s %8s %10s %10s", r.place(n.path), console.Grouped(n.turns), console.Grouped(n.stored), console.Grouped(n.duplicates), console.Grouped(n.superseded))
	}
	if more := len(r.loaded.namespaces) - len(shown); more > 0 {
		r.Printf("   ... and %s more", console.Grouped(more))
	}
	r.Printf("   stored %s + duplicate %s = %s turns in %.1f s (%.0f/s), vectors, words and audit rows included",
		console.Grouped(sum.stored), console.Grouped(sum.duplicates), console.Grouped(sum.stored+sum.duplicates), r.loaded.elapsed.Seconds(),
		float64(sum.turns)/max(r.loaded.elapsed.Seconds(), 0.001))
	return nil
}

// searches puts one question as each of the people.
func (r *report) searches(ctx context.Context) error {
	r.Printf("\n2. SEARCH  %q", console.Clip(r.job.question, 80))
	r.Printf("   A caller sees its own namespace and those above it: nothing below, nothing beside.")
	for _, p := range r.people.all() {
		stats, err := r.kernel.Stats(ctx, p, kernel.StatsRequest{})
		if err != nil {
			return err
		}
		found, err := r.kernel.Search(ctx, p, kernel.SearchRequest{Query: r.job.question, K: 2})
		if err != nil {
			return err
		}
		sum := r.loaded.total()
		r.Printf("   %-10s %s of %s, sees %s of %s memories", p.Actor(), p.Role(), r.place(p.Namespace().String()),
			console.Grouped(int(stats.Live)), console.Grouped(sum.live()))
		for _, item := range found.Items {
			m := &item.Memory
			r.Printf("      found   %-17s  %s  %s", r.place(m.Namespace.String()), day(m.EventTime), console.Clip(m.Text, 62))
		}
		if len(found.Items) == 0 && len(found.Degraded) == 0 {
			r.Printf("      found   nothing, and no part of the search was down: there is nothing to see")
		}
		r.hidden(p)
	}
	return nil
}

// hidden says what a person does not see and why.
func (r *report) hidden(p kernel.Identity) {
	var under, beside []string
	for _, n := range r.job.survey.namespaces {
		switch {
		case p.Namespace().Sees(n.full):
		case n.full.InSubtree(p.Namespace()):
			under = append(under, n.path)
		default:
			beside = append(beside, n.path)
		}
	}
	for _, h := range []struct {
		paths []string
		why   string
	}{{under, "below"}, {beside, "beside"}} {
		if len(h.paths) > 0 {
			r.Printf("      hidden  %s: %s %s", listed(h.paths), h.why, r.place(p.Namespace().String()))
		}
	}
}

// history shows that what was corrected is kept, and can be asked for.
func (r *report) history(ctx context.Context) error {
	r.Printf("\n3. HISTORY nothing is overwritten: a correction ends one memory and begins another")
	corrected := r.loaded.byPath[r.job.home.path].corrected
	if corrected.IsZero() {
		r.Printf("   no line of %s corrects another one in namespace %s", r.job.in.Name, r.job.home.path)
		return nil
	}
	history, err := r.kernel.History(ctx, r.people.dana, kernel.HistoryRequest{ID: corrected, Limit: 3})
	if err != nil {
		return err
	}
	for _, m := range history.Memories {
		until, state := "now", "current"
		if !m.Current() {
			until, state = clock(m.ValidTo), string(m.EndReason)
		}
		r.Printf("   %-10s  %s  %s", state, day(m.EventTime), console.Clip(m.Text, 80))
		r.Printf("               told by %s; believed from %s to %s", console.Clip(m.Source, 40), clock(m.ValidFrom), until)
	}
	before := history.Memories[len(history.Memories)-1].ValidFrom
	found, err := r.kernel.Search(ctx, r.people.dana, kernel.SearchRequest{Query: r.job.question, K: 1, AsOf: before})
	if err != nil {
		return err
	}
	for _, item := range found.Items {
		r.Printf("   the same question as of %s finds: %s", clock(before), console.Clip(item.Memory.Text, 60))
	}
	return nil
}

// denials makes calls that must fail.
func (r *report) denials(ctx context.Context) error {
	home := r.loaded.byPath[r.job.home.path]
	target := cmp.Or(home.corrected, home.first)
	_, hidden := r.kernel.Read(ctx, r.people.omar, kernel.ReadRequest{ID: target})
	_, missing := r.kernel.Read(ctx, r.people.omar, kernel.ReadRequest{ID: kernel.ID{15: 1}})
	_, write := r.kernel.Write(ctx, r.people.kim, kernel.WriteRequest{Text: "An auditor changes nothing."})
	var log error
	for _, err := range r.kernel.AuditSearch(ctx, r.people.dana, kernel.AuditSearchRequest{Limit: 1}) {
		log = err
	}
	r.Printf("\n4. DENIED  what a caller must not see looks like what is not there")
	for _, call := range []struct {
		who, what string
		err, want error
	}{
		{"user:omar", "reads a memory of " + r.job.home.path + " by its id", hidden, kernel.ErrNotFound},
		{"user:omar", "reads an id that no memory has", missing, kernel.ErrNotFound},
		{"user:kim", "writes, as an auditor", write, kernel.ErrForbidden},
		{"user:dana", "searches the audit log, as a member", log, kernel.ErrForbidden},
	} {
		if !errors.Is(call.err, call.want) {
			return fmt.Errorf("%s %s: the answer is %w, want %w", call.who, call.what, call.err, call.want)
		}
		r.Printf("   %-10s %-56s %v", call.who, console.Clip(call.what, 56), call.err)
	}
	return nil
}

// audit prints what the log holds, as the auditor finds it.
func (r *report) audit(ctx context.Context) error {
	const most = 14
	total := 0
	routine := map[kernel.Op]int{} // rows that are counted, not shown
	var shown []kernel.AuditEvent
	for event, err := range r.kernel.AuditSearch(ctx, r.people.kim, kernel.AuditSearchRequest{}) {
		if err != nil {
			return err
		}
		total++
		if event.Result == audit.ResultOK && slices.Contains([]kernel.Op{acl.OpWrite, acl.OpKeyCreate, acl.OpStats}, event.Op) {
			routine[event.Op]++
		} else if len(shown) < most {
			shown = append(shown, event)
		}
	}
	slices.Reverse(shown) // the newest came first
	r.Printf("\n5. AUDIT   one row per call, %s so far, as user:kim finds them; the database refuses to change or delete any", console.Grouped(total))
	question := ""
	for _, e := range shown {
		r.Printf("   %s  %-10s %-17s %-12s %-6s  %s", clock(e.Time), e.Actor, r.place(e.Namespace), e.Op, e.Result, console.Clip(e.Detail, 44))
		question = cmp.Or(question, e.Purpose)
	}
	r.Printf("   and %s write, %s key_create, %s stats, all ok; a search keeps its question: %q",
		console.Grouped(routine[acl.OpWrite]), console.Grouped(routine[acl.OpKeyCreate]), console.Grouped(routine[acl.OpStats]), console.Clip(question, 40))
	r.Printf("   The log tells user:omar's two reads apart (denied, miss); user:omar cannot.")
	return nil
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
