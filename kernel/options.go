package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/writepath/classify"
)

// Option configures Open.
type Option func(*config)

type config struct {
	embedder      model.Embedder
	model         model.Info
	drivers       []driver.Driver
	authenticator Authenticator
	logger        *slog.Logger
	hooks         []Hook
	scanner       classify.Scanner
	llm           model.LLM
	llmName       string
	llmTo         mem.Destination
	stages        []Stage
	now           func() time.Time
	limits        Limits

	// registry holds the drivers, the built-in ones too, once the options are checked.
	registry *driver.Registry
	// sendsTo is where each of them sends what it is shown.
	sendsTo map[string]mem.Destination
}

// WithEmbedder sets the embedding model; the default is the offline model/hashing. Its
// dimension is at most MaxEmbeddingDim.
func WithEmbedder(e model.Embedder) Option { return func(c *config) { c.embedder = e } }

// WithLLM sets the language model that makes facts of what is written, and judges whether facts
// contradict each other; without one texts are kept as they are. where says where what it is sent
// goes, DestinationLocal, DestinationTrustedModel or DestinationRemoteModel: a text whose
// classification does not allow that is not sent. Each call is bounded by Limits.ModelTimeout; a
// write of a text of up to about 32 kB asks at most twice. A model that is a model.TenantLLM is
// asked on behalf of each tenant.
func WithLLM(llm model.LLM, where mem.Destination) Option {
	return func(c *config) { c.llm, c.llmTo = llm, where }
}

// WithStages adds steps of the host's own to every write, in this order; see Stage.
func WithStages(stages ...Stage) Option {
	return func(c *config) { c.stages = append(c.stages, stages...) }
}

// WithDrivers registers retrieval drivers beside the built-in ones, fusion, which is the default,
// and baseline, whose names are taken.
func WithDrivers(drivers ...driver.Driver) Option {
	return func(c *config) { c.drivers = append(c.drivers, drivers...) }
}

// WithAuthenticator plugs in the host's own login. Authenticate hands it every credential
// that does not have the form of the kernel's own keys.
func WithAuthenticator(a Authenticator) Option { return func(c *config) { c.authenticator = a } }

// WithClassifier adds a scanner to the built-in classification of what is written: what it
// finds counts as if the built-in rules had found it, and can only make a text more closely
// kept. It is asked for every text, bounded by Limits.ModelTimeout; if it fails, panics or hangs
// the write is ErrUnavailable.
func WithClassifier(s classify.Scanner) Option { return func(c *config) { c.scanner = s } }

// WithLogger sets where the kernel logs; the default discards. Ids and reasons are logged,
// never texts.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithHooks adds observers; see Hook.
func WithHooks(hooks ...Hook) Option { return func(c *config) { c.hooks = append(c.hooks, hooks...) } }

// WithClock sets the clock; the default is time.Now. What a call decides and stores
// goes by one reading of it; durations are measured by others.
func WithClock(now func() time.Time) Option { return func(c *config) { c.now = now } }

// WithLimits sets the limits; each zero field keeps its default.
func WithLimits(l Limits) Option { return func(c *config) { c.limits = l } }

// Authenticator is a host's own login.
//
// Implementations must be safe for concurrent use.
type Authenticator interface {
	// Authenticate resolves a credential. It returns an error that wraps ErrUnauthenticated
	// for one that it does not accept; any other error is reported as ErrUnavailable. What
	// it returns is trusted: the kernel checks its form, not its truth.
	Authenticate(ctx context.Context, credential string) (acl.Claims, error)
}

// MaxEmbeddingDim is the largest dimension of an embedding model: a vector must fit in a
// database page of 8 kB beside its row's other columns.
const MaxEmbeddingDim = 1990

// minPollInterval is how often work can be looked for at most.
const minPollInterval = 10 * time.Millisecond

// Limits are the kernel's own bounds. The zero value of a field is its default.
type Limits struct {
	// MaxTextBytes is the largest text of a write, default 1 MiB.
	MaxTextBytes int
	// MaxBatch is the most writes of one WriteMany, default 10000.
	MaxBatch int
	// MaxQueryBytes is the largest query of a search, default 1 MiB.
	MaxQueryBytes int
	// MaxResults is the largest K of a search, default 100.
	MaxResults int
	// MaxPage is the largest page of a listing such as History, default 1000.
	MaxPage int
	// DriverTimeout bounds one plan of a driver, default 5 s. Half of it is for an embedding model that
	// is not in the process: without the vector by then, words alone rank.
	DriverTimeout time.Duration
	// DriverFailures is after how many searches in a row of one tenant that a driver did not answer,
	// because it was late or said that it or its network was unavailable, it is not asked any
	// more, default 5; the baseline ranks then. What else can be wrong with a plan does not count.
	DriverFailures int
	// DriverPause is after how long one search tries such a driver again, default 30 s. If that is
	// answered, all are. It goes by the system's clock, not by WithClock.
	DriverPause time.Duration
	// ModelTimeout bounds one call of a model, default 30 s.
	ModelTimeout time.Duration
	// AuditTimeout bounds the commit of an audit row, and of the answer that it is committed with,
	// the wait for a connection included,
	// default 5 s. A call whose row is not durable by then fails.
	AuditTimeout time.Duration
	// AuditGroup is the most calls whose audit rows share one commit, default 256; 1 commits
	// each row on its own.
	AuditGroup int
	// MaxCallers is how many rate limits are remembered, one per pair of caller and operation,
	// default 100000. Over it, buckets that are full anyway are forgotten first.
	MaxCallers int
	// Workers is how many writes Start runs at once, default 8. One that waits for a model
	// holds no connection.
	Workers int
	// WriteAttempts is how often a write of WriteAsync is tried, default 5. The pauses between
	// are 1 s, 4 s, 16 s and so on, 5 min at most. An attempt whose process died counts.
	WriteAttempts int
	// UpkeepInterval is how often what a brownout left undone, what has expired and what has not
	// been checked for contradictions is looked for, default 1 min. Memories that are held are
	// checked at once.
	UpkeepInterval time.Duration
	// PollInterval makes Start look for work this often instead of listening for it, which takes
	// one connection beside those of the pool, and does not work through PgBouncer in transaction
	// mode. 0, the default, listens.
	PollInterval time.Duration
}

// WithDefaults returns the limits with each zero field set to its default.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.MaxTextBytes, 1<<20)
	setDefault(&l.MaxBatch, 10_000)
	setDefault(&l.MaxQueryBytes, 1<<20)
	setDefault(&l.MaxResults, 100)
	setDefault(&l.MaxPage, 1000)
	setDefault(&l.DriverTimeout, 5*time.Second)
	setDefault(&l.DriverFailures, 5)
	setDefault(&l.DriverPause, 30*time.Second)
	setDefault(&l.ModelTimeout, 30*time.Second)
	setDefault(&l.AuditTimeout, 5*time.Second)
	setDefault(&l.AuditGroup, 256)
	setDefault(&l.MaxCallers, 100_000)
	setDefault(&l.Workers, 8)
	setDefault(&l.WriteAttempts, 5)
	setDefault(&l.UpkeepInterval, time.Minute)
	return l
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// validate refuses limits outside what the kernel can hold to.
func (l Limits) validate() error {
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"MaxTextBytes", int64(l.MaxTextBytes), 64 << 20},
		{"MaxBatch", int64(l.MaxBatch), 1_000_000},
		{"MaxQueryBytes", int64(l.MaxQueryBytes), 64 << 20},
		{"MaxResults", int64(l.MaxResults), 1000},
		{"MaxPage", int64(l.MaxPage), 100_000},
		{"DriverTimeout", int64(l.DriverTimeout), int64(time.Hour)},
		{"DriverFailures", int64(l.DriverFailures), 1000},
		{"DriverPause", int64(l.DriverPause), int64(24 * time.Hour)},
		{"ModelTimeout", int64(l.ModelTimeout), int64(time.Hour)},
		{"AuditTimeout", int64(l.AuditTimeout), int64(time.Hour)},
		{"AuditGroup", int64(l.AuditGroup), 10_000},
		{"MaxCallers", int64(l.MaxCallers), 100_000_000},
		{"Workers", int64(l.Workers), 10_000},
		{"WriteAttempts", int64(l.WriteAttempts), 100},
		{"UpkeepInterval", int64(l.UpkeepInterval), int64(24 * time.Hour)},
	} {
		if f.value < 1 || f.value > f.most {
			return &mem.InvalidError{Field: "Limits." + f.name, Reason: fmt.Sprintf("%d is not between 1 and %d", f.value, f.most)}
		}
	}
	if p := l.PollInterval; p != 0 && (p < minPollInterval || p > time.Hour) {
		return &mem.InvalidError{Field: "Limits.PollInterval", Reason: fmt.Sprintf("%s is neither 0 nor between %s and %s", p, minPollInterval, time.Hour)}
	}
	return nil
}
