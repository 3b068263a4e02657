package kernel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// TestSecretsInContentKey: what a text is about is kept without secrets, like the text.
func TestSecretsInContentKey(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	secretRules(t, k, "acme", mem.SecretsRedact)
	url := "https://example.org/?key=" + madeUpKey
	pointer := kernel.WriteRequest{Text: "Build page.", Kind: mem.KindPointer, Source: url}
	first := must(k.Write(t.Context(), dana, pointer))
	require.Equal(t, 1, first.Redacted)
	pointer.Text = "Build page, moved."
	require.Equal(t, first.Stored, must(k.Write(t.Context(), dana, pointer)).Superseded, "it is still about the same thing")
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Other.", ContentKey: url}))
	pointer.Text = "Build page, moved again."
	must(k.WriteAsync(t.Context(), dana, pointer))
	secretRules(t, k, "acme/eng", mem.SecretsBlock)
	blocked := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "More.", ContentKey: url}))
	require.Equal(t, []kernel.Rejection{{Reason: mem.RejectSecret}}, blocked.Rejected)
	require.Empty(t, tablesWith(t, k, madeUpKey))
	requireSound(t, k.Pool)
}

// TestKeyRevokedWhileModelThinks: a write is not committed for who was let in before it took long,
// and is not any more; nor against what policy has come to forbid.
func TestKeyRevokedWhileModelThinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, k *kerneltest.Kit, cred *kernel.Credential)
		is        error
	}{
		"revoked": {func(t *testing.T, k *kerneltest.Kit, cred *kernel.Credential) {
			t.Helper()
			must(k.Keys().Revoke(t.Context(), k.Key("acme", kernel.RoleOwner), kernel.RevokeKeyRequest{ID: cred.Key.ID}))
		}, kernel.ErrUnauthenticated},
		"forbidden": {func(t *testing.T, k *kerneltest.Kit, _ *kernel.Credential) {
			t.Helper()
			must(k.Policies().Put(t.Context(), k.Key("acme", kernel.RoleOwner), kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Denied: true}}}))
		}, kernel.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, goOn := make(chan struct{}, 4), make(chan struct{})
			llm := &kerneltest.LLM{Answers: []string{llmAnswer("Mira plays the cello.")}, OnComplete: func(context.Context, model.Request) error {
				asked <- struct{}{}
				<-goOn
				return nil
			}}
			k := kerneltest.Open(t, kernel.WithLLM(llm, mem.DestinationLocal))
			cred := must(k.Keys().Create(t.Context(), k.Key("acme", kernel.RoleOwner), kernel.KeyRequest{Actor: "user:dana", Role: kernel.RoleMember}))
			dana := must(k.Authenticate(t.Context(), cred.Secret))
			errs := make(chan error, 2)
			go func() {
				_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: talk})
				errs <- err
			}()
			go func() {
				r, err := k.WriteMany(t.Context(), dana, kernel.WriteManyRequest{Writes: []kernel.WriteRequest{{Text: talk + " Bye."}}})
				if err == nil {
					err = r.Results[0].Err
				}
				errs <- err
			}()
			<-asked
			<-asked
			c.meanwhile(t, k, cred)
			close(goOn)
			require.ErrorIs(t, <-errs, c.is)
			require.ErrorIs(t, <-errs, c.is)
			require.Empty(t, currentTexts(t, k))
		})
	}
}

// TestReplayIsTheFirstReply: nothing of what a retry would have come to is in the answer.
func TestReplayIsTheFirstReply(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The key is " + madeUpKey + ".", IdempotencyKey: "once"}
	want := must(k.Write(t.Context(), dana, req))
	secretRules(t, k, "acme", mem.SecretsBlock)
	want.Replayed = true
	require.Equal(t, want, must(k.Write(t.Context(), dana, req)))
	require.Equal(t, want, must(k.WriteMany(t.Context(), dana, kernel.WriteManyRequest{Writes: []kernel.WriteRequest{req}})).Results[0].Reply)
}

// TestTicketFromAbove: who manages a subtree sees what became of a ticket, not what was said.
func TestTicketFromAbove(t *testing.T) {
	t.Parallel()
	_, opt := withLLM(llmAnswer("Mira plays the harp in Porto."))
	k := kerneltest.Open(t, opt)
	dana := k.Key("acme/eng/platform", kernel.RoleMember)
	start(t, k)
	order := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: talk}))
	own := await(t, k.Kernel, dana, order.Token).Reply
	require.Equal(t, "Mira plays the harp in Porto.", own.Rejected[0].Text)
	above := must(k.Ticket(t.Context(), k.Key("acme/eng", kernel.RoleAdmin), kernel.TicketRequest{ID: order.Ticket})).Reply
	require.Equal(t, []kernel.Rejection{{Reason: own.Rejected[0].Reason}}, above.Rejected)
}

// TestStagesThatCopy: a fact stands for the whole text by its place, so copies are facts of their
// own and a rebuilt one still replaces what the text does. What is rejected is told in bounds.
func TestStagesThatCopy(t *testing.T) {
	t.Parallel()
	stage := stageFunc(func(_ context.Context, in *kernel.StageInput) error {
		text := in.Facts[0].Text
		switch {
		case strings.HasPrefix(text, "copy"):
			f := in.Facts[0]
			f.Text = "Another " + text
			in.Facts = append(in.Facts, f)
		case strings.HasPrefix(text, "rebuild"):
			in.Facts[0] = kernel.Fact{Text: text + " anew", Certainty: 1}
		case strings.HasPrefix(text, "veto"):
			in.Facts[0].Rejected = mem.RejectPolicy
			in.Facts = append(in.Facts, kernel.Fact{Text: "a\x00" + strings.Repeat("b", 1<<20), Rejected: mem.RejectPolicy})
		}
		return nil
	})
	k := kerneltest.Open(t, kernel.WithStages(stage))
	dana := k.Key("acme/eng", kernel.RoleMember)
	first := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "soup is on"})).Stored[0]
	copied := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "copy of soup", Supersedes: first}))
	require.Equal(t, []kernel.ID{first}, copied.Superseded)
	require.Len(t, copied.Stored, 2)
	rebuilt := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "rebuild soup", Supersedes: copied.Stored[0]}))
	require.Equal(t, copied.Stored[:1], rebuilt.Superseded)
	vetoed := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "veto soup"}))
	require.Len(t, vetoed.Rejected, 2)
	require.Empty(t, vetoed.Rejected[0].Text, "the whole text is the caller's already")
	require.Len(t, vetoed.Rejected[1].Text, 2050, "cut, and without what the database cannot hold")
	require.Empty(t, vetoed.Stored)

	// Many at once, in a transaction of the host's, which is for one goroutine.
	tx, err := sideConn(t, k).Begin(t.Context())
	require.NoError(t, err)
	var writes []kernel.WriteRequest
	for i := range 20 {
		writes = append(writes, kernel.WriteRequest{Text: fmt.Sprint("copy ", i)})
	}
	for _, r := range must(k.WithTx(tx).WriteMany(t.Context(), dana, kernel.WriteManyRequest{Writes: writes})).Results {
		require.NoError(t, r.Err)
		require.Len(t, r.Reply.Stored, 2)
	}
	require.NoError(t, tx.Commit(t.Context()))
	requireSound(t, k.Pool)
}

// brokenAccounts is a model whose accounts fail.
type brokenAccounts struct{ kerneltest.LLM }

func (*brokenAccounts) For(string) model.LLM { panic("no accounts") }

// TestModelBounds: what is too much for the model, and a model that fails before it is asked, leave
// the text as it is.
func TestModelBounds(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithLLM(&brokenAccounts{}, mem.DestinationLocal), kernel.WithLimits(kernel.Limits{MaxTextBytes: 4 << 20}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	require.Equal(t, kernel.VerbatimModelFailed, must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: talk})).Verbatim)
	large := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: strings.Repeat("word ", 1<<18)}))
	require.Equal(t, kernel.VerbatimTooManyParts, large.Verbatim)
	require.Len(t, large.Stored, 1)
}

// TestRefreshIsNoEcho: an agent refreshes what its namespace knows by what it was told elsewhere.
func TestRefreshIsNoEcho(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	agent := k.Key("acme/eng", kernel.RoleAgent)
	green := must(k.Write(t.Context(), k.Key("acme", kernel.RoleMember), kernel.WriteRequest{Text: "The build is green."})).Stored[0]
	red := must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: "The build is red.", ContentKey: "build"})).Stored
	must(k.Read(t.Context(), agent, kernel.ReadRequest{ID: green}))
	require.Equal(t, red, must(k.Write(t.Context(), agent, kernel.WriteRequest{Text: "The build is green.", ContentKey: "build"})).Superseded)
	requireSound(t, k.Pool)
}
