package kernel_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// begin starts a transaction of the host's, beside the kernel's own pool.
func begin(t *testing.T, k *kerneltest.Kit) pgx.Tx {
	t.Helper()
	tx, err := sideConn(t, k).Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

// change makes one of every change through a kernel.
func change(t *testing.T, k *kernel.Kernel, who kernel.Identity) {
	t.Helper()
	ctx := t.Context()
	first := must(k.Write(ctx, who, kernel.WriteRequest{Text: "The tap drips.", IdempotencyKey: "1"})).Stored[0]
	require.Equal(t, []kernel.ID{first}, must(k.Write(ctx, who, kernel.WriteRequest{Text: "the tap drips."})).Deduplicated)
	next := must(k.Write(ctx, who, kernel.WriteRequest{Text: "The tap is mended.", Supersedes: first})).Stored[0]
	must(k.Retract(ctx, who, kernel.RetractRequest{ID: next}))
	must(k.Write(ctx, who, kernel.WriteRequest{Text: "The sink is blocked."}))
	cred := must(k.Keys().Create(ctx, who, kernel.KeyRequest{Actor: "user:sam", Role: kernel.RoleMember}))
	must(k.Keys().Rotate(ctx, who, kernel.RotateKeyRequest{ID: cred.Key.ID}))
	must(k.Policies().Put(ctx, who, kernel.PutPolicyRequest{Policy: kernel.Policy{Sensitive: true}}))
}

// TestWithTxRollback: what the host takes back has never been, its audit rows included.
func TestWithTxRollback(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kernel.WithEmbedder(model()))
			owner := k.Key("acme/eng", kernel.RoleOwner)
			before := tableCounts(t, k)
			namespaces := sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.namespaces`)
			tx := begin(t, k)
			change(t, k.WithTx(tx), owner)
			require.Equal(t, before, tableCounts(t, k), "nobody else sees it")
			require.NoError(t, tx.Rollback(t.Context()))
			require.Equal(t, before, tableCounts(t, k))
			require.Equal(t, namespaces, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.namespaces`))
			require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_models`))

			// The kernel has not kept anything of it in mind either.
			reply := must(k.Write(t.Context(), owner, kernel.WriteRequest{Text: "The tap drips.", IdempotencyKey: "1"}))
			require.Len(t, reply.Stored, 1)
			require.False(t, reply.Replayed)
			require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors`))
			requireSound(t, k.Pool)
		})
	}
}

func TestWithTxCommit(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kernel.WithEmbedder(model()))
			owner := k.Key("acme/eng", kernel.RoleOwner)
			before := len(k.Audit())
			tx := begin(t, k)
			change(t, k.WithTx(tx), owner)
			require.NoError(t, tx.Commit(t.Context()))
			require.Len(t, k.Audit()[before:], 8)
			counts := tableCounts(t, k)
			require.Equal(t, 3, counts["memory_objects"])
			require.Equal(t, 3, counts["memory_vectors"])
			require.Equal(t, 2, counts["ended"])
			require.Equal(t, 1, counts["policies"])
			requireSound(t, k.Pool)
		})
	}
}

// TestWithTxFailedWrite: a write that fails takes neither the host's transaction with it nor
// what was written before.
func TestWithTxFailedWrite(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	parent, owner := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleOwner)
	theirs := must(k.Write(ctx, parent, kernel.WriteRequest{Text: "Tea at four."})).Stored[0]
	wrong := must(k.Write(ctx, owner, kernel.WriteRequest{Text: "Tea at five."})).Stored[0]
	must(k.Retract(ctx, owner, kernel.RetractRequest{ID: wrong}))
	before := len(k.Audit())
	tx := begin(t, k)
	inTx := k.WithTx(tx)
	must(inTx.Write(ctx, owner, kernel.WriteRequest{Text: "Cake at four."}))
	for target, req := range map[error]kernel.WriteRequest{
		kernel.ErrInvalid:   {Text: " "},
		kernel.ErrNotFound:  {Text: "Tea at six.", Supersedes: someID()},
		kernel.ErrForbidden: {Text: "Tea at six.", Supersedes: theirs},
		kernel.ErrConflict:  {Text: "Tea at six.", Supersedes: wrong},
	} {
		require.ErrorIs(t, second(inTx.Write(ctx, owner, req)), target)
	}
	require.ErrorIs(t, second(inTx.Retract(ctx, owner, kernel.RetractRequest{ID: someID()})), kernel.ErrNotFound)
	must(inTx.Write(ctx, owner, kernel.WriteRequest{Text: "Scones at four."}))
	require.Len(t, k.Audit()[before:], 5, "what was refused is on record at once")
	require.NoError(t, tx.Commit(ctx))
	require.Len(t, k.Audit()[before:], 7)
	found := must(k.Search(ctx, owner, kernel.SearchRequest{Query: "at four"}))
	require.Len(t, found.Items, 3)
	requireSound(t, k.Pool)
}

// TestWithTxLostRace: the write that another one beat is decided anew in a savepoint.
func TestWithTxLostRace(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	dana, sam := k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember)
	for _, who := range []kernel.Identity{dana, sam} { // so that nothing but the text is new
		must(k.Write(ctx, who, kernel.WriteRequest{Text: "Tea at three."}))
	}
	ahead, behind := begin(t, k), begin(t, k)
	watch := sideConn(t, k)
	first := must(k.WithTx(ahead).Write(ctx, dana, kernel.WriteRequest{Text: "Tea at four."})).Stored[0]
	must(k.WithTx(behind).Write(ctx, sam, kernel.WriteRequest{Text: "Cake at four."}))
	done := make(chan *kernel.WriteReply)
	go func() {
		reply, err := k.WithTx(behind).Write(ctx, dana, kernel.WriteRequest{Text: "tea at four."})
		if err != nil {
			t.Error(err)
		}
		done <- reply
	}()
	awaitBlocked(t, watch, 1)
	require.NoError(t, ahead.Commit(ctx))
	reply := <-done
	require.Equal(t, []kernel.ID{first}, reply.Deduplicated)
	require.NoError(t, behind.Commit(ctx))
	require.Equal(t, 4, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	requireSound(t, k.Pool)
}

// TestWithTxReads: reads see what the transaction did, nobody else does, and that they were
// answered stays on record whatever becomes of it.
func TestWithTxReads(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner := k.Key("acme/eng", kernel.RoleOwner)
	old := must(k.Write(ctx, owner, kernel.WriteRequest{Text: "Tea at four."})).Stored[0]
	tx := begin(t, k)
	inTx := k.WithTx(tx)
	id := must(inTx.Write(ctx, owner, kernel.WriteRequest{Text: "Tea at five.", Supersedes: old})).Stored[0]
	before := len(k.Audit())

	require.Equal(t, "Tea at five.", must(inTx.Read(ctx, owner, kernel.ReadRequest{ID: id})).Memory.Text)
	found := must(inTx.Search(ctx, owner, kernel.SearchRequest{Query: "tea"}))
	require.Len(t, found.Items, 1)
	require.Equal(t, id, found.Items[0].Memory.ID)
	require.Equal(t, kernel.ArmOK, found.Vector.State)
	require.Len(t, must(inTx.History(ctx, owner, kernel.HistoryRequest{ID: old})).Memories, 2)
	require.Equal(t, int64(1), must(inTx.Stats(ctx, owner, kernel.StatsRequest{})).Superseded)
	seen := 0
	for _, err := range inTx.AuditSearch(ctx, owner, kernel.AuditSearchRequest{MemoryID: id, Ops: []kernel.Op{"write"}}) {
		require.NoError(t, err)
		seen++
	}
	require.Equal(t, 1, seen, "its own audit row, too")

	rows := k.Audit()[before:]
	require.Len(t, rows, 5, "on record before the host has decided")
	require.ErrorIs(t, second(k.Read(ctx, owner, kernel.ReadRequest{ID: id})), kernel.ErrNotFound)
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, rows, k.Audit()[before:before+5])
	require.Equal(t, old, must(k.Search(ctx, owner, kernel.SearchRequest{Query: "tea"})).Items[0].Memory.ID)
	requireSound(t, k.Pool)
}

// TestWithTxPoolOfOne: the host's transaction has the only connection, so what has to be on
// record whatever becomes of it cannot be recorded. Such a call fails in time; a write, whose
// row is in the transaction, does not need another connection.
func TestWithTxPoolOfOne(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(1)), kernel.WithLimits(kernel.Limits{AuditTimeout: 100 * time.Millisecond}))
	ctx := t.Context()
	owner, auditor := k.Key("acme/eng", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleAuditor)
	tx, err := k.Pool.Begin(ctx)
	require.NoError(t, err)
	inTx := k.WithTx(tx)
	change(t, inTx, owner)
	for name, err := range map[string]error{
		"denied": second(inTx.Write(ctx, auditor, kernel.WriteRequest{Text: "Not mine to say."})),
		"miss":   second(inTx.Read(ctx, owner, kernel.ReadRequest{ID: someID()})),
		"read":   second(inTx.Stats(ctx, owner, kernel.StatsRequest{})),
		"nobody": second(inTx.Stats(ctx, kernel.Identity{}, kernel.StatsRequest{})),
	} {
		require.ErrorIs(t, err, kernel.ErrUnavailable, name)
	}
	must(inTx.Write(ctx, owner, kernel.WriteRequest{Text: "The transaction is still good."}))
	require.NoError(t, tx.Commit(ctx))
	require.Equal(t, 4, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	require.Equal(t, map[kernel.AuditResult]int{"ok": 5}, auditRows(k, "write"))
	requireSound(t, k.Pool)
}

// TestWithTxOneAfterTheOther: a kernel may be bound to many transactions, which also do what
// is none of its business.
func TestWithTxOneAfterTheOther(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(1)))
	ctx := t.Context()
	owner := k.Key("acme/eng", kernel.RoleOwner)
	host := sideConn(t, k)
	for i, end := range []func(pgx.Tx) error{
		func(tx pgx.Tx) error { return tx.Commit(ctx) }, func(tx pgx.Tx) error { return tx.Rollback(ctx) },
		func(tx pgx.Tx) error { return tx.Commit(ctx) },
	} {
		tx, err := host.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS orders (n int)`)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, `INSERT INTO orders VALUES ($1)`, i)
		require.NoError(t, err)
		must(k.WithTx(tx).Write(ctx, owner, kernel.WriteRequest{Text: "An order came in at " + string(rune('0'+i)) + "."}))
		must(k.WithTx(tx).Stats(ctx, owner, kernel.StatsRequest{})) // its row goes through the pool
		require.NoError(t, end(tx))
	}
	require.Equal(t, 2, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM orders`))
	require.Equal(t, 2, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	require.NoError(t, k.WithTx(nil).Close(ctx), "nothing to undo")
	requireSound(t, k.Pool)
}
