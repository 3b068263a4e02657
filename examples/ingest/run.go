package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/kernel"
)

// report is what a run says in the end.
type report struct {
	Tenant    string `json:"tenant"`
	Namespace string `json:"namespace"` // below the tenant
	// Stopped says why the run ended before its end, "" if it did not.
	Stopped  string   `json:"stopped,omitempty"`
	Summary  *summary `json:"summary"`
	Searches []search `json:"searches,omitempty"`
	// Again is the summary of the second reading, nil if there was none.
	Again *summary `json:"again,omitempty"`
}

// search is a question and what it found.
type search struct {
	Question string  `json:"question"`
	Found    []found `json:"found"`
}

type found struct {
	Source string `json:"source"`
	Text   string `json:"text,omitempty"` // not if it holds a secret
}

// run reads the input, writes it and reports on it. If it is stopped, the report says what was
// done by then.
func run(ctx context.Context, k *kernel.Kernel, opts *options, in *input, stdout, stderr io.Writer) error {
	total := in.count()
	if total == 0 {
		return errors.New("the input holds nothing")
	}
	keys, err := openKeys(ctx, k, opts.keys, opts.namespace)
	if err != nil {
		return err
	}
	if err := keys.rule(ctx, opts.secrets); err != nil {
		return err
	}
	read := func(doing string) (*pass, error) {
		p := &pass{
			kernel: k, keys: keys, model: opts.llm.model != "", summary: &summary{Total: total},
			ids: map[string]kernel.ID{}, last: map[origin]remembered{},
		}
		stop := console.Progress(stderr, doing, &p.done, total)
		err := p.run(ctx, in.entries())
		stop()
		p.summary.Entries = int(p.done.Load())
		return p, err
	}
	r := &report{Tenant: keys.owner.Tenant(), Namespace: opts.namespace}
	first, err := read("ingesting")
	r.Summary = first.summary
	if err == nil {
		err = r.search(ctx, first, opts.ask)
	}
	if err == nil && !opts.once {
		var second *pass
		second, err = read("reading again")
		r.Again = second.summary
	}
	if err != nil {
		r.Stopped = err.Error()
		err = fmt.Errorf("%w (%s of %s entries are done)", err, console.Grouped(first.summary.Entries), console.Grouped(total))
	}
	return errors.Join(err, r.write(stdout, opts.json))
}

// search asks what was stored: the given questions, or else for the last text of each origin.
func (r *report) search(ctx context.Context, p *pass, questions []string) error {
	type asked struct {
		who      kernel.Identity
		question string
	}
	var all []asked
	if len(questions) > 0 {
		s, err := p.keys.scribe(ctx, fromChat, "")
		if err != nil {
			return err
		}
		for _, q := range questions {
			all = append(all, asked{s.reader, q})
		}
	} else {
		for _, o := range []origin{fromChat, fromDocs} {
			if m, ok := p.last[o]; ok {
				all = append(all, asked{m.who, console.Clip(m.memory.Text, 200)})
			}
		}
	}
	for _, a := range all {
		var reply *kernel.SearchReply
		err := patiently(ctx, func() (err error) {
			reply, err = p.kernel.Search(ctx, a.who, kernel.SearchRequest{Query: a.question, K: 2})
			return err
		})
		if err != nil {
			return err
		}
		s := search{Question: a.question, Found: []found{}}
		for _, item := range reply.Items {
			f := found{Source: item.Memory.Source, Text: item.Memory.Text}
			if len(item.Memory.Classification.SecretKinds) > 0 {
				f.Text = ""
			}
			s.Found = append(s.Found, f)
		}
		r.Searches = append(r.Searches, s)
	}
	return nil
}
