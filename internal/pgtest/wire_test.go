package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
)

func TestWireCuts(t *testing.T) {
	t.Parallel()
	db := pgtest.OpenEmpty(t)
	wire, pool := pgtest.OpenWire(t, db, pgtest.WithMaxConns(1), pgtest.WithExecMode(pgx.QueryExecModeSimpleProtocol))
	ctx := t.Context()
	_, err := pool.Exec(ctx, `CREATE TABLE n (v int)`)
	require.NoError(t, err)
	add := func() error {
		_, err := pool.Exec(ctx, `INSERT INTO n VALUES (1)`)
		return err
	}
	rows := func() int {
		var n int
		require.NoError(t, db.QueryRow(ctx, `SELECT count(*) FROM n`).Scan(&n))
		return n
	}

	wire.Arm(0, pgtest.CutBefore)
	require.NoError(t, add())
	require.Equal(t, "Q", string(wire.Disarm()))
	require.Equal(t, 1, rows())

	wire.Arm(1, pgtest.CutBefore)
	require.Error(t, add())
	wire.Disarm()
	require.Equal(t, 1, rows())

	wire.Arm(1, pgtest.CutUnanswered)
	require.Error(t, add())
	wire.Disarm()
	require.Equal(t, 2, rows())

	wire.Arm(1, pgtest.CutAnswered)
	require.NoError(t, add())
	wire.Disarm()
	require.Equal(t, 3, rows())
	pool.Reset()

	wire.ArmOutage(2, pgtest.CutBefore)
	require.NoError(t, add())
	require.Error(t, add())
	require.Error(t, add(), "no server yet")
	wire.Disarm()
	require.NoError(t, add())

	wire.SetDown(true)
	require.Error(t, add())
	wire.SetDown(false)
	require.NoError(t, add())
	wire.CutAll()
	wire.Disarm()
	require.Error(t, add())
	require.NoError(t, add())
	require.Equal(t, 7, rows())
}
