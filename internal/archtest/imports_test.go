package archtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// matches reports whether pkg is the package that a pattern of the table stands for.
func matches(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(pkg, below)
	}
	return pattern == pkg
}

// checkImports compares every package's direct imports with the allow table.
func checkImports(m *module) []finding {
	const table = "the table is allow in internal/archtest/rules_test.go"
	var found []finding
	imports := m.imports()
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		row, ok := m.row(pkg)
		if !ok {
			found = append(found, finding{pkg, 0, "has no row in the import table; decide what it may import and who may import it (" + table + ")"})
			continue
		}
		for _, imp := range imports[pkg] {
			if !m.own(imp.path) || slices.ContainsFunc(row, func(p string) bool { return matches(p, rel(imp.path)) }) {
				continue
			}
			found = append(found, m.at(imp.pos, "%s must not import %s; declare the interface it needs where it is used, or move the code (%s)", pkg, rel(imp.path), table))
		}
	}
	stale := func(pattern string) bool {
		for pkg := range imports {
			if matches(pattern, pkg) {
				return false
			}
		}
		return true
	}
	for _, key := range slices.Sorted(maps.Keys(m.allow)) {
		if stale(key) {
			found = append(found, finding{key, 0, "has a row in the import table but no package; remove the row (" + table + ")"})
		}
		for _, pattern := range m.allow[key] {
			if stale(pattern) {
				found = append(found, finding{key, 0, "may import " + pattern + ", which is no package; remove the entry (" + table + ")"})
			}
		}
	}
	return found
}

// row returns what a package may import: its own row, or the longest pattern's.
func (m *module) row(pkg string) ([]string, bool) {
	if row, ok := m.allow[pkg]; ok {
		return row, true
	}
	best := ""
	for pattern := range m.allow {
		if strings.HasSuffix(pattern, "...") && matches(pattern, pkg) && len(pattern) > len(best) {
			best = pattern
		}
	}
	row, ok := m.allow[best]
	return row, ok
}

// How a package is reached.
const (
	directly = iota // by an import of the package itself
	ownCode         // by an import of the package or of one of the module's that it reaches
	anyhow          // by any chain of imports
)

// reachRule says what must not be reached. The expressions see import paths relative to
// the module in from and except; in to they see full ones, MODULE standing for the module.
type reachRule struct {
	from, except, to string
	how              int
	why              string
}

// checkReach follows the imports of every package.
func checkReach(m *module) []finding {
	imports := m.imports()
	var found []finding
	for _, rule := range reach {
		from, to := regexp.MustCompile(rule.from), regexp.MustCompile(strings.ReplaceAll(rule.to, "MODULE", regexp.QuoteMeta(modulePath)))
		except := regexp.MustCompile(`^$`)
		if rule.except != "" {
			except = regexp.MustCompile(rule.except)
		}
		for _, pkg := range slices.Sorted(maps.Keys(imports)) {
			if !from.MatchString(pkg) || except.MatchString(pkg) || len(imports[pkg]) == 0 {
				continue
			}
			for _, chain := range m.chains(imports, pkg, rule.how, to) {
				found = append(found, finding{pkg, 0, "must not reach " + chain[len(chain)-1] + ": " + rule.why + " (" + strings.Join(chain, " -> ") + ")"})
			}
		}
	}
	return found
}

// chains returns the shortest chain of imports from pkg to each package that to matches.
// It does not look behind a match.
func (m *module) chains(imports map[string][]imported, pkg string, how int, to *regexp.Regexp) [][]string {
	var found [][]string
	seen := map[string]bool{modulePath + "/" + pkg: true}
	for queue := [][]string{{pkg}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		for _, next := range m.importsOf(imports, chain[len(chain)-1]) {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := slices.Concat(chain, []string{strings.TrimPrefix(next, modulePath+"/")})
			switch {
			case to.MatchString(next):
				found = append(found, longer)
			case how == anyhow, how == ownCode && m.own(next):
				queue = append(queue, longer)
			}
		}
	}
	slices.SortFunc(found, slices.Compare)
	return found
}

func (m *module) importsOf(imports map[string][]imported, name string) []string {
	own, ok := imports[name]
	if !ok {
		return m.outside[name]
	}
	paths := make([]string, len(own))
	for i, imp := range own {
		paths[i] = imp.path
	}
	return paths
}
