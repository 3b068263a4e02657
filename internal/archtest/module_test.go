package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// modulePath is the path of the module whose shape is tested.
const modulePath = "github.com/memkernel/memkernel"

// module is a module on disk, read once and looked at by every rule.
type module struct {
	dir     string // absolute
	allow   map[string][]string
	fset    *token.FileSet
	files   []*file
	outside map[string][]string // imports of the packages that are not the module's
	typed   []*packages.Package // the module's packages without tests, type-checked
	broken  error               // why the packages do not type-check
	other   map[string]string   // text of the files that are not Go, by path
}

// file is one Go file. Files of every build configuration and of nested modules are there.
type file struct {
	path      string // relative to the module, with slashes
	pkg       string // its directory, relative to the module; "." is the top
	test      bool
	generated bool
	lines     int
	ast       *ast.File
}

// finding is one broken rule.
type finding struct {
	where string // file, or what the rule is about
	line  int    // 0 if there is none
	text  string
}

func (f finding) String() string {
	if f.line > 0 {
		return fmt.Sprintf("%s:%d: %s", f.where, f.line, f.text)
	}
	return f.where + ": " + f.text
}

// load reads the module in dir. It reads every file in this process: the go command counts
// only those as inputs of a test, and would serve a cached result after a change elsewhere.
func load(ctx context.Context, dir string, allow map[string][]string) (*module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m := &module{dir: dir, allow: allow, fset: token.NewFileSet(), other: map[string]string{}}
	if err := m.read(); err != nil {
		return nil, err
	}
	if err := m.list(ctx); err != nil {
		return nil, err
	}
	cfg := &packages.Config{
		Context: ctx, Dir: dir, Env: environ(),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile,
	}
	m.typed, err = packages.Load(cfg, modulePath+"/...")
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	for _, p := range m.typed {
		for _, e := range p.Errors {
			m.broken = errors.Join(m.broken, e)
		}
	}
	return m, nil
}

// environ is the environment of the go commands that are run: a workspace would bring in
// other modules.
func environ() []string { return append(os.Environ(), "GOWORK=off") }

func (m *module) read() error {
	return filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == m.dir {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(m.dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch path.Ext(rel) {
		case ".go":
			return m.readGo(name, rel)
		case ".sql", ".mod", ".sum", ".md":
			text, err := os.ReadFile(name)
			m.other[rel] = string(text)
			return err
		}
		return nil
	})
}

func (m *module) readGo(name, rel string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(m.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("the module must parse before its shape can be tested: %w", err)
	}
	m.files = append(m.files, &file{
		path: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"),
		generated: ast.IsGenerated(tree), lines: bytes.Count(src, []byte("\n")), ast: tree,
	})
	return nil
}

// list asks the go command for what the packages outside the module import.
func (m *module) list(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = m.dir, environ(), &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	m.outside = map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if !m.own(p.ImportPath) {
			m.outside[p.ImportPath] = p.Imports
		}
	}
}

// own reports whether an import path is the module's.
func (m *module) own(importPath string) bool {
	return importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}

// rel returns the name that the tables use for a package of the module.
func rel(importPath string) string { return strings.TrimPrefix(importPath, modulePath+"/") }

// at returns the finding for a place in a Go file.
func (m *module) at(pos token.Position, format string, args ...any) finding {
	name := pos.Filename
	if r, err := filepath.Rel(m.dir, name); err == nil && filepath.IsAbs(name) {
		name = filepath.ToSlash(r)
	}
	return finding{name, pos.Line, fmt.Sprintf(format, args...)}
}

// imported is one import of one file.
type imported struct {
	path string
	file *file
	pos  token.Position
}

// imports returns what each package imports outside its tests, in any build configuration.
// A package without Go files outside its tests has an entry too.
func (m *module) imports() map[string][]imported {
	all := map[string][]imported{}
	for _, f := range m.files {
		all[f.pkg] = slices.Grow(all[f.pkg], 0)
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			all[f.pkg] = append(all[f.pkg], imported{strings.Trim(spec.Path.Value, "`\""), f, m.fset.Position(spec.Pos())})
		}
	}
	return all
}

// public reports whether hosts may import a package: the generated code is not a promise,
// though Go would let them.
func public(pkg string) bool {
	return pkg != sqlPackage && !slices.Contains(strings.Split(pkg, "/"), "internal") && pkg != "examples" && !strings.HasPrefix(pkg, "examples/")
}
