package openai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"sync"
	"time"
)

// DailyConfig describes a Daily. Limits are in tokens, or in money if Prices is set.
type DailyConfig struct {
	// PerTenant is what a tenant may use in a day. It must be above 0.
	PerTenant int64
	// Tenants holds the tenants that may use more or less; 0 is nothing at all.
	Tenants map[string]int64
	// Prices holds the price of every model by its Name. Limits are then in millionths of
	// the currency: 5_000_000 is 5 dollars, if prices are in dollars. A model without a
	// price is refused. If nil, every token costs 1.
	Prices map[string]Price
	// Now is the clock, the real one if nil.
	Now func() time.Time
}

// Price is what a million tokens cost, in millionths of the currency: a model at 0.15
// dollars for a million tokens of prompt has Prompt 150_000.
type Price struct{ Prompt, Answer int64 }

// Daily is a budget per tenant and UTC day, in memory: a restart forgets what was spent, and
// every process has its own. It is safe for concurrent use. Of tenants that used nothing
// today it remembers nothing.
type Daily struct {
	cfg DailyConfig

	mu       sync.Mutex
	day      int64 // since 1970
	accounts map[string]*account
}

var _ Budget = (*Daily)(nil)

// account is a tenant's day.
type account struct{ spent, reserved int64 }

// NewDaily returns a budget of which nothing is spent. It copies the maps of cfg.
func NewDaily(cfg DailyConfig) (*Daily, error) {
	if cfg.PerTenant <= 0 {
		return nil, errors.New("openai: DailyConfig.PerTenant must be above 0")
	}
	for tenant, limit := range cfg.Tenants {
		if limit < 0 {
			return nil, fmt.Errorf("openai: DailyConfig.Tenants: the limit of %q is negative", tenant)
		}
	}
	for model, p := range cfg.Prices {
		if p.Prompt < 0 || p.Answer < 0 {
			return nil, fmt.Errorf("openai: DailyConfig.Prices: the price of %q is negative", model)
		}
	}
	cfg.Tenants, cfg.Prices = maps.Clone(cfg.Tenants), maps.Clone(cfg.Prices)
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the one place where the real clock comes in
	}
	return &Daily{cfg: cfg, accounts: map[string]*account{}}, nil
}

// Reserve sets the most that an attempt can use aside, or fails with a *BudgetError if that
// and what is used already exceed the tenant's limit. What is set aside belongs to the day
// it was set aside on, also when it is settled on the next.
func (d *Daily) Reserve(_ context.Context, tenant string, most Cost) (SettleFunc, error) {
	asked, err := d.amount(most)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	limit, ok := d.cfg.Tenants[tenant]
	if !ok {
		limit = d.cfg.PerTenant
	}
	a := d.accounts[tenant]
	if a == nil {
		a = &account{}
	}
	if used := add(a.spent, a.reserved); add(used, asked) > limit {
		return nil, &BudgetError{Tenant: tenant, Limit: limit, Used: used, Asked: asked, Resets: midnight(d.day + 1)}
	}
	a.reserved += asked
	d.accounts[tenant] = a
	var once sync.Once
	return func(_ context.Context, used Cost) { once.Do(func() { d.settle(a, asked, used) }) }, nil
}

func (d *Daily) settle(a *account, reserved int64, used Cost) {
	amount, err := d.amount(used)
	if err != nil {
		amount = reserved
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a.reserved -= reserved
	a.spent = add(a.spent, amount)
}

// Used returns what a tenant has spent today, and what is set aside for attempts under way.
func (d *Daily) Used(tenant string) (spent, reserved int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	if a := d.accounts[tenant]; a != nil {
		return a.spent, a.reserved
	}
	return 0, 0
}

// turn begins a new day if there is one. A clock that is set back does not bring an old day
// back, for its budget would be full again.
func (d *Daily) turn() {
	const seconds = 24 * 60 * 60
	if today := d.cfg.Now().Unix() / seconds; today > d.day {
		d.day = today
		d.accounts = map[string]*account{}
	}
}

func midnight(day int64) time.Time { return time.Unix(day*24*60*60, 0).UTC() }

// amount prices a cost, rounded up.
func (d *Daily) amount(c Cost) (int64, error) {
	if c.PromptTokens < 0 || c.AnswerTokens < 0 {
		return 0, fmt.Errorf("%w: a cost is negative", ErrBudget)
	}
	if d.cfg.Prices == nil {
		return add(c.PromptTokens, c.AnswerTokens), nil
	}
	p, ok := d.cfg.Prices[c.Model]
	if !ok {
		return 0, fmt.Errorf("%w: model %q has no price", ErrBudget, c.Model)
	}
	return add(perMillion(c.PromptTokens, p.Prompt), perMillion(c.AnswerTokens, p.Answer)), nil
}

// perMillion returns tokens times price by a million, rounded up, at most the largest int64.
func perMillion(tokens, price int64) int64 {
	const million = 1_000_000
	hi, lo := bits.Mul64(uint64(tokens), uint64(price)) //nolint:gosec // neither is negative
	lo, carry := bits.Add64(lo, million-1, 0)
	if hi += carry; hi >= million {
		return math.MaxInt64
	}
	if q, _ := bits.Div64(hi, lo, million); q < math.MaxInt64 {
		return int64(q)
	}
	return math.MaxInt64
}

// add adds what is not negative, at most to the largest int64.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
