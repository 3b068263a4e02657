package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's directory, as seen from here.
const root = "../../../.."

// call runs the command and returns its exit code and what it printed.
func call(t *testing.T, dir string, args ...string) (code int, out string) {
	t.Helper()
	var buf bytes.Buffer
	code = command(t.Context(), dir, args, &buf, &buf)
	return code, buf.String()
}

// quick leaves out what takes long.
func quick(args ...string) []string {
	for _, group := range []string{"scope", "determinism", "budget", "resilience"} {
		args = append([]string{"-skip", group + "=takes long"}, args...)
	}
	return args
}

func TestCommand(t *testing.T) {
	t.Parallel()
	code, out := call(t, root, quick("./driver/drivertest/testdata/honest")...)
	require.Equal(t, exitPassed, code, out)
	require.Contains(t, out, "--- PASS: TestDriverConformance/imports")
	require.Contains(t, out, "--- PASS: TestDriverConformance/shape")
	require.Contains(t, out, "opted out of scope: takes long")

	code, out = call(t, root, quick("./driver/drivertest/testdata/dialer")...)
	require.Equal(t, exitFailed, code, out)
	require.Contains(t, out, "--- FAIL: TestDriverConformance/imports")
	require.Contains(t, out, "must not import net/http")
	require.Contains(t, out, "--- PASS: TestDriverConformance/shape")

	code, out = call(t, root, quick("-allow-import", "net/http=asks", "-allow-import", `database/sql=never "built"`, "./driver/drivertest/testdata/dialer")...)
	require.Equal(t, exitPassed, code, out)
	require.Contains(t, out, `allowed to import database/sql: never "built"`)
}

// TestCommandInHostsModule tests a driver in an internal package of a module that requires this one.
func TestCommandInHostsModule(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	const module = "module github.com/memkernel/memkernel\n"
	require.Contains(t, string(mod), module)
	text := strings.Replace(string(mod), module, "module example.com/host\n", 1) +
		"\nrequire github.com/memkernel/memkernel v0.0.0\n\nreplace github.com/memkernel/memkernel => " + here + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	for name, content := range map[string]string{
		"go.mod": text,
		"go.sum": string(sum),
		"internal/engine/engine.go": `package driver // the name of one of the kit's own imports

import (
	"os"

	d "github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/fusion"
)

func Made(trust float64) d.Driver {
	_ = os.Args
	return fusion.New(fusion.Trust(trust))
}
`,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	code, out := call(t, dir, quick("-new", "driver.Made(0.5)", "./internal/engine")...)
	require.Equal(t, exitFailed, code, out)
	require.Contains(t, out, "must not import os: a driver has no file system and makes no system calls (example.com/host/internal/engine -> os)")
	require.Contains(t, out, "--- PASS: TestDriverConformance/shape")

	code, out = call(t, dir, quick("-new", "driver.Made(0.5)", "-allow-import", "os=for its arguments", "./internal/engine")...)
	require.Equal(t, exitPassed, code, out)
	entries, err := os.ReadDir(filepath.Join(dir, "internal/engine"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "something was left beside the driver")
}

func TestCommandUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-h"}, exitPassed, "usage: drivertest"},
		{nil, exitUsage, "0 packages are named, want one"},
		{[]string{"./a", "./b"}, exitUsage, "2 packages are named, want one"},
		{[]string{"-skip", "scope", "./driver/baseline"}, exitUsage, "has no reason"},
		{[]string{"-new", "New(", "./driver/baseline"}, exitUsage, "-new is no Go expression"},
		{[]string{"-bogus", "./driver/baseline"}, exitUsage, "flag provided but not defined"},
		{[]string{"./driver/..."}, exitFailed, "is several packages, want one"},
		{[]string{"./driver/drivertest/cmd/drivertest"}, exitFailed, "is a program"},
		{[]string{"./not/there"}, exitFailed, "find package ./not/there"},
		{[]string{"-new", "baseline.Old()", "./driver/baseline"}, exitFailed, "undefined: baseline.Old"},
		{quick("-skip", "taste=none", "./driver/baseline"), exitFailed, `there is no group "taste"`},
	} {
		code, out := call(t, root, tc.args...)
		require.Equal(t, tc.code, code, out)
		require.Contains(t, out, tc.want)
	}
}
