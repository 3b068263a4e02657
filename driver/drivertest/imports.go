package drivertest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/memkernel/memkernel/driver"
)

// modulePath is the module of the kernel itself.
const modulePath = "github.com/memkernel/memkernel"

// rule says what must not be imported and why.
type rule struct{ path, why string }

// everywhere lists what must not be reached by any chain of imports.
func everywhere() []rule {
	return []rule{
		{`^database/sql(/|$)`, "a driver has no database but its view"},
		{
			`^(github\.com/(jackc/pg|lib/pq|go-sql-driver/|mattn/go-sqlite3|pgvector/|riverqueue/|go-pg/|uptrace/bun|jmoiron/sqlx|redis/|go-redis/|gomodule/redigo|gocql/|ClickHouse/)|` +
				`go\.mongodb\.org/|go\.etcd\.io/|gorm\.io/|modernc\.org/sqlite|zombiezen\.com/go/sqlite|cloud\.google\.com/go)`,
			"a driver has no database but its view",
		},
		{
			`^` + regexp.QuoteMeta(modulePath) + `/(kernel|kernel/embedded|kernel/kerneltest|queries|internal/(store|jobs|pgtest))$`,
			"a driver sees the view that it is handed and nothing of what is behind it",
		},
		{`^(net|net/http|net/rpc|net/smtp)$`, "a driver has no network"},
		{`^os/exec$`, "a driver starts no programs"},
		{`^plugin$`, "a driver loads no code"},
	}
}

// inOwnCode lists what the packages of the driver's own module must not import themselves.
func inOwnCode() []rule {
	return []rule{
		{`^(os|os/.+|syscall|golang\.org/x/sys(/.+)?)$`, "a driver has no file system and makes no system calls"},
		{`^(reflect|unsafe)$`, "a driver does not look behind its view"},
		{`^C$`, "a driver is pure Go"},
		{`^runtime/debug$`, "a driver leaves the process's settings alone"},
	}
}

// contract are the packages that every driver imports; they have been looked at.
func contract() []string {
	out := []string{"acl", "audit", "driver", "kernel/mem", "kernel/model"}
	for i := range out {
		out[i] = modulePath + "/" + out[i]
	}
	return out
}

// imports judges the source of the driver's package.
func (s *suite) imports() {
	s.tb.Helper()
	root := s.cfg.pkg
	if root == "" {
		root = packageOf(s.driver())
	}
	for _, path := range sortedKeys(s.cfg.allowed) {
		s.notef("allowed to import %s: %s", path, s.cfg.allowed[path])
	}
	if root == "" {
		s.findf("the driver's type has no package; name it with ForPackage")
		return
	}
	g := &graph{ctx: s.tb.Context(), packages: map[string]*listed{}}
	if err := g.load(root); err != nil {
		s.findf("the imports of %s cannot be looked at (name the driver's package with ForPackage): %v", root, err)
		return
	}
	s.walk(g, root)
}

// packageOf returns the path of the package that a driver's type is from.
func packageOf(d driver.Driver) string {
	t := reflect.TypeOf(d)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// walk follows the imports of root, the shortest chain to each package first. It looks neither
// behind what is forbidden nor behind what is allowed.
func (s *suite) walk(g *graph, root string) {
	own := func(p *listed) bool { return !p.Standard && p.module() == g.packages[root].module() }
	vetted, seen := contract(), map[string]bool{root: true}
	far, near := compile(everywhere()), compile(inOwnCode())
	for queue := [][]string{{root}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		p := g.packages[chain[len(chain)-1]]
		if p == nil {
			continue
		}
		mine := own(p)
		imported, err := g.importsOf(p, mine)
		if err != nil {
			s.findf("%s cannot be looked at: %v", p.ImportPath, err)
			continue
		}
		if mine {
			for _, what := range p.odd {
				s.findf("%s has %s: a driver is plain Go", p.ImportPath, what)
			}
		}
		for _, next := range imported {
			if _, excepted := s.cfg.allowed[next]; excepted || seen[next] || slices.Contains(vetted, next) {
				continue
			}
			longer := append(slices.Clone(chain), next)
			why := forbidden(far, next)
			if why == "" && mine {
				why = forbidden(near, next)
			}
			if why != "" {
				s.findf("must not import %s: %s%s", next, why, through(longer))
				continue
			}
			seen[next] = true
			queue = append(queue, longer)
		}
	}
}

// through says by which imports a package is reached.
func through(chain []string) string { return " (" + strings.Join(chain, " -> ") + ")" }

type compiled struct {
	path *regexp.Regexp
	why  string
}

func compile(rules []rule) []compiled {
	out := make([]compiled, len(rules))
	for i, r := range rules {
		out[i] = compiled{regexp.MustCompile(r.path), r.why}
	}
	return out
}

// forbidden returns why a package must not be imported, empty if it may.
func forbidden(rules []compiled, path string) string {
	for _, r := range rules {
		if r.path.MatchString(path) {
			return r.why
		}
	}
	return ""
}

func (p *listed) module() string {
	if p.Module == nil {
		return "the directory " + p.Dir
	}
	return p.Module.Path
}
