package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// failure names the sort of a failure.
func failure(err error) string {
	for _, sort := range []error{kernel.ErrInvalid, kernel.ErrTooLarge, kernel.ErrConflict, kernel.ErrNotFound} {
		if errors.Is(err, sort) {
			return sort.Error()
		}
	}
	return kernel.ErrInternal.Error()
}

// record counts what became of an entry that was tried.
func (p *pass) record(ctx context.Context, e *pending, r result) {
	s, here := p.summary, example{At: e.place}
	if e.ref != "" {
		p.ids[e.ref] = kernel.ID{}
	}
	if r.err != nil {
		s.Failed.add(example{At: e.place, Note: r.err.Error()}, failure(r.err))
		return
	}
	// Of several facts nothing says which one a later message corrects; that is left to the kernel.
	if kept := slices.Concat(r.reply.Stored, r.reply.Deduplicated); len(kept) == 1 && e.ref != "" {
		p.ids[e.ref] = kept[0]
	}
	if r.reply.Replayed {
		s.Replayed.add(here, "written by an earlier run or reading")
		return
	}
	for _, rejected := range r.reply.Rejected {
		// The kernel returns the text of a fact, and none with a secret that is not to be kept.
		s.Rejected.add(example{At: e.place, Note: rejected.Text}, string(rejected.Reason))
	}
	if v := r.reply.Verbatim; v != "" {
		s.Verbatim.add(here, string(v))
	}
	if n := r.reply.Redacted; n > 0 {
		s.Redacted.addMany(n, here, "secrets replaced by their kinds")
	}
	for _, b := range r.reply.Degraded {
		s.Degraded.add(here, string(b))
	}
	for _, id := range r.reply.Stored {
		p.stored(ctx, e, id)
	}
	for range r.reply.Held {
		s.Held.add(here, "out of sight until it is checked")
	}
	changed := "corrected by a later message"
	if e.origin == fromDocs {
		changed = "the section has changed"
	}
	p.related(ctx, &s.Superseded, r.reply.Superseded, changed, func(was string) example {
		return example{At: was, Note: "replaced by " + e.place}
	})
	p.related(ctx, &s.Deduplicated, r.reply.Deduplicated, "a current memory says the same", func(of string) example {
		return example{At: e.place, Note: "as in " + of}
	})
	p.related(ctx, &s.Echoed, r.reply.Echoed, "said back by who was told it", func(of string) example {
		return example{At: e.place, Note: "as in " + of}
	})
}

// stored counts a new memory and what the kernel found in it.
func (p *pass) stored(ctx context.Context, e *pending, id kernel.ID) {
	s, here := p.summary, example{At: e.place}
	s.Stored.add(here, "from "+string(e.origin))
	m := p.read(ctx, id)
	if m == nil {
		return
	}
	c := &m.Classification
	s.Secrets.add(here, c.SecretKinds...)
	s.Personal.add(here, kindsOf(c.PIISubjects)...)
	for _, label := range c.Labels {
		if label == mem.LabelImitatesInstructions {
			s.Instructions.add(here, string(label))
		} else {
			s.Hidden.add(here, string(label))
		}
	}
	if len(c.SecretKinds) == 0 {
		p.last[e.origin] = remembered{p.scribe.reader, *m}
	}
}

// related counts memories that an entry met. An example names where such a memory is from.
func (p *pass) related(ctx context.Context, into *outcome, ids []kernel.ID, why string, show func(source string) example) {
	for _, id := range ids {
		source := "a memory that cannot be read"
		if into.wants(why) {
			if m := p.read(ctx, id); m != nil {
				source = m.Source
			}
		}
		into.add(show(source), why)
	}
}

// read returns a memory, nil if it cannot be seen. After a failure nothing can.
func (p *pass) read(ctx context.Context, id kernel.ID) *kernel.Memory {
	if p.blind != nil {
		return nil
	}
	var reply *kernel.ReadReply
	err := patiently(ctx, func() (err error) {
		reply, err = p.kernel.Read(ctx, p.scribe.reader, kernel.ReadRequest{ID: id})
		return err
	})
	switch {
	case err == nil:
		return &reply.Memory
	case !errors.Is(err, kernel.ErrNotFound):
		p.blind = err
	}
	return nil
}

// kindsOf keeps of subjects such as "email:dana@example.org" what they are, and not who.
func kindsOf(subjects []string) []string {
	kinds := make([]string, len(subjects))
	for i, s := range subjects {
		kinds[i], _, _ = strings.Cut(s, ":")
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
