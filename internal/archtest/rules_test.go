package archtest

import (
	"regexp"
	"slices"
)

// Levels: a package may import those of the levels below its own. Packages of one level do
// not import each other, except where a row says so.
var (
	level0 = []string{"acl", "kernel/model"}
	level1 = concat(level0, "kernel/mem")
	level2 = concat(level1, "driver", "audit")
	level3 = concat(level2, "writepath", "writepath/classify", "writepath/conflict", "writepath/entity", "writepath/extract", "writepath/verify", "internal/lexical")

	// forHosts is what a host may import, and so all that examples and test kits see.
	forHosts = []string{"kernel", "kernel/mem", "kernel/model", "driver", "acl", "audit"}
)

// allow lists, for every package, the module's packages that it may import directly. A
// package without a row fails, and so does a row or an entry that names no package.
// "x/..." stands for the packages below x. Test files are free.
var allow = map[string][]string{
	"internal/mint":    {}, // who can import it can make an identity: acl, internal/store and kernel only
	"internal/lexical": {},

	"acl":                     {"internal/mint"},
	"kernel/model":            {},
	"kernel/model/hashing":    {"kernel/model", "internal/lexical"},
	"kernel/model/openai":     {"kernel/model"},
	"kernel/model/embedcache": {"kernel/model"},
	"kernel/embedded":         {}, // starts a program and asks whether it answers
	"queries":                 {},

	"kernel/mem": {"acl"},

	"driver": level1,
	"audit":  level1,

	"writepath":          concat(level2, "writepath/entity"),
	"writepath/classify": {"kernel/mem"}, // text in, findings out
	"writepath/extract":  {"acl", "kernel/mem", "kernel/model"},
	"writepath/verify":   {"acl", "kernel/mem"}, // no model
	"writepath/conflict": {"acl", "kernel/mem", "kernel/model"},
	"writepath/entity":   {"acl", "kernel/mem"},
	"driver/baseline":    level2,
	"driver/fusion":      level2,
	"driver/sidecar":     level2,

	"internal/store": concat(level3, "queries", "internal/mint"),
	"internal/jobs":  {"kernel/mem"}, // what a job does, the kernel tells it

	// It wires, and holds no rule and no SQL.
	"kernel": concat(level3, "driver/baseline", "driver/fusion", "kernel/model/hashing", "kernel/embedded", "queries", "internal/store", "internal/jobs", "internal/mint"),

	"kernel/kerneltest": concat(forHosts, "internal/pgtest"),
	"driver/drivertest": concat(forHosts, "kernel/kerneltest"), // a host's test kit, which stands in the kernel's place

	"driver/drivertest/cmd/drivertest": {}, // it has the go command run the kit

	"examples/...":    concat(forHosts, "examples/internal/..."),
	"examples/ingest": concat(forHosts, "examples/internal/...", "kernel/model/openai"),

	"examples/internal/console":    {}, // text to a terminal
	"examples/internal/host":       {"kernel"},
	"examples/internal/locomo":     {"acl"},
	"examples/internal/transcript": {"kernel", "kernel/mem"},

	// A module of its own, so no row may name it.
	"writepath/classify/gitleaks": {"kernel/mem", "writepath/classify"},

	"internal/archtest": {},
	"internal/pgtest":   {"acl", "audit", "kernel/embedded", "kernel/mem", "queries"},
}

// reach lists what must not be reached.
var reach = []reachRule{
	{
		from: `^driver(/|$)`, except: `^driver/drivertest(/|$)`, to: `^github\.com/(jackc|pgvector|riverqueue|lib)/|^database/sql$|^MODULE/(queries|internal/store|internal/jobs)$|^(os/exec|plugin)$`, how: anyhow,
		why: "a driver sees the ScopedView it is handed and nothing else",
	},
	{
		from: `^driver(/|$)`, except: `^driver/(drivertest(/.*)?|sidecar)$`, to: `^(net/http|MODULE/driver/sidecar)$`, how: anyhow,
		why: "driver/sidecar alone asks another process",
	},
	{
		from: `^driver(/|$)`, except: `^driver/(drivertest(/.*)?|sidecar)$`, to: `^net$`, how: ownCode,
		why: "driver/sidecar alone asks another process",
	},
	{
		from: `^driver(/|$)`, except: `^driver/drivertest(/|$)`, to: `^(net/(netip|rpc|smtp|textproto)|os|os/(signal|user)|syscall|reflect|runtime/debug)$`, how: ownCode,
		why: "a driver sees the ScopedView it is handed and nothing else",
	},
	{
		from: `^(acl|audit|writepath|allocator|fault|erasure|kernel/mem|kernel/model|internal/(mint|lexical|graph))(/|$)`,
		to:   `^github\.com/(jackc|pgvector|riverqueue|lib)/|^database/sql$|^MODULE/(queries|internal/store|internal/jobs)$`, how: anyhow,
		why: "only queries, internal/store and the kernel that wires them know Postgres",
	},
	{
		from: `^(acl|kernel/mem|internal/(mint|lexical|graph))$`, to: `^(net/http|os/exec|plugin)$`, how: anyhow,
		why: "leaf packages are pure",
	},
	{
		from: `^(acl|kernel/mem|internal/(mint|lexical|graph))$`, to: `^(net|os|syscall|log|log/slog)$`, how: ownCode,
		why: "leaf packages are pure",
	},
	{
		from: `^kernel/model$`, to: `^(net/http|os/exec|os|net)$`, how: ownCode,
		why: "kernel/model is the contract; clients of a model live below it",
	},
	{
		from: ``, except: `^(kernel/kerneltest|driver/drivertest|internal/pgtest)$`,
		to:  `^(testing|testing/.*|github\.com/(stretchr|google/go-cmp)/.*|MODULE/(kernel/kerneltest|driver/drivertest|internal/pgtest))$`,
		how: anyhow, why: "no test code in the product",
	},
	{
		from: ``, except: `^(kernel|kernel/embedded|kernel/kerneltest|queries|internal/(store|jobs|pgtest)|examples/.*)$`,
		to: `^github\.com/(jackc|pgvector|riverqueue)/`, how: directly,
		why: "only queries, internal/store and the kernel that wires them know Postgres",
	},
	{
		from: `^kernel/embedded$`, to: `^github\.com/(jackc/pgx/v5(/pgxpool|/stdlib|/pgtype)?|jackc/[^p].*|pgvector/.*|riverqueue/.*)$`, how: directly,
		why: "the child process is asked whether it answers, and nothing more",
	},
	{
		from: ``, except: `^writepath/classify/gitleaks$`, to: `^github\.com/zricethezav/`, how: directly,
		why: "its many dependencies reach only hosts that want them, through a module of their own",
	},
	{
		from: ``, to: `^(C|unsafe|plugin|database/sql|MODULE/internal/(archtest|tools)(/.*)?)$`, how: directly,
		why: "the module is pure Go over pgx",
	},
}

// sqlPackage is the only package that sends SQL.
const sqlPackage = "queries"

// apiTypes lists the types of others that the public API may name, with where. All else
// that it names is the standard library's (database/sql apart) or the module's own and public.
var apiTypes = []struct {
	name  string         // import path, dot, type
	where *regexp.Regexp // package, dot, exported name
}{
	{"github.com/jackc/pgx/v5/pgxpool.Pool", regexp.MustCompile(`^kernel(/kerneltest)?\.`)},
	{"github.com/jackc/pgx/v5.Tx", regexp.MustCompile(`^kernel(/kerneltest)?\.`)},
	// Its argument is what keeps others from making an identity.
	{modulePath + "/internal/mint.Token", regexp.MustCompile(`^acl\.(NewIdentity|IssuedWith)$`)},
}

// Interfaces have five methods or fewer; those that are a published contract, not a
// consumer's view of somebody else, may have up to eight.
const (
	maxMethods         = 5
	maxContractMethods = 8
)

// contracts lists the interfaces that may have maxContractMethods.
var contracts = []string{"driver.ScopedView"}

// view is the interface that a driver is handed; viewHome the packages that may implement it.
const view = "driver.ScopedView"

var viewHome = []string{"internal/store", "driver/drivertest"}

// inits lists the packages that may have an init function, with the reason.
var inits = map[string]string{
	"internal/pgtest": "turns a test binary into the shared server's host, before any main function could",
}

// maxLines bounds every file that a person wrote.
const maxLines = 500

// vague lists names that say nothing about what a package is for.
var vague = []string{"util", "utils", "common", "types", "models", "helpers", "misc", "shared", "base"}

// topLevel lists what may stand at the top of the repository, beside files that start with
// a dot. What .gitignore names is free.
var topLevel = []string{
	"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "go.mod", "go.sum", "sqlc.yaml",
	"acl", "allocator", "audit", "driver", "erasure", "examples", "fault", "internal", "kernel", "queries", "writepath",
}

func concat(list []string, more ...string) []string { return slices.Concat(list, more) }
