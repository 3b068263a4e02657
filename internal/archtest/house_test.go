package archtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checkDocs wants a doc comment on every exported name and on every package.
func checkDocs(m *module) []finding {
	var found []finding
	described := map[string]bool{}
	for _, f := range m.files {
		if f.test {
			continue
		}
		described[f.pkg] = described[f.pkg] || says(f.ast.Doc)
		if f.generated || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, name := range undocumented(decl) {
				found = append(found, m.at(m.fset.Position(name.Pos()), "%s is exported and has no doc comment", name.Name))
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(described)) {
		if !described[pkg] {
			found = append(found, finding{pkg, 0, "no file has a package comment; say what the package is for and what it must never do"})
		}
	}
	return found
}

// says reports whether a comment has text: a directive says nothing to a reader.
func says(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) != "" }

// wellKnown are the methods whose meaning the standard library fixes.
var wellKnown = []string{"Error", "Unwrap", "Is", "As", "String"}

// undocumented returns the exported names that a declaration leaves undescribed. A group of
// constants or variables may be described as a whole. Fields are the type's business, and so
// is the method of an interface that has only one.
func undocumented(decl ast.Decl) []*ast.Ident {
	var bad []*ast.Ident
	switch d := decl.(type) {
	case *ast.FuncDecl:
		method := d.Recv != nil
		if d.Name.IsExported() && !says(d.Doc) && (!method || exportedReceiver(d.Recv.List[0].Type) && !slices.Contains(wellKnown, d.Name.Name)) {
			bad = append(bad, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && !says(d.Doc) && !says(s.Doc) && !says(s.Comment) {
						bad = append(bad, name)
					}
				}
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				if !says(s.Doc) && !says(s.Comment) && (d.Lparen.IsValid() || !says(d.Doc)) {
					bad = append(bad, s.Name)
				}
				bad = append(bad, undocumentedMethods(s.Type)...)
			}
		}
	}
	return bad
}

func undocumentedMethods(t ast.Expr) []*ast.Ident {
	iface, ok := t.(*ast.InterfaceType)
	if !ok || len(iface.Methods.List) < 2 {
		return nil
	}
	var bad []*ast.Ident
	for _, method := range iface.Methods.List {
		for _, name := range method.Names {
			if name.IsExported() && !says(method.Doc) && !says(method.Comment) {
				bad = append(bad, name)
			}
		}
	}
	return bad
}

func exportedReceiver(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return exportedReceiver(t.X)
	case *ast.IndexExpr:
		return exportedReceiver(t.X)
	case *ast.IndexListExpr:
		return exportedReceiver(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}

// checkFiles holds the rules on single files and on names.
func checkFiles(m *module) []finding {
	var found []finding
	named := map[string]bool{}
	for _, f := range m.files {
		if f.lines > maxLines && !f.generated {
			found = append(found, finding{f.path, 0, fmt.Sprintf("%d lines, more than %d; one concept a file", f.lines, maxLines)})
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !f.test && inits[f.pkg] == "" {
				found = append(found, m.at(m.fset.Position(fn.Pos()), "init runs in every host whether it wants it or not; use a constructor"))
			}
		}
		for _, name := range []string{path.Base(f.pkg), strings.TrimSuffix(f.ast.Name.Name, "_test")} {
			if slices.Contains(vague, name) && !named[f.pkg] {
				named[f.pkg] = true
				found = append(found, finding{f.pkg, 0, "a package named " + name + " says nothing; name it after what it provides"})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.other)) {
		if n := strings.Count(m.other[name], "\n"); path.Ext(name) == ".sql" && n > maxLines {
			found = append(found, finding{name, 0, fmt.Sprintf("%d lines, more than %d; one concept a file", n, maxLines)})
		}
	}
	return found
}

// checkTop keeps the top of the repository as designed.
func checkTop(m *module) []finding {
	ignored := []string{"*.test", "*.out", "*.prof", "bin", "go.work", "go.work.sum"}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return []finding{{".", 0, err.Error()}}
	}
	var found []finding
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(topLevel, name) || slices.ContainsFunc(ignored, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			continue
		}
		found = append(found, finding{name, 0, "does not belong at the top of the repository"})
	}
	return found
}

var toolLine = regexp.MustCompile(`(?m)^(?:tool)?\s+([a-z0-9.]+\.[a-z]+/\S+)$`)

// checkGoMod keeps the module file one that a host can depend on: what is replaced or
// excluded here is not so in the host's build, and the host has no use for our tools.
func checkGoMod(m *module) []finding {
	const name = "go.mod"
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir, cmd.Env = m.dir, environ()
	out, err := cmd.Output()
	if err != nil {
		return []finding{{name, 0, err.Error()}}
	}
	var mod struct {
		Module             struct{ Path string }
		Require            []struct{ Path string }
		Replace            []struct{ Old struct{ Path string } }
		Exclude            []struct{ Path string }
		Tool               []struct{ Path string }
		Toolchain, Retract any
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return []finding{{name, 0, err.Error()}}
	}
	var found []finding
	bad := func(format string, args ...any) {
		found = append(found, finding{name, 0, fmt.Sprintf(format, args...)})
	}
	if mod.Module.Path != modulePath {
		bad("the module is %s, the tests know %s", mod.Module.Path, modulePath)
	}
	for _, r := range mod.Replace {
		bad("replaces %s: a host's build does not", r.Old.Path)
	}
	for _, e := range mod.Exclude {
		bad("excludes %s: a host's build does not", e.Path)
	}
	for _, r := range mod.Require {
		if m.own(r.Path) {
			bad("requires %s: a nested module is there so that its dependencies stay out of this one", r.Path)
		}
	}
	for _, t := range mod.Tool {
		bad("has the tool %s: tools have modules of their own in internal/tools", t.Path)
	}
	found = append(found, checkNested(m)...)
	tools, err := filepath.Glob(filepath.Join(m.dir, "internal", "tools", "*", "go.mod"))
	if err != nil {
		return append(found, finding{name, 0, err.Error()})
	}
	for _, file := range tools {
		r, err := filepath.Rel(m.dir, file)
		if err != nil {
			return append(found, finding{name, 0, err.Error()})
		}
		for _, tool := range toolLine.FindAllStringSubmatch(m.other[filepath.ToSlash(r)], -1) {
			for _, req := range mod.Require {
				// These tests need golang.org/x/tools themselves.
				if strings.HasPrefix(tool[1]+"/", req.Path+"/") && req.Path != "golang.org/x/tools" {
					bad("requires %s for a tool: tools have modules of their own in internal/tools", req.Path)
				}
			}
		}
	}
	return found
}

// checkNested wants a nested module to be found by its path, and built with the module that it
// stands in and not with a released one. The tools are nobody's to import.
func checkNested(m *module) []finding {
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(m.other)) {
		dir := path.Dir(name)
		if path.Base(name) != "go.mod" || dir == "." || strings.HasPrefix(dir, "internal/tools/") {
			continue
		}
		for _, line := range []string{
			"module " + modulePath + "/" + dir,
			"replace " + modulePath + " => .." + strings.Repeat("/..", strings.Count(dir, "/")),
		} {
			if !slices.Contains(strings.Split(m.other[name], "\n"), line) {
				found = append(found, finding{name, 0, "must have the line " + line})
			}
		}
	}
	return found
}
