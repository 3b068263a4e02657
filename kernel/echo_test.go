package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestEcho: what an agent was handed and writes back makes no new fact, however it quotes it; what
// it says of its own does, and so does what it was never handed.
func TestEcho(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	boss, agent := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleAgent)
	told := func(text string) kernel.ID {
		return must(k.Write(t.Context(), boss, kernel.WriteRequest{Text: text})).Stored[0]
	}
	office, lunch, hidden := told("The office opens at nine."), told("Lunch is at noon."), told("The vault code changes weekly.")

	write := func(text string) *kernel.WriteReply {
		return must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: text}))
	}
	// Nothing was handed out yet.
	own := write("Lunch is at noon.")
	require.Len(t, own.Stored, 1)
	require.Equal(t, office, must(k.Search(t.Context(), agent, kernel.SearchRequest{Query: "When does the office open?", K: 1})).Items[0].Memory.ID)
	must(k.Read(t.Context(), agent, kernel.ReadRequest{ID: lunch}))

	for _, text := range []string{
		"The office opens at nine.", "the  OFFICE opens at nine.", "- The office opens at nine.", "> \"The office opens at nine.\"",
		"1. The office opens at nine.\n2. Lunch is at noon.\n", "The office opens at nine.\r\n\r\n* Lunch is at noon.",
	} {
		r := write(text)
		require.Empty(t, r.Stored, text)
		require.Contains(t, r.Echoed, office, text)
		require.NotContains(t, r.Echoed, hidden)
		row := writeRows(k)
		require.Contains(t, row[len(row)-1].Detail, fmt.Sprintf("stored=0 rejected=0 superseded=0 deduplicated=0 echoed=%d", len(r.Echoed)))
	}
	require.Equal(t, []kernel.ID{own.Stored[0]}, write("Lunch is at noon.").Deduplicated, "its own is a duplicate")
	for _, text := range []string{
		"The vault code changes weekly.",                       // never handed out
		"The office opens at nine.\nThe kitchen opens at ten.", // says more
		"The office opens at nine. Really.",
	} {
		require.Len(t, write(text).Stored, 1, text)
	}
	// An echo in the text of one who may say so of their own is a fact.
	person := k.Key("acme/eng", kernel.RoleMember)
	require.Len(t, must(k.Write(t.Context(), person, kernel.WriteRequest{Text: "The office opens at nine."})).Stored, 1)

	// A retry with a key gets the same answer, and an echo is not counted as one more look.
	before := sqlValue[int](t, k.Pool, `SELECT sum(hits)::int FROM memkernel.memory_access WHERE reader = 'acme/eng'`)
	sales := k.Key("acme/sales", kernel.RoleAgent)
	must(k.Read(t.Context(), sales, kernel.ReadRequest{ID: office}))
	req := kernel.WriteRequest{Text: "The office opens at nine.", IdempotencyKey: "once"}
	first := must(k.Write(t.Context(), sales, req))
	require.Equal(t, []kernel.ID{office}, first.Echoed)
	replay := must(k.Write(t.Context(), sales, req))
	require.True(t, replay.Replayed)
	require.Equal(t, first.Echoed, replay.Echoed)
	require.Equal(t, before, sqlValue[int](t, k.Pool, `SELECT sum(hits)::int FROM memkernel.memory_access WHERE reader = 'acme/eng'`))

	// What has ended can be said anew.
	must(k.Retract(t.Context(), boss, kernel.RetractRequest{ID: office}))
	require.Len(t, must(k.Write(t.Context(), sales, kernel.WriteRequest{Text: "The office opens at nine."})).Stored, 1)
	requireSound(t, k.Pool)
}

// TestEchoesOfAModel: a loop of search, model and write adds nothing.
func TestEchoesOfAModel(t *testing.T) {
	t.Parallel()
	llm := &echoLLM{}
	k := kerneltest.Open(t, kernel.WithLLM(llm, mem.DestinationLocal))
	boss, agent := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleAgent)
	fact := must(k.Write(t.Context(), boss, kernel.WriteRequest{Text: "The office opens at nine.", Verbatim: true})).Stored[0]
	said := "You told me that the office opens at nine. I like tea."
	llm.teach(said, llmAnswer("The office opens at nine.", "The user likes tea."))
	require.Len(t, must(k.Search(t.Context(), agent, kernel.SearchRequest{Query: "office"})).Items, 1)
	reply := must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: said}))
	require.Equal(t, []kernel.ID{fact}, reply.Echoed, "%v", reply.Rejected)
	require.Len(t, reply.Stored, 1)
	reply = must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: said}))
	require.Empty(t, reply.Stored)
	requireSound(t, k.Pool)
}

// TestRefresh: what is about one thing replaces itself, in its own namespace only.
func TestRefresh(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	boss, dana := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleMember)
	pointer := func(who kernel.Identity, text string) *kernel.WriteReply {
		return must(k.Write(t.Context(), who, kernel.WriteRequest{Text: text, Kind: mem.KindPointer, Source: "https://example.org/plan"}))
	}
	above := pointer(boss, "The plan, as of Monday.").Stored[0]
	first := pointer(dana, "The plan, as of Monday.").Stored[0]
	require.Equal(t, []kernel.ID{first}, pointer(dana, "the plan, as of  monday.").Deduplicated)
	var second *kernel.WriteReply
	k.RequireAudit(t, "write", "ok", func() { second = pointer(dana, "The plan, as of Tuesday.") }, "stored=1", "superseded=1")
	require.Equal(t, []kernel.ID{first}, second.Superseded)
	require.True(t, must(k.Read(t.Context(), boss, kernel.ReadRequest{ID: above})).Memory.ValidTo.IsZero(), "a child does not close its parent's")
	// A person's correction stays about the same thing.
	third := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The plan, corrected.", Kind: mem.KindPointer, Supersedes: second.Stored[0]}))
	fourth := pointer(dana, "The plan, as of Wednesday.")
	require.Equal(t, third.Stored, fourth.Superseded)
	require.Len(t, must(k.History(t.Context(), dana, kernel.HistoryRequest{ID: first})).Memories, 4)

	// Other things, and other sources, stand beside it.
	price := func(text string) *kernel.WriteReply {
		return must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text, ContentKey: "price of soup"}))
	}
	require.Empty(t, price("Soup costs 3 euros.").Superseded)
	require.Len(t, price("Soup costs 4 euros.").Superseded, 1)
	require.Len(t, must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Soup costs 5 euros."})).Stored, 1)
	_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Soup costs 5 euros.", ContentKey: "price of soup"})
	require.ErrorIs(t, err, kernel.ErrConflict)
	_, err = k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Soup is off.", ContentKey: "price of soup", Supersedes: first})
	var invalid *kernel.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "ContentKey", invalid.Field)
	requireSound(t, k.Pool)
}

// TestRefreshAtOnce: refreshes of one thing line up in one chain.
func TestRefreshAtOnce(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	errs := make(chan error)
	const n = 12
	for i := range n {
		go func() {
			_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Soup costs " + string(rune('a'+i)) + ".", ContentKey: "soup"})
			errs <- err
		}()
	}
	for range n {
		require.NoError(t, <-errs)
	}
	require.Len(t, currentTexts(t, k), 1)
	require.Equal(t, n-1, sqlValue[int](t, k.Pool, `SELECT max(chain_pos) FROM memkernel.memory_objects`))
	requireSound(t, k.Pool)
}

// TestWriteToken: a write is waited for by its token like one of WriteAsync, also where it was
// seen by another kernel, and by its writer alone.
func TestWriteToken(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana, other := k.Key("acme/eng", kernel.RoleMember), k.Key("acme/eng", kernel.RoleMember)
	reply := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Soup is on."}))
	elsewhere := kerneltest.OpenOn(t, k.Pool)
	seen := must(elsewhere.WaitVisible(t.Context(), dana, kernel.WaitVisibleRequest{Token: reply.Token}))
	require.Equal(t, kernel.TicketDone, seen.State)
	require.Equal(t, reply, seen.Reply)
	_, err := k.WaitVisible(t.Context(), other, kernel.WaitVisibleRequest{Token: reply.Token})
	require.ErrorIs(t, err, kernel.ErrNotFound)
}

// TestExpiredIsNoPredecessor: what was about a thing and has expired is neither replaced nor in the
// way of what is written about it now, and saying it again is no echo.
func TestExpiredIsNoPredecessor(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	boss, agent := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleAgent)
	price := func(text string) *kernel.WriteReply {
		return must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: text, ContentKey: "soup", ExpiresAt: k.Clock.Now().Add(time.Hour)}))
	}
	first := price("Soup costs 3 euros.").Stored[0]
	told := must(k.Write(t.Context(), boss, kernel.WriteRequest{Text: "The oven is hot.", ExpiresAt: k.Clock.Now().Add(time.Hour)})).Stored[0]
	must(k.Read(t.Context(), agent, kernel.ReadRequest{ID: told}))
	require.Equal(t, []kernel.ID{told}, must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: "The oven is hot."})).Echoed)
	k.Clock.Advance(time.Hour)
	require.Len(t, must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: "The oven is hot."})).Stored, 1)
	again := price("Soup costs 3 euros.")
	require.Empty(t, again.Superseded)
	require.Len(t, again.Stored, 1)
	require.Equal(t, mem.EndExpired, must(k.Read(t.Context(), agent, kernel.ReadRequest{ID: first})).Memory.EndReason)
	k.Clock.Advance(time.Hour)
	other := price("Soup costs 4 euros.")
	require.Empty(t, other.Superseded)
	require.Len(t, other.Stored, 1)
	require.Len(t, price("Soup costs 5 euros.").Superseded, 1)
	requireSound(t, k.Pool)
}
