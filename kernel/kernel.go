package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/driver/fusion"
	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/mint"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/hashing"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath/classify"
	"github.com/memkernel/memkernel/writepath/verify"
)

// Kernel is the memory kernel on one database. Make one per process and database with Open
// or OpenDefault and share it.
type Kernel struct {
	store    *store.Store
	embedder model.Embedder
	// model is what the embedder said of itself at Open; it must not change its mind.
	model         model.Info
	drivers       *driver.Registry
	stuck         *stuckCalls
	breakers      *breakers
	sendsTo       map[string]mem.Destination // of every driver
	authenticator Authenticator
	// issuer marks the identities that this kernel makes.
	issuer   mint.Token
	failures *failureLog
	limiter  *limiter
	logger   *slog.Logger
	hooks    []Hook
	// classifier and scanner say what a text holds; scanner may be nil.
	classifier *classify.Classifier
	scanner    classify.Scanner
	// llm makes facts of texts, which verifier checks; nil keeps them as they are. What it is sent
	// goes to llmDestination.
	llm            model.LLM
	llmName        string
	llmDestination mem.Destination
	verifier       *verify.Verifier
	stages         []Stage
	now            func() time.Time
	limits         Limits
	// jobs adds background work and, after Start, runs it; finished tells those who wait in this
	// process what it has done.
	jobs     *jobs.Client
	finished *bells
	// release undoes what OpenDefault did.
	release *releaser
}

// Open returns a Kernel on the host's pool. It does no I/O and starts nothing; call Migrate
// once per deployment and Ready to check. The pool stays the host's to close. Open fails on
// a bad option with an error that wraps ErrInvalid and names it.
//
// A pool behind PgBouncer in transaction mode must use pgx.QueryExecModeExec.
func Open(db *pgxpool.Pool, opts ...Option) (*Kernel, error) {
	if db == nil {
		return nil, &mem.InvalidError{Field: "db", Reason: "it is nil"}
	}
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	k := &Kernel{
		store:    store.New(db, cfg.model, store.AppendOptions{MaxGroup: cfg.limits.AuditGroup, Timeout: cfg.limits.AuditTimeout}),
		embedder: cfg.embedder, model: cfg.model, drivers: cfg.registry, sendsTo: cfg.sendsTo, stuck: &stuckCalls{}, breakers: newBreakers(&cfg.limits, cfg.logger), authenticator: cfg.authenticator, issuer: mint.New(),
		failures: &failureLog{}, limiter: newLimiter(cfg.limits.MaxCallers), logger: cfg.logger, hooks: cfg.hooks,
		classifier: classify.New(), scanner: cfg.scanner,
		llm: cfg.llm, llmName: cfg.llmName, llmDestination: cfg.llmTo, verifier: verify.New(verify.Options{MaxTextBytes: maxModelFact}), stages: cfg.stages,
		now: cfg.now, limits: cfg.limits, finished: &bells{}, release: &releaser{},
	}
	if k.jobs, err = k.newJobs(db); err != nil {
		return nil, err
	}
	return k, nil
}

// configure applies the options to the defaults and checks the result.
func configure(opts []Option) (*config, error) {
	cfg := &config{now: time.Now} //nolint:forbidigo // the one place where the real clock comes in
	for _, opt := range opts {
		opt(cfg)
	}
	cfg.limits = cfg.limits.WithDefaults()
	if err := cfg.limits.validate(); err != nil {
		return nil, err
	}
	if cfg.embedder == nil {
		cfg.embedder = hashing.New()
	}
	cfg.model = cfg.embedder.Info()
	info := &cfg.model
	if info.Name == "" || info.Dim < 1 || info.Dim > MaxEmbeddingDim {
		return nil, &mem.InvalidError{
			Field:  "Embedder",
			Reason: fmt.Sprintf("model %q of dimension %d: it needs a name and a dimension between 1 and %d", info.Name, info.Dim, MaxEmbeddingDim),
		}
	}
	if cfg.now == nil {
		return nil, &mem.InvalidError{Field: "Clock", Reason: "it is nil"}
	}
	if err := checkHooks(cfg.hooks); err != nil {
		return nil, err
	}
	if err := cfg.checkLLM(); err != nil {
		return nil, err
	}
	for i, stage := range cfg.stages {
		if stage == nil {
			return nil, &mem.InvalidError{Field: fmt.Sprintf("Stages[%d]", i), Reason: "it is nil"}
		}
	}
	var err error
	if cfg.registry, err = driver.NewRegistry(append([]driver.Driver{baseline.New(), fusion.New(trust(&cfg.model))}, cfg.drivers...)...); err != nil {
		return nil, err
	}
	if cfg.sendsTo, err = destinations(cfg.registry); err != nil {
		return nil, err
	}
	if cfg.logger == nil {
		cfg.logger = slog.New(slog.DiscardHandler)
	}
	return cfg, nil
}

// destinations returns where each driver sends what it is shown.
func destinations(drivers *driver.Registry) (map[string]mem.Destination, error) {
	to := map[string]mem.Destination{}
	for _, name := range drivers.Names() {
		to[name] = mem.DestinationLocal
		d, _ := drivers.Get(name)
		if s, ok := d.(driver.Sender); ok {
			if to[name] = s.Destination(); !servedAt(to[name]) {
				return nil, &mem.InvalidError{Field: "Drivers", Reason: fmt.Sprintf("%q is not where the engine of driver %s can be", to[name], name)}
			}
		}
	}
	return to, nil
}

// spells reports whether a model compares how texts are written, and not what they mean: the built-in
// one does, whatever a host has put around it.
func spells(m *model.Info) bool { return m.Name == hashing.Name }

// trust returns how far the fusion driver may trust an embedding model.
func trust(m *model.Info) fusion.Trust {
	if spells(m) {
		return fusion.Spelling
	}
	return fusion.Meaning
}

// checkLLM checks the language model and asks its name.
func (c *config) checkLLM() error {
	if c.llm == nil {
		if c.llmTo != "" {
			return &mem.InvalidError{Field: "LLM", Reason: "it is nil"}
		}
		return nil
	}
	if c.llmName = c.llm.Name(); c.llmName == "" {
		return &mem.InvalidError{Field: "LLM", Reason: "it has no name"}
	}
	if !servedAt(c.llmTo) {
		return &mem.InvalidError{Field: "LLM", Reason: fmt.Sprintf("%q is not where a model can be", c.llmTo)}
	}
	return nil
}

// servedAt reports whether a model or an engine can be there.
func servedAt(d mem.Destination) bool {
	return d == mem.DestinationLocal || d == mem.DestinationTrustedModel || d == mem.DestinationRemoteModel
}

// Migrate brings the database to this build's schema, in one transaction. Any number of
// processes may call it at once; a repeat call changes nothing. It needs the right to create
// a schema and, unless pgvector is installed in the database, an extension. It refuses a
// database that a newer build has migrated (ErrSchemaNewer) and one that is not in UTF-8
// (ErrEncoding). The options are checked as in Open; none of them changes what it does.
func Migrate(ctx context.Context, db *pgxpool.Pool, opts ...Option) error {
	if db == nil {
		return &mem.InvalidError{Field: "db", Reason: "it is nil"}
	}
	if _, err := configure(opts); err != nil {
		return err
	}
	return queries.Migrate(ctx, db)
}

// Ready reports whether the kernel can work: the schema is this build's, pgvector is 0.7 or newer,
// and stored vectors are of the configured embedding model. It changes nothing and leaves no audit
// row. A schema that is not this build's is ErrSchemaMissing, ErrSchemaNewer or ErrSchemaEdited, a
// database that is not in UTF-8 is ErrEncoding, and one that cannot be reached, or whose pool is
// closed, is ErrUnavailable. A mismatch of the model is an ErrConflict that names both models;
// everything but the vector arm then still works.
func (k *Kernel) Ready(ctx context.Context) error {
	version, registered, err := k.store.Ping(ctx)
	if err != nil {
		return fmt.Errorf("ready: %w", store.ReadyErr(err))
	}
	if !atLeast(version, 0, 7) {
		return fmt.Errorf("ready: %w: pgvector is %q, at least 0.7 is needed", mem.ErrUnavailable, version)
	}
	want := k.model
	for _, have := range registered {
		if have.Name == want.Name && have.Revision == want.Revision && have.Dim == want.Dim {
			return nil
		}
	}
	if len(registered) > 0 {
		return fmt.Errorf("ready: %w: vectors are of model %s, the kernel's is %s", mem.ErrConflict, describe(registered[0]), describe(want))
	}
	return nil
}

func describe(m model.Info) string {
	return fmt.Sprintf("%s %s (dimension %d)", m.Name, m.Revision, m.Dim)
}

// atLeast compares the first two numbers of a dotted version.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}

// Close undoes what Start and OpenDefault did: it stops the background work, closes the pool
// and stops the private Postgres. For a kernel made by Open the pool stays open. Work under way
// may come to an end for 5 s, or half of what ctx leaves; then it is cancelled, and runs again
// when a kernel is started the next time. What is still to be recorded is written out.
// End the calls first: a call under way holds the pool open. When ctx is done before it has
// given up, the server is stopped all the same and Close returns an error. A repeat call does
// nothing. Of a kernel that WithTx returned it stops nothing.
func (k *Kernel) Close(ctx context.Context) error {
	var stop error
	if !k.store.InTx() {
		stop = k.jobs.Stop(ctx)
	}
	return errors.Join(stop, k.flushFailures(ctx), k.release.run(ctx))
}

// WithTx returns a kernel whose writes join the host's transaction, their audit rows
// included: they happen if and when the host commits. A write that fails leaves the
// transaction usable. Reads see the transaction's own changes. What was answered by a read,
// and what was refused, is recorded on another connection of the pool at once, because it
// has to stay on record if the host rolls back; such a call fails with ErrUnavailable if no
// connection is free within Limits.AuditTimeout.
//
// An open transaction that has written also holds up the writers of the same namespace until
// it ends. Under REPEATABLE READ or above, where a snapshot may be older than a revocation,
// keys, tenants and policies are read on another connection as well.
//
// Like the transaction, the returned kernel is for one goroutine at a time. An embedding
// model is called while the transaction is open. Keys, policies and tenants can be managed
// through it as well.
func (k *Kernel) WithTx(tx pgx.Tx) *Kernel {
	bound := *k
	bound.store = k.store.WithTx(tx)
	bound.release = &releaser{}
	return &bound
}

// clock returns the time of a call in the database's precision.
func (k *Kernel) clock() time.Time { return k.now().UTC().Truncate(time.Microsecond) }

func (k *Kernel) logPanic(ctx context.Context, in string, r any) {
	// Not the value: it may hold text.
	k.logger.LogAttrs(ctx, slog.LevelError, "panic",
		slog.String("in", in), slog.String("type", fmt.Sprintf("%T", r)), slog.String("stack", string(debug.Stack())))
}
