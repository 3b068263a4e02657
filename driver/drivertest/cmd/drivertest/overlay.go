package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/template"
)

// testName is the test that is laid over the package, in a file that none will have.
const (
	testName = "TestDriverConformance"
	testFile = "memkernel_drivertest_overlay_test.go"
)

// target is a package as the go command describes it.
type target struct {
	ImportPath, Dir, Name     string
	TestGoFiles, XTestGoFiles []string
}

// source is the test that is laid over the package.
const source = `package {{.Name}}_test

import (
	kit_testing "testing"

	kit_driver "github.com/memkernel/memkernel/driver"
	kit "github.com/memkernel/memkernel/driver/drivertest"

	{{.Name}} {{printf "%q" .ImportPath}}
)

func kit_made(d kit_driver.Driver, errs ...error) (kit_driver.Driver, error) {
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

func {{.Test}}(t *kit_testing.T) {
	kit.Run(t, func(tb kit_testing.TB) kit_driver.Driver {
		tb.Helper()
		d, err := kit_made({{.Expr}})
		if err != nil {
			tb.Fatalf("make the driver: %v", err)
		}
		return d
	}, {{range .Options}}{{.}}, {{end}})
}
`

// run tests the driver of a package.
func run(ctx context.Context, dir string, p *plan, stdout, stderr io.Writer) error {
	t, err := find(ctx, dir, p.pkg, stderr)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "drivertest-")
	if err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	overlay, err := t.overlay(temp, p)
	if err != nil {
		return err
	}
	cmd := goCommand(ctx, dir, "test", "-count=1", "-v", "-run", "^"+testName+"$", "-overlay", overlay, t.ImportPath)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the driver of %s did not pass: %w", t.ImportPath, err)
	}
	return nil
}

// find asks the go command about the package.
func find(ctx context.Context, dir, pkg string, stderr io.Writer) (*target, error) {
	cmd := goCommand(ctx, dir, "list", "-json=ImportPath,Dir,Name,TestGoFiles,XTestGoFiles", "--", pkg)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find package %s: %w", pkg, err)
	}
	var t target
	decoder := json.NewDecoder(bytes.NewReader(out))
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("find package %s: %w", pkg, err)
	}
	switch {
	case decoder.More():
		return nil, fmt.Errorf("%s is several packages, want one", pkg)
	case t.Name == "main":
		return nil, errors.New(t.ImportPath + " is a program; a driver is in a package that can be imported")
	}
	return &t, nil
}

// overlay writes the test and the overlay, in which the package's own tests do not exist, and
// returns the path of the latter.
func (t *target) overlay(temp string, p *plan) (string, error) {
	var code bytes.Buffer
	expr := p.expr
	if expr == "" {
		expr = t.Name + ".New()"
	}
	err := template.Must(template.New("").Parse(source)).Execute(&code, map[string]any{
		"Name": t.Name, "ImportPath": t.ImportPath, "Test": testName, "Expr": expr, "Options": t.options(p),
	})
	if err != nil {
		return "", fmt.Errorf("write the test: %w", err)
	}
	test := filepath.Join(temp, testFile)
	if err := os.WriteFile(test, code.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("write the test: %w", err)
	}
	replace := map[string]string{filepath.Join(t.Dir, testFile): test}
	for _, name := range slices.Concat(t.TestGoFiles, t.XTestGoFiles) {
		replace[filepath.Join(t.Dir, name)] = ""
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	path := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return path, nil
}

// options returns the kit's options as Go.
func (t *target) options(p *plan) []string {
	pkg := p.forPackage
	if pkg == "" {
		pkg = t.ImportPath
	}
	out := []string{fmt.Sprintf("kit.ForPackage(%q)", pkg)}
	for _, skip := range p.skip {
		out = append(out, fmt.Sprintf("kit.OptOut(%q, %q)", skip.what, skip.why))
	}
	for _, allow := range p.allow {
		out = append(out, fmt.Sprintf("kit.AllowImport(%q, %q)", allow.what, allow.why))
	}
	return out
}

// goCommand is a call of the go command, which ends with ctx.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the host's own packages and flags
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
