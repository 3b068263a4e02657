package store

import (
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/model"
)

// TestViewOffersNothingMore: with one method more, a driver could reach it by a type
// assertion; with an exported or embedded field, by reflection.
func TestViewOffersNothingMore(t *testing.T) {
	t.Parallel()
	want, got := reflect.TypeFor[driver.ScopedView](), reflect.TypeFor[*view]()
	require.True(t, got.Implements(want))
	require.Equal(t, want.NumMethod(), got.NumMethod(), "the view has other methods than the interface")
	for field := range got.Elem().Fields() {
		require.False(t, field.IsExported() || field.Anonymous, "a driver reaches field %s", field.Name)
	}
	// What a driver gets is the view and nothing around it.
	pool, err := pgxpool.New(t.Context(), "") // connects when it is used, and it is not
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s := New(pool, model.Info{Name: "test", Dim: 1}, AppendOptions{})
	handed := s.NewView(t.Context(), ViewConfig{}).Driver()
	require.IsType(t, &view{}, handed)
	_, ok := handed.(interface{ Unwrap() any })
	require.False(t, ok)
}
