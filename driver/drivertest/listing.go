package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is a package as the go command describes it.
type listed struct {
	ImportPath, Dir, Name string
	Standard              bool
	Module                *struct{ Path string }
	GoFiles, CgoFiles     []string
	IgnoredGoFiles        []string
	SFiles, CFiles        []string
	SysoFiles             []string
	Imports               []string
	Error                 *struct{ Err string }

	// odd lists what is in the package beside plain Go.
	odd []string
}

// graph holds the packages that a driver reaches.
type graph struct {
	ctx      context.Context //nolint:containedctx // as long as one walk
	packages map[string]*listed
}

// load lists packages with all that they import.
func (g *graph) load(paths ...string) error {
	const fields = "ImportPath,Dir,Name,Standard,Module,GoFiles,CgoFiles,IgnoredGoFiles,SFiles,CFiles,SysoFiles,Imports,Error"
	args := append([]string{"list", "-e", "-deps", "-json=" + fields, "--"}, paths...)
	cmd := exec.CommandContext(g.ctx, "go", args...) //nolint:gosec // import paths, after --
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if g.packages[p.ImportPath] == nil {
			g.packages[p.ImportPath] = p
		}
	}
	for _, path := range paths {
		p := g.packages[path]
		switch {
		case p == nil:
			return fmt.Errorf("no package %s", path)
		case p.Error != nil && p.Dir == "":
			return errors.New(p.Error.Err)
		}
	}
	return nil
}

// importsOf returns what a package imports. Of the driver's own module every file counts, also
// those that this build leaves out; they are read here, so that the go command knows that a test
// depends on them and does not serve a result from its cache.
func (g *graph) importsOf(p *listed, own bool) ([]string, error) {
	imported := map[string]bool{}
	if len(p.CgoFiles) > 0 && !p.Standard {
		imported["C"] = true
	}
	for _, path := range p.Imports {
		imported[path] = true
	}
	if own {
		if err := p.read(imported); err != nil {
			return nil, err
		}
	}
	var missing []string
	for path := range imported {
		if g.packages[path] == nil && path != "C" && path != "unsafe" {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		// What another system's files import may not be there at all; the import is judged
		// by its name then.
		slices.Sort(missing)
		for _, path := range missing {
			_ = g.load(path)
		}
	}
	return slices.Sorted(maps.Keys(imported)), nil
}

// read adds what the files of a package import and notes what is not plain Go.
func (p *listed) read(imported map[string]bool) error {
	p.odd = nil
	for what, files := range map[string][]string{"assembly": p.SFiles, "C code": p.CFiles, "object files": p.SysoFiles} {
		if len(files) > 0 {
			p.odd = append(p.odd, what)
		}
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		if p.Name != "" && file.Name.Name != p.Name {
			continue // a program that is run by hand, such as a generator
		}
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				imported[path] = true
			}
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if strings.HasPrefix(comment.Text, "//go:linkname ") {
					p.odd = append(p.odd, "go:linkname")
				}
			}
		}
	}
	slices.Sort(p.odd)
	p.odd = slices.Compact(p.odd)
	return nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
