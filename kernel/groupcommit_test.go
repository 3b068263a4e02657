package kernel_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// groupKit returns a kernel whose audit rows share commits, at most so many each.
func groupKit(t *testing.T, most int) *kerneltest.Kit {
	t.Helper()
	return kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(6)),
		kernel.WithLimits(kernel.Limits{AuditGroup: most, AuditTimeout: time.Minute}))
}

// gatherSearches lets n callers search at once while the audit log is locked, so that their
// rows gather, and unlocks it when all of them wait for theirs.
func gatherSearches(t *testing.T, k *kerneltest.Kit, n int, search func(i int)) {
	t.Helper()
	tx := begin(t, k)
	_, err := tx.Exec(t.Context(), `LOCK TABLE memkernel.audit_log IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(n, search)
	}()
	require.Eventually(t, func() bool {
		return goroutinesIn(t.Name()+".func", "store.(*appender).append") == n
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	<-done
}

// TestGroupCommitShares: rows that gather while others are committed share a commit, and each
// caller has a row of its own.
func TestGroupCommitShares(t *testing.T) {
	t.Parallel()
	const n = 60
	k := groupKit(t, 10)
	dana := k.Key("acme/eng", kernel.RoleMember)
	id := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The bell rang."})).Stored[0]
	gatherSearches(t, k, n, func(i int) {
		if _, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: fmt.Sprint("bell ", i)}); err != nil {
			t.Error(err)
		}
	})
	purposes := map[string]bool{}
	for _, e := range k.Audit() {
		if e.Op == "search" {
			require.False(t, purposes[e.Purpose])
			purposes[e.Purpose] = true
		}
	}
	require.Len(t, purposes, n)
	commits := sqlValue[int](t, k.Pool, `SELECT count(DISTINCT xid::text)::int FROM memkernel.audit_log WHERE op = 'search'`)
	require.LessOrEqual(t, commits, n/10+2, "the first two are alone, at worst")
	require.GreaterOrEqual(t, commits, n/10, "a commit has at most ten rows")
	require.Equal(t, n, sqlValue[int](t, k.Pool, `SELECT hits::int FROM memkernel.memory_access WHERE memory_id = $1`, id.String()))
}

func TestGroupCommitOfOne(t *testing.T) {
	t.Parallel()
	const n = 20
	k := groupKit(t, 1)
	dana := k.Key("acme/eng", kernel.RoleMember)
	gatherSearches(t, k, n, func(i int) {
		if _, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: fmt.Sprint("bell ", i)}); err != nil {
			t.Error(err)
		}
	})
	require.Equal(t, n, sqlValue[int](t, k.Pool, `SELECT count(DISTINCT xid::text)::int FROM memkernel.audit_log WHERE op = 'search'`))
}

// TestGroupCommitBadRow: a row that cannot be written costs its own call the answer and
// nobody else theirs.
func TestGroupCommitBadRow(t *testing.T) {
	t.Parallel()
	const n, bad = 40, 30
	k := groupKit(t, 256)
	sqlExec(t, k.Pool, `CREATE FUNCTION memkernel.picky() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF NEW.purpose = 'bell 30' OR NEW.result = 'error' THEN RAISE EXCEPTION 'not this one'; END IF; RETURN NEW; END $$`)
	sqlExec(t, k.Pool, `CREATE TRIGGER picky BEFORE INSERT ON memkernel.audit_log FOR EACH ROW EXECUTE FUNCTION memkernel.picky()`)
	dana := k.Key("acme/eng", kernel.RoleMember)
	id := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The bell rang."})).Stored[0]
	var errs [n]error
	gatherSearches(t, k, n, func(i int) {
		_, errs[i] = k.Search(t.Context(), dana, kernel.SearchRequest{Query: fmt.Sprint("bell ", i)})
	})
	for i, err := range errs {
		require.Equal(t, i == bad, errors.Is(err, kernel.ErrUnavailable), "%d: %v", i, err)
	}
	require.Equal(t, map[kernel.AuditResult]int{"ok": n - 1}, auditRows(k, "search"))
	require.Equal(t, n-1, sqlValue[int](t, k.Pool, `SELECT hits::int FROM memkernel.memory_access WHERE memory_id = $1`, id.String()))
}
