package kernel_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// requireClosed asks a view that is over for everything it has.
func requireClosed(t *testing.T, view driver.ScopedView) {
	t.Helper()
	// Not the context of the search: the view itself must refuse.
	ctx := context.WithoutCancel(t.Context())
	rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: question, Limit: 10})
	require.ErrorIs(t, err, mem.ErrViewClosed)
	require.Empty(t, rows)
	rows, err = view.Candidates(ctx, driver.CandidateQuery{Limit: 10, Detail: true})
	require.ErrorIs(t, err, mem.ErrViewClosed)
	require.Empty(t, rows)
	rows, err = view.Vector(ctx, driver.VectorQuery{Embedding: make([]float32, 8), Limit: 10})
	require.ErrorIs(t, err, mem.ErrViewClosed)
	require.Empty(t, rows)
	vector, err := view.Embed(ctx, question)
	require.ErrorIs(t, err, mem.ErrViewClosed)
	require.Empty(t, vector)
}

// TestViewKeptByTheDriver uses a view after its call: at once, from another goroutine, and in
// the call of another caller.
func TestViewKeptByTheDriver(t *testing.T) {
	t.Parallel()
	var kept driver.ScopedView
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		kept = view
		return driver.Plan{Items: shown(ctx, view)}, nil
	}, kernel.WithEmbedder(&kerneltest.Embedder{}))
	require.Len(t, s.ask(t, kernel.SearchRequest{}).Items, 2)
	requireClosed(t, kept)
	done := make(chan struct{})
	go func() {
		defer close(done)
		requireClosed(t, kept)
	}()
	<-done

	sibling := s.Key("acme/sales", kernel.RoleMember)
	stolen := kept
	s.replaced = func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		requireClosed(t, stolen)
		return driver.Plan{Items: append(propose(s.own, 9), shown(ctx, view)...)}, nil
	}
	reply, err := s.Search(t.Context(), sibling, kernel.SearchRequest{Query: question, Driver: "hostile"})
	require.NoError(t, err)
	require.Len(t, reply.Items, 1)
	require.Equal(t, s.hidden[0], reply.Items[0].Memory.ID)
	require.Equal(t, 2, reply.Violations)
}

// TestViewClosesUnderTheDriver: the call is given up while the driver, or a goroutine of its,
// is inside the view. What it gets is that the view is closed, not rows.
func TestViewClosesUnderTheDriver(t *testing.T) {
	t.Parallel()
	released, embedding := make(chan struct{}), make(chan struct{}, 2)
	// In the process, or it would be given up before the call is.
	model := &kerneltest.Embedder{InProcess: true, OnEmbed: func(_ context.Context, texts []string) error {
		if texts[0] == "wait" {
			embedding <- struct{}{}
			<-released
		}
		return nil
	}}
	outcome := make(chan error, 2)
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		go func() {
			_, err := view.Embed(context.WithoutCancel(ctx), "wait")
			outcome <- err
		}()
		<-embedding
		<-ctx.Done() // the call is given up, the view closes
		return driver.Plan{Items: shown(context.WithoutCancel(ctx), view)}, nil
	}, kernel.WithEmbedder(model), kernel.WithLimits(kernel.Limits{DriverTimeout: 300 * time.Millisecond}))
	s.requireFallback(t, "timeout")
	close(released)
	require.ErrorIs(t, <-outcome, mem.ErrViewClosed)
}

// TestViewAnswersAreCopies: what a driver does to what it got changes nothing for anybody.
func TestViewAnswersAreCopies(t *testing.T) {
	t.Parallel()
	var s *stage
	s = newStage(t, func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		var before [3][]driver.Candidate
		for round := range 2 {
			vector, err := view.Embed(ctx, q.Text)
			if err != nil {
				return driver.Plan{}, err
			}
			words, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 10})
			if err != nil {
				return driver.Plan{}, err
			}
			near, err := view.Vector(ctx, driver.VectorQuery{Embedding: vector, Limit: 10})
			if err != nil {
				return driver.Plan{}, err
			}
			recent, err := view.Candidates(ctx, driver.CandidateQuery{Limit: 10, Detail: true})
			if err != nil {
				return driver.Plan{}, err
			}
			for i, rows := range [][]driver.Candidate{words, near, recent} {
				if round == 0 {
					before[i] = append(before[i], rows...)
				} else if len(rows) != len(before[i]) {
					t.Errorf("arm %d: %d rows, then %d", i, len(before[i]), len(rows))
				}
				for j := range rows {
					if round == 1 && rows[j] != before[i][j] {
						t.Errorf("arm %d: %v became %v", i, before[i][j], rows[j])
					}
					rows[j] = driver.Candidate{Ref: s.hidden[0], BM25: 99, Cosine: 1, Tokens: -5}
				}
			}
			for i := range vector {
				vector[i] = float32(math.NaN())
			}
		}
		return driver.Plan{Items: append(propose(s.hidden, 99), driver.Ranked{Ref: before[2][0].Ref})}, nil
	}, kernel.WithEmbedder(&kerneltest.Embedder{}))
	require.Len(t, s.ask(t, kernel.SearchRequest{}, "driver_violations=3").Items, 1)
	reply, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question})
	require.NoError(t, err)
	require.Len(t, reply.Items, 2)
}

// TestViewRefusesNonsense: questions that make no sense get an error or nothing, never more
// than is visible, and are no outage of the model.
func TestViewRefusesNonsense(t *testing.T) {
	t.Parallel()
	var s *stage
	s = newStage(t, func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		for _, limit := range []int{0, -1, math.MinInt} {
			rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: limit})
			require.NoError(t, err)
			require.Empty(t, rows)
			rows, err = view.Candidates(ctx, driver.CandidateQuery{Limit: limit})
			require.NoError(t, err)
			require.Empty(t, rows)
			rows, err = view.Vector(ctx, driver.VectorQuery{Embedding: make([]float32, 8), Limit: limit})
			require.NoError(t, err)
			require.Empty(t, rows)
		}
		vector, err := view.Embed(ctx, "no\x00text\xff")
		require.NoError(t, err)
		for _, rows := range [][]driver.Candidate{
			must(view.Candidates(ctx, driver.CandidateQuery{Text: q.Text + "\x00\xff", Limit: math.MaxInt, Detail: true})),
			must(view.Candidates(ctx, driver.CandidateQuery{Limit: math.MaxInt})),
			must(view.Vector(ctx, driver.VectorQuery{Embedding: vector, Limit: math.MaxInt, Detail: true})),
		} {
			require.Len(t, rows, 2)
			for _, c := range rows {
				require.Contains(t, s.own, c.Ref)
			}
		}
		require.Empty(t, must(view.Vector(ctx, driver.VectorQuery{Limit: 10})), "no embedding, no neighbours")
		nan := float32(math.NaN())
		for _, bad := range [][]float32{{}, {1}, make([]float32, 9), {1, 2, 3, 4, 5, 6, 7, nan}, {0, 0, 0, 0, 0, 0, 0, float32(math.Inf(-1))}} {
			rows, err := view.Vector(ctx, driver.VectorQuery{Embedding: bad, Limit: 10})
			require.ErrorIs(t, err, mem.ErrInvalid)
			require.Empty(t, rows)
		}
		return driver.Plan{Items: shown(ctx, view)}, nil
	}, kernel.WithEmbedder(&kerneltest.Embedder{}))
	reply := s.ask(t, kernel.SearchRequest{})
	require.Equal(t, "hostile", reply.Driver)
	require.Len(t, reply.Items, 2)
	require.Empty(t, reply.Degraded)
	require.Equal(t, kernel.ArmOK, reply.Vector.State)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestViewCountsCalls: a driver cannot go on asking for ever.
func TestViewCountsCalls(t *testing.T) {
	t.Parallel()
	calls := 0
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		for {
			if _, err := view.Candidates(ctx, driver.CandidateQuery{Limit: 1}); err != nil {
				return driver.Plan{}, err
			}
			calls++
		}
	})
	s.requireFallback(t, "error")
	require.Equal(t, 64, calls)
}

// TestViewFromManyGoroutines uses one view from several at once.
func TestViewFromManyGoroutines(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		var mu sync.Mutex
		var items []driver.Ranked
		together(8, func(i int) {
			vector, err := view.Embed(ctx, q.Text)
			if err == nil && i%2 == 0 {
				_, err = view.Vector(ctx, driver.VectorQuery{Embedding: vector, Limit: 5, Detail: true})
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			items = append(items, shown(ctx, view)...)
		})
		return driver.Plan{Items: items}, nil
	}, kernel.WithEmbedder(&kerneltest.Embedder{}))
	require.Len(t, s.ask(t, kernel.SearchRequest{}).Items, 2)
}
