package openai_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

// budgetOf returns a budget of so many tokens per tenant.
func budgetOf(t *testing.T, limit int64, c *clock) *openai.Daily {
	t.Helper()
	d, err := openai.NewDaily(openai.DailyConfig{PerTenant: limit, Now: c.Now})
	require.NoError(t, err)
	return d
}

func tokens(n int64) openai.Cost { return openai.Cost{Model: "m", PromptTokens: n} }

func requireUsed(t *testing.T, d *openai.Daily, tenant string, spent, reserved int64) {
	t.Helper()
	s, r := d.Used(tenant)
	require.Equal(t, [2]int64{spent, reserved}, [2]int64{s, r})
}

func TestDaily(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), newClock()
	d := budgetOf(t, 100, c)
	settle, err := d.Reserve(ctx, "acme", tokens(60))
	require.NoError(t, err)
	requireUsed(t, d, "acme", 0, 60)

	_, err = d.Reserve(ctx, "acme", tokens(41))
	require.ErrorIs(t, err, openai.ErrBudget)
	var full *openai.BudgetError
	require.ErrorAs(t, err, &full)
	assert.Equal(t, openai.BudgetError{Tenant: "acme", Limit: 100, Used: 60, Asked: 41, Resets: time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)}, *full)
	assert.Equal(t, `budget exhausted: tenant "acme" has used 60 of 100 and would need up to 41, resets 2026-03-15T00:00:00Z`, err.Error())

	other, err := d.Reserve(ctx, "umbrella", tokens(100))
	require.NoError(t, err, "tenants do not share")
	other(ctx, tokens(0))
	requireUsed(t, d, "umbrella", 0, 0)

	settle(ctx, tokens(25))
	settle(ctx, tokens(25))
	requireUsed(t, d, "acme", 25, 0)
	settle, err = d.Reserve(ctx, "acme", tokens(75))
	require.NoError(t, err, "exactly what is left")
	settle(ctx, tokens(90))
	requireUsed(t, d, "acme", 115, 0)
	_, err = d.Reserve(ctx, "acme", tokens(1))
	require.ErrorIs(t, err, openai.ErrBudget, "an answer was longer than announced")
}

func TestDailyRollsOver(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), newClock()
	c.now = time.Date(2026, 3, 14, 23, 59, 59, 0, time.FixedZone("elsewhere", 5*3600)) // 18:59:59 in UTC
	d := budgetOf(t, 10, c)
	settle, err := d.Reserve(ctx, "acme", tokens(10))
	require.NoError(t, err)
	c.Advance(5 * time.Hour)
	_, err = d.Reserve(ctx, "acme", tokens(1))
	require.ErrorIs(t, err, openai.ErrBudget, "midnight elsewhere is not midnight")
	c.Advance(time.Second)
	c.Advance(0)
	for _, err = d.Reserve(ctx, "acme", tokens(1)); err != nil; _, err = d.Reserve(ctx, "acme", tokens(1)) {
		c.Advance(time.Second)
		require.True(t, c.Now().UTC().Before(time.Date(2026, 3, 15, 0, 0, 2, 0, time.UTC)))
	}
	assert.Equal(t, time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC), c.Now().UTC(), "a new budget with the new UTC day")
	settle(ctx, tokens(10))
	requireUsed(t, d, "acme", 0, 1)

	c.Advance(-time.Hour)
	_, err = d.Reserve(ctx, "acme", tokens(10))
	require.ErrorIs(t, err, openai.ErrBudget, "a clock that is set back fills no budget")
	c.Advance(72 * time.Hour)
	requireUsed(t, d, "acme", 0, 0)
}

func TestDailyMoney(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d, err := openai.NewDaily(openai.DailyConfig{
		PerTenant: 1_000_000, // one dollar
		Tenants:   map[string]int64{"rich": 50_000_000, "barred": 0},
		Prices:    map[string]openai.Price{"m": {Prompt: 150_000, Answer: 600_000}, "free": {}, "dear": {Prompt: 30_000_000}},
		Now:       newClock().Now,
	})
	require.NoError(t, err)
	settle, err := d.Reserve(ctx, "acme", openai.Cost{Model: "m", PromptTokens: 4_000_000, AnswerTokens: 600_000})
	require.NoError(t, err)
	requireUsed(t, d, "acme", 0, 960_000)
	settle(ctx, openai.Cost{Model: "m", PromptTokens: 1, AnswerTokens: 1})
	requireUsed(t, d, "acme", 2, 0)

	_, err = d.Reserve(ctx, "acme", openai.Cost{Model: "unknown", PromptTokens: 1})
	require.ErrorIs(t, err, openai.ErrBudget)
	require.ErrorContains(t, err, "no price")
	_, err = d.Reserve(ctx, "barred", openai.Cost{Model: "m", PromptTokens: 1})
	require.ErrorIs(t, err, openai.ErrBudget)
	_, err = d.Reserve(ctx, "rich", openai.Cost{Model: "m", AnswerTokens: 80_000_000})
	require.NoError(t, err)
	_, err = d.Reserve(ctx, "acme", openai.Cost{Model: "free", PromptTokens: math.MaxInt64, AnswerTokens: math.MaxInt64})
	require.NoError(t, err)
	_, err = d.Reserve(ctx, "rich", openai.Cost{Model: "m", PromptTokens: math.MaxInt64, AnswerTokens: math.MaxInt64})
	require.ErrorIs(t, err, openai.ErrBudget, "no overflow")
	for _, tokens := range []int64{math.MaxInt64, math.MaxInt64 / 30, math.MaxInt64 / 20} {
		_, err = d.Reserve(ctx, "rich", openai.Cost{Model: "dear", PromptTokens: tokens})
		require.ErrorIs(t, err, openai.ErrBudget, "no overflow")
	}
	settle, err = d.Reserve(ctx, "umbrella", openai.Cost{Model: "m", PromptTokens: 1})
	require.NoError(t, err)
	settle(ctx, openai.Cost{Model: "dear", PromptTokens: math.MaxInt64})
	requireUsed(t, d, "umbrella", math.MaxInt64, 0)
	_, err = d.Reserve(ctx, "umbrella", openai.Cost{Model: "m", PromptTokens: 1})
	require.ErrorIs(t, err, openai.ErrBudget)
	settle, err = d.Reserve(ctx, "initech", openai.Cost{Model: "m", PromptTokens: 1_000_000})
	require.NoError(t, err)
	settle(ctx, openai.Cost{Model: "unknown"})
	requireUsed(t, d, "initech", 150_000, 0)
	_, err = d.Reserve(ctx, "acme", openai.Cost{Model: "m", PromptTokens: -1})
	require.ErrorIs(t, err, openai.ErrBudget)
}

func TestDailyConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]openai.DailyConfig{
		"PerTenant": {},
		"Tenants":   {PerTenant: 1, Tenants: map[string]int64{"a": -1}},
		"Prices":    {PerTenant: 1, Prices: map[string]openai.Price{"a": {Answer: -1}}},
	} {
		_, err := openai.NewDaily(cfg)
		require.ErrorContains(t, err, want)
	}
	limits := map[string]int64{"a": 5}
	d, err := openai.NewDaily(openai.DailyConfig{PerTenant: 1, Tenants: limits})
	require.NoError(t, err)
	limits["a"] = 0
	_, err = d.Reserve(t.Context(), "a", tokens(5))
	require.NoError(t, err, "the map was copied")
}

// TestDailyAgainstModel compares with a model that adds up what it is told.
func TestDailyAgainstModel(t *testing.T) {
	t.Parallel()
	type open struct {
		settle   openai.SettleFunc
		tenant   string
		day      int64
		reserved int64
	}
	type key struct {
		tenant string
		day    int64
	}
	ctx, c, rnd := t.Context(), newClock(), rand.New(rand.NewPCG(1, 2))
	d := budgetOf(t, 1000, c)
	spent, reserved := map[key]int64{}, map[key]int64{}
	var opened []open
	for range 20_000 {
		tenant, day := []string{"a", "b", "c"}[rnd.IntN(3)], c.Now().Unix()/86400
		k := key{tenant, day}
		switch n := rnd.IntN(100); {
		case n < 55:
			ask := rnd.Int64N(120)
			settle, err := d.Reserve(ctx, tenant, tokens(ask))
			require.Equal(t, spent[k]+reserved[k]+ask <= 1000, err == nil)
			if err == nil {
				reserved[k] += ask
				opened = append(opened, open{settle, tenant, day, ask})
			}
		case n < 99 && len(opened) > 0:
			i := rnd.IntN(len(opened))
			o := opened[i]
			opened = append(opened[:i], opened[i+1:]...)
			used := rnd.Int64N(o.reserved + 10)
			o.settle(ctx, tokens(used))
			reserved[key{o.tenant, o.day}] -= o.reserved
			spent[key{o.tenant, o.day}] += used
		default:
			c.Advance(time.Duration(rnd.Int64N(int64(20 * time.Hour))))
		}
		k.day = c.Now().Unix() / 86400
		requireUsed(t, d, tenant, spent[k], reserved[k])
	}
}

func TestDailyConcurrently(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := budgetOf(t, 100, newClock())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				settle, err := d.Reserve(ctx, "acme", tokens(7))
				spent, reserved := d.Used("acme")
				if spent+reserved > 100 {
					t.Errorf("%d spent and %d reserved of 100", spent, reserved)
				}
				if err == nil {
					settle(ctx, tokens(1))
				}
			}
		})
	}
	wg.Wait()
	spent, reserved := d.Used("acme")
	assert.Zero(t, reserved)
	assert.Greater(t, spent, int64(90), "all but what is less than a reservation")
	assert.LessOrEqual(t, spent, int64(100))
}
