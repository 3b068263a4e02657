package kernel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// sender is a driver that keeps what would leave the process with it.
type sender struct {
	to        mem.Destination
	questions []string
	texts     map[kernel.ID]string
	withheld  map[kernel.ID]bool
}

func (s *sender) Name() string                 { return "sender" }
func (s *sender) Destination() mem.Destination { return s.to }

func (s *sender) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	s.questions = append(s.questions, q.Text)
	embedding, err := view.Embed(ctx, q.Text)
	if err != nil {
		return driver.Plan{}, err
	}
	near, err := view.Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: 10, Detail: true})
	if err != nil {
		return driver.Plan{}, err
	}
	words, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 10, Detail: true})
	if err != nil {
		return driver.Plan{}, err
	}
	latest, err := view.Candidates(ctx, driver.CandidateQuery{Limit: 10, Detail: true})
	var plan driver.Plan
	for _, c := range slices.Concat(near, words, latest) {
		s.texts[c.Ref] += c.Text
		s.withheld[c.Ref] = s.withheld[c.Ref] || c.TextWithheld
		plan.Items = append(plan.Items, driver.Ranked{Ref: c.Ref, Score: 1})
	}
	return plan, err
}

// TestSenders: a driver that sends what it is shown elsewhere is shown no text that may not go there,
// and is not asked what may not be asked there.
func TestSenders(t *testing.T) {
	t.Parallel()
	const mail, kiln = "Mail ada.quill@lovelace-mail.net about the kiln.", "The kiln is lit."
	texts := []string{kiln, mail, "The kiln's card is " + card + "."}
	for to, goes := range map[mem.Destination]int{
		mem.DestinationLocal: 3, mem.DestinationTrustedModel: 2, mem.DestinationRemoteModel: 1,
	} {
		t.Run(string(to), func(t *testing.T) {
			t.Parallel()
			s := &sender{to: to, texts: map[kernel.ID]string{}, withheld: map[kernel.ID]bool{}}
			k := kerneltest.Open(t, kernel.WithDrivers(s))
			dana := k.Key("acme/eng", kernel.RoleMember)
			var ids []kernel.ID
			for _, text := range texts {
				ids = append(ids, must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text})).Stored...)
			}
			reply := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "kiln", Driver: "sender"}))
			require.Empty(t, reply.Fallbacks)
			require.Len(t, reply.Items, 3, "the caller sees all of them")
			for i, id := range ids {
				require.Equal(t, i >= goes, s.withheld[id], texts[i])
				if i >= goes {
					require.Empty(t, s.texts[id], texts[i])
				} else {
					require.Contains(t, s.texts[id], texts[i])
				}
			}
			for i, text := range texts {
				s.questions = nil
				ask := text + " Really?"
				k.RequireAudit(t, "search", "ok", func() {
					reply = must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: ask, Driver: "sender"}))
				}, fmt.Sprintf("returned=%d", len(reply.Items)))
				if i < goes {
					require.Equal(t, []string{ask}, s.questions)
					require.Empty(t, reply.Fallbacks)
					continue
				}
				require.Empty(t, s.questions)
				require.Equal(t, []kernel.Fallback{{Driver: "sender", Reason: "withheld"}}, reply.Fallbacks)
				require.Equal(t, "baseline", reply.Driver)
			}
		})
	}
	_, err := kernel.Open(kerneltest.Open(t).Pool, kernel.WithDrivers(&sender{to: mem.DestinationExport}))
	require.ErrorIs(t, err, kernel.ErrInvalid)
}
