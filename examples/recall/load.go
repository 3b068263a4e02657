package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/examples/internal/host"
	"github.com/memkernel/memkernel/examples/internal/locomo"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// batchSize is how many turns are handed over together: people want to see that something happens.
const batchSize = 200

// memory is a conversation as it is kept.
type memory struct {
	// reader searches it. It is an auditor, whose searches do not count as accesses.
	reader kernel.Identity
	// turnOf has the turn that became a memory, and holder for every turn the one whose memory holds
	// its text: itself, or an earlier one that says the same.
	turnOf map[kernel.ID]int
	holder []int
}

// loader writes the input.
type loader struct {
	kernel *kernel.Kernel
	owner  kernel.Identity
	done   atomic.Int64 // turns
	report *report
}

// load makes a tenant and writes the conversations into it.
func load(ctx context.Context, k *kernel.Kernel, in *input, r *report, progress io.Writer) ([]memory, error) {
	r.Tenant = "recall-" + strings.ToLower(rand.Text()[:8])
	first, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: r.Tenant, Actor: "user:recall", Label: "recall"})
	if err != nil {
		return nil, err
	}
	l := &loader{kernel: k, report: r}
	if l.owner, err = k.Authenticate(ctx, first.Secret); err != nil {
		return nil, err
	}
	// What was written is not to change while it is being searched.
	if _, err := k.Policies().Put(ctx, l.owner, kernel.PutPolicyRequest{Policy: kernel.Policy{ConflictReview: mem.ReviewOff}}); err != nil {
		return nil, err
	}
	stop := console.Progress(progress, "writing", &l.done, in.turns)
	defer stop()
	out := make([]memory, len(in.conversations))
	for i := range in.conversations {
		c := &in.conversations[i]
		if out[i], err = l.conversation(ctx, c); err != nil {
			return nil, fmt.Errorf("%s: %w (%s of %s turns are written, in tenant %s)",
				c.ID, err, console.Grouped(int(l.done.Load())), console.Grouped(in.turns), r.Tenant)
		}
	}
	return out, nil
}

func (l *loader) conversation(ctx context.Context, c *locomo.Conversation) (memory, error) {
	m := memory{turnOf: map[kernel.ID]int{}, holder: make([]int, 0, len(c.Turns))}
	namespace, err := acl.ParseNamespace(l.owner.Tenant() + "/" + c.ID)
	if err != nil {
		return memory{}, err
	}
	writer, err := l.identity(ctx, kernel.KeyRequest{Namespace: namespace, Actor: "agent:writer", Role: kernel.RoleAgent})
	if err != nil {
		return memory{}, err
	}
	if m.reader, err = l.identity(ctx, kernel.KeyRequest{Namespace: namespace, Actor: "user:reader", Role: kernel.RoleAuditor}); err != nil {
		return memory{}, err
	}
	for batch := range slices.Chunk(c.Turns, batchSize) {
		req := kernel.WriteManyRequest{Writes: make([]kernel.WriteRequest, len(batch))}
		for i := range batch {
			t := &batch[i]
			req.Writes[i] = kernel.WriteRequest{Text: textOf(t), EventTime: t.At, Source: strings.TrimSpace(c.ID + " " + t.ID)}
		}
		reply, err := l.kernel.WriteMany(ctx, writer, req)
		if err != nil {
			return memory{}, err
		}
		for _, result := range reply.Results {
			if result.Err != nil {
				return memory{}, result.Err
			}
			l.keep(&m, result.Reply)
			l.done.Add(1)
		}
	}
	return m, nil
}

// keep notes what became of the next turn.
func (l *loader) keep(m *memory, reply *kernel.WriteReply) {
	turn := len(m.holder)
	m.holder = append(m.holder, turn)
	kept := slices.Concat(reply.Stored, reply.Deduplicated)
	if len(kept) == 0 {
		l.report.Refused++ // it cannot be found, and is missed where it is evidence
		return
	}
	if earlier, ok := m.turnOf[kept[0]]; ok {
		m.holder[turn] = earlier
		l.report.Repeated++
		return
	}
	m.turnOf[kept[0]] = turn
	l.report.Memories++
}

// identity makes a key of this program's and resolves it.
func (l *loader) identity(ctx context.Context, req kernel.KeyRequest) (kernel.Identity, error) {
	req.AgentID = "recall"
	return host.IssueKey(ctx, l.kernel, l.owner, req)
}
