package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/queries"
)

// TestOpenRefuses: what cannot work is said at once, by name, and without asking the database.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := kernel.Open(nil)
	require.ErrorIs(t, err, kernel.ErrInvalid)
	require.ErrorIs(t, kernel.Migrate(t.Context(), nil), kernel.ErrInvalid)
	whole := kerneltest.Open(t)
	wire, pool := pgtest.OpenWire(t, whole.Pool)
	wire.SetDown(true)
	named := func(name string) driver.Driver { return namedDriver{name, nil} }
	embedder := func(name string, dim int) kernel.Option {
		return kernel.WithEmbedder(&brokenModel{info: model.Info{Name: name, Dim: dim}})
	}
	for field, opt := range map[string]kernel.Option{
		"Embedder":             embedder("", 8),
		"Embedder (no size)":   embedder("x", 0),
		"Embedder (too large)": embedder("x", kernel.MaxEmbeddingDim+1),
		"Clock":                kernel.WithClock(nil),
		"drivers[2]":           kernel.WithDrivers(named("baseline")), // after the built-in ones
		"drivers[2] (fusion)":  kernel.WithDrivers(named("fusion")),
		"drivers[3]":           kernel.WithDrivers(named("red"), named("red")),
		"drivers[2] (nil)":     kernel.WithDrivers(nil),
		"drivers[2] (name)":    kernel.WithDrivers(named("a b")),
		"Limits.MaxTextBytes":  kernel.WithLimits(kernel.Limits{MaxTextBytes: -1}),
		"Limits.MaxResults":    kernel.WithLimits(kernel.Limits{MaxResults: 1001}),
		"Limits.AuditGroup":    kernel.WithLimits(kernel.Limits{AuditGroup: 10_001}),
		"Limits.AuditTimeout":  kernel.WithLimits(kernel.Limits{AuditTimeout: 2 * time.Hour}),
		"Limits.DriverTimeout": kernel.WithLimits(kernel.Limits{DriverTimeout: -time.Second}),
	} {
		_, err := kernel.Open(pool, opt)
		require.ErrorIs(t, err, kernel.ErrInvalid, field)
		name, _, _ := strings.Cut(field, " ")
		require.ErrorContains(t, err, name)
	}
	k, err := kernel.Open(pool)
	require.NoError(t, err, "it does no I/O")
	require.NoError(t, k.Close(t.Context()))
	require.NoError(t, k.Close(t.Context()))
}

// TestReady names what is amiss: no schema, another schema, another model.
func TestReady(t *testing.T) {
	t.Parallel()
	pool := pgtest.OpenEmpty(t)
	k, err := kernel.Open(pool, kernel.WithEmbedder(&kerneltest.Embedder{}))
	require.NoError(t, err)
	require.ErrorIs(t, k.Ready(t.Context()), queries.ErrSchemaMissing)
	require.NoError(t, kernel.Migrate(t.Context(), pool))
	require.NoError(t, kernel.Migrate(t.Context(), pool))
	require.NoError(t, k.Ready(t.Context()))

	kit := kerneltest.OpenOn(t, pool, kernel.WithEmbedder(&kerneltest.Embedder{}))
	dana := kit.Key("acme/eng", kernel.RoleMember)
	must(kit.Write(t.Context(), dana, kernel.WriteRequest{Text: "The ferry is late."}))
	require.NoError(t, k.Ready(t.Context()))
	other := kerneltest.OpenOn(t, pool, kernel.WithEmbedder(&kerneltest.Embedder{Dim: 16}))
	err = other.Ready(t.Context())
	require.ErrorIs(t, err, kernel.ErrConflict)
	require.ErrorContains(t, err, "dimension 8")
	require.ErrorContains(t, err, "dimension 16")
	// Everything but the vector arm works all the same.
	found := must(other.Search(t.Context(), dana, kernel.SearchRequest{Query: "ferry"}))
	require.Len(t, found.Items, 1)
	require.Equal(t, kernel.Arm{State: kernel.ArmDown}, found.Vector)
	require.Error(t, other.Ready(t.Context()), "a search registers nothing")

	before := len(kit.Audit())
	sqlExec(t, pool, `INSERT INTO memkernel.schema_version (version, name, sha256) VALUES (999, 'future', 'x')`)
	require.ErrorIs(t, k.Ready(t.Context()), queries.ErrSchemaNewer)
	require.ErrorIs(t, kernel.Migrate(t.Context(), pool), queries.ErrSchemaNewer)
	require.Len(t, kit.Audit(), before, "nobody asked for anything")
}
