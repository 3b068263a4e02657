package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
)

// A text is a duplicate in its own namespace only.
func TestVisibilityOfDedupe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes) // has stored one text everywhere
	for _, path := range w.paths {
		again, err := w.Write(t.Context(), w.members[path], kernel.WriteRequest{Text: "the  BEACON on the roof turned green."})
		require.NoError(t, err)
		require.Empty(t, again.Stored, path)
		require.Equal(t, []kernel.ID{w.current[path]}, again.Deduplicated, path)
	}
	// What is current in none of them any more is new in each, whatever the others hold.
	for i, path := range w.paths {
		rep, err := w.Write(t.Context(), w.members[path], kernel.WriteRequest{Text: "A second beacon was built."})
		require.NoError(t, err)
		require.Len(t, rep.Stored, 1, path)
		if i%2 == 0 {
			_, err = w.Retract(t.Context(), w.members[path], kernel.RetractRequest{ID: rep.Stored[0]})
			require.NoError(t, err)
		}
	}
	w.requireUntouched(t)
}

// Supersedes and Retract reach the caller's own namespace, an ancestor's memory is refused,
// and everything else does not exist. Nothing they are refused changes anything.
func TestVisibilityOfSupersedeAndRetract(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	for _, caller := range callers {
		who := w.members[caller]
		for _, path := range w.paths {
			if path == caller {
				continue
			}
			want := kernel.ErrNotFound
			if sees(caller, path) {
				want = kernel.ErrForbidden
			}
			for _, target := range []kernel.ID{w.current[path], w.old[path]} {
				_, err := w.Write(ctx, who, kernel.WriteRequest{Text: "The beacon was sold.", Supersedes: target})
				require.ErrorIs(t, err, want, "%q replaces what %q holds", caller, path)
				_, err = w.Retract(ctx, who, kernel.RetractRequest{ID: target, Reason: "no"})
				require.ErrorIs(t, err, want, "%q retracts what %q holds", caller, path)
				// Not even a text that the caller's own namespace has changes the answer.
				_, err = w.Write(ctx, who, kernel.WriteRequest{Text: currentText, Supersedes: target})
				require.ErrorIs(t, err, want, "%q replaces what %q holds", caller, path)
			}
		}
	}
	w.requireUntouched(t)
	for _, path := range callers { // and in their own they work
		rep, err := w.Write(ctx, w.members[path], kernel.WriteRequest{Text: "The beacon was sold.", Supersedes: w.old[path]})
		require.NoError(t, err)
		require.Equal(t, []kernel.ID{w.current[path]}, rep.Superseded)
		_, err = w.Retract(ctx, w.members[path], kernel.RetractRequest{ID: rep.Stored[0]})
		require.NoError(t, err)
	}
}

// An idempotency key belongs to a caller in a namespace: it replays nobody else's receipt.
func TestVisibilityOfReceipts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	seen := map[kernel.ID]string{}
	for _, path := range w.paths {
		req := kernel.WriteRequest{Text: "The beacon has a licence.", IdempotencyKey: "retry-1"}
		for _, who := range []kernel.Identity{w.members[path], w.Key(path, kernel.RoleAgent)} {
			rep, err := w.Write(t.Context(), who, req)
			require.NoError(t, err)
			require.False(t, rep.Replayed, "%q got somebody else's receipt", path)
			require.Empty(t, seen[rep.Capture], "%q", path)
			seen[rep.Capture] = path
			again, err := w.Write(t.Context(), who, req)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, rep.Capture, again.Capture)
			req.Text = "The beacon has no licence."
		}
	}
}

// Counters of access belong to the reader's namespace.
func TestVisibilityOfAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"acme", "acme/eng", "acme/sales"})
	ctx := t.Context()
	for range 3 {
		_, err := w.Read(ctx, w.members["acme/eng"], kernel.ReadRequest{ID: w.current["acme"]})
		require.NoError(t, err)
	}
	_, err := w.Read(ctx, w.members["acme"], kernel.ReadRequest{ID: w.current["acme"]})
	require.NoError(t, err)
	_, err = w.Read(ctx, w.members["acme/sales"], kernel.ReadRequest{ID: w.current["acme/eng"]})
	require.ErrorIs(t, err, kernel.ErrNotFound)
	_, err = w.Read(ctx, w.Key("acme/sales", kernel.RoleAuditor), kernel.ReadRequest{ID: w.current["acme"]})
	require.NoError(t, err)

	rows, err := w.Pool.Query(ctx, `SELECT reader, hits FROM memkernel.memory_access WHERE memory_id = ANY($1::uuid[])`,
		[]string{w.current["acme"].String(), w.current["acme/eng"].String()})
	require.NoError(t, err)
	hits := map[string]int64{}
	for rows.Next() {
		var reader string
		var n int64
		require.NoError(t, rows.Scan(&reader, &n))
		hits[reader] = n
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[string]int64{"acme": 1, "acme/eng": 3}, hits)
}
