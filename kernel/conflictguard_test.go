package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
)

// TestCasesAreDecidedOnce: the database lets a case move from open to a decision and nothing else
// of it change, whoever asks; only an erasure of one of its memories takes it away.
func TestCasesAreDecidedOnce(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	const table = "memkernel.conflict_cases"
	decided := "state = 'coexist', resolved_at = now(), resolved_by = 'x'"
	try := func(sql ...string) string { return sqlState(attemptSQL(t.Context(), c.Pool, sql...)) }
	refuse := func(name string, sql ...string) {
		t.Helper()
		before := digest(t, c.Pool, "conflict_cases")
		for _, prefix := range [][]string{nil, {"SET LOCAL session_replication_role = replica"}} {
			state := try(append(slices.Clone(prefix), sql...)...)
			require.Contains(t, []string{stateGuard, statePrivilege, "23514"}, state, name)
			require.Equal(t, before, digest(t, c.Pool, "conflict_cases"), name)
		}
	}
	always := func() {
		t.Helper()
		for column, value := range map[string]string{
			"tenant": "'acme2'", "from_id": "gen_random_uuid()", "to_id": "gen_random_uuid()", "namespace": "'acme'", "action": "'open_case'",
			"reason": "'other'", "relation": "'same'", "confidence": "1", "basis": "'words'", "opened_at": "now()",
		} {
			refuse(column, "UPDATE "+table+" SET "+column+" = "+value)
			refuse(column+" with a decision", "UPDATE "+table+" SET "+column+" = "+value+", "+decided)
		}
		refuse("open again", "UPDATE "+table+" SET state = 'open', resolved_at = NULL, resolved_by = NULL, reason = 'x'")
		refuse("who", "UPDATE "+table+" SET resolved_by = 'y'")
		refuse("when", "UPDATE "+table+" SET resolved_at = now(), resolved_by = 'y'")
		refuse("delete", "DELETE FROM "+table)
		refuse("delete by another's tombstone", fmt.Sprintf(tombstone, "acme", kernel.ID{7}), "DELETE FROM "+table)
		refuse("truncate", "TRUNCATE "+table)
		refuse("merge", "MERGE INTO "+table+" AS t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE")
	}
	always()
	copied := "INSERT INTO " + table + ` SELECT tenant, %s, namespace, %s, action, reason, relation, confidence, basis, opened_at, %s FROM ` + table
	refuse("born decided", fmt.Sprintf(copied, "to_id, gen_random_uuid()", "'coexist'", "now(), 'x'"))
	require.Equal(t, stateUnique, try(fmt.Sprintf(copied, "to_id, from_id", "'open'", "NULL, NULL")), "the other way round")
	require.Equal(t, "23514", try(fmt.Sprintf(copied, "to_id, to_id", "'open'", "NULL, NULL")), "with itself")
	require.Equal(t, "23514", try("UPDATE "+table+" SET state = 'coexist'"), "by nobody")
	require.Equal(t, "23514", try("UPDATE "+table+" SET state = 'maybe', resolved_at = now(), resolved_by = 'x'"))

	require.Empty(t, try("UPDATE "+table+" SET "+decided))
	always()
	refuse("another decision", "UPDATE "+table+" SET state = 'confirmed'")
	for _, id := range []kernel.ID{from, to} {
		require.Empty(t, try("SAVEPOINT s", fmt.Sprintf(tombstone, "acme", id), "DELETE FROM "+table, "ROLLBACK TO s"))
	}
	require.Empty(t, try(fmt.Sprintf(tombstone, "acme", from), "DELETE FROM "+table))
}

// TestStatusMovesAsItMay: the database knows which way a memory's standing may change, and
// that it does so only while the memory is current.
func TestStatusMovesAsItMay(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	allowed := map[string]bool{"held active": true, "held disputed": true, "active disputed": true, "disputed active": true}
	statuses := []string{"active", "held", "disputed"}
	const table = "memkernel.memory_objects"
	at := func(id kernel.ID) string { return " WHERE id = '" + id.String() + "'" }
	for i, from := range statuses {
		for j, to := range statuses {
			id := c.write(t, c.agent, fmt.Sprint("Fact ", i, " to ", j, "."))
			insert := `INSERT INTO memkernel.memory_objects SELECT (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(),
				'dedupe_key', '\x' || md5(random()::text), 'status', '` + from + `'::text))).* FROM memkernel.memory_objects AS m` + at(id) + ` RETURNING id`
			var row kernel.ID
			require.NoError(t, c.Pool.QueryRow(t.Context(), insert).Scan((*[16]byte)(&row)))
			for _, prefix := range [][]string{nil, {"SET LOCAL session_replication_role = replica"}} {
				closing := attemptSQL(t.Context(), c.Pool, append(slices.Clone(prefix),
					"UPDATE "+table+" SET status = '"+to+"', t_valid_to = now(), end_reason = 'retracted'"+at(row), "SELECT 1/0")...)
				want := stateGuard
				if from == to {
					want = "22012" // the division that undoes it
				}
				require.Equal(t, want, sqlState(closing), "%s to %s while it ends", from, to)
			}
			err := attemptSQL(t.Context(), c.Pool, "UPDATE "+table+" SET status = '"+to+"'"+at(row))
			if from == to || allowed[from+" "+to] {
				require.NoError(t, err, "%s to %s", from, to)
			} else {
				require.Equal(t, stateGuard, sqlState(err), "%s to %s", from, to)
			}
		}
	}
	ended := c.write(t, c.agent, "An ended fact.")
	must(c.Retract(t.Context(), c.agent, kernel.RetractRequest{ID: ended}))
	require.Equal(t, stateGuard, sqlState(attemptSQL(t.Context(), c.Pool, "UPDATE "+table+" SET status = 'disputed'"+at(ended))))
}

// TestReplacedByGuards: what replaced a memory is said when it ends, once, and is a current memory
// of its namespace.
func TestReplacedByGuards(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	const table = "memkernel.memory_objects"
	old, next, ended := c.write(t, c.agent, "Old."), c.write(t, c.agent, "Next."), c.write(t, c.agent, "Ended.")
	elsewhere := must(c.Write(t.Context(), c.Key("acme", kernel.RoleAgent), kernel.WriteRequest{Text: "Elsewhere."})).Stored[0]
	must(c.Retract(t.Context(), c.agent, kernel.RetractRequest{ID: ended}))
	try := func(sql ...string) string { return sqlState(attemptSQL(t.Context(), c.Pool, sql...)) }
	set := func(id kernel.ID, what string, by kernel.ID) string {
		return "UPDATE " + table + " SET " + fmt.Sprintf(what, by) + " WHERE id = '" + id.String() + "'"
	}
	const closing = "t_valid_to = now(), end_reason = 'superseded', superseded_by = '%s'"
	require.Equal(t, stateGuard, try(set(old, "superseded_by = '%s'", next)), "without an end")
	require.Equal(t, "23514", try(set(old, "t_valid_to = now(), end_reason = 'retracted', superseded_by = '%s'", next)), "retracted")
	require.Equal(t, stateGuard, try(set(ended, "superseded_by = '%s'", next)), "after the end")
	require.Equal(t, stateGuard, try(set(ended, "end_reason = 'superseded', superseded_by = '%s'", next)), "after the end")
	for name, by := range map[string]kernel.ID{"ended": ended, "elsewhere": elsewhere, "missing": {1}} {
		require.Equal(t, "MK001", try(set(old, closing, by)), name)
	}
	require.Contains(t, []string{"MK001", "23514"}, try(set(old, closing, old)), "itself")
	// Two at once cannot replace each other.
	require.Equal(t, "MK001", try(set(old, closing, next), set(next, closing, old)))
	require.Empty(t, try(set(old, closing, next)))
	require.Equal(t, stateGuard, try(set(old, "superseded_by = '%s'", elsewhere)))
	require.Equal(t, stateGuard, try("UPDATE "+table+" SET superseded_by = NULL WHERE id = '"+old.String()+"'"))
	// An erasure of what replaced it leaves that it was replaced.
	require.Equal(t, stateForeignKey, try(fmt.Sprintf(tombstone, "acme", next), "DELETE FROM "+table+" WHERE id = '"+next.String()+"'"))
	require.Empty(t, try(fmt.Sprintf(tombstone, "acme", next), "UPDATE "+table+" SET superseded_by = NULL WHERE id = '"+old.String()+"'",
		"DELETE FROM "+table+" WHERE id = '"+next.String()+"'"))
	m := must(c.Read(t.Context(), c.agent, kernel.ReadRequest{ID: old})).Memory
	require.Equal(t, "superseded", string(m.EndReason))
	require.True(t, m.SupersededBy.IsZero())
}
