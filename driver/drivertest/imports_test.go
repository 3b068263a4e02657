package drivertest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/driver/drivertest"
	"github.com/memkernel/memkernel/driver/drivertest/testdata/dialer"
)

const testdata = "github.com/memkernel/memkernel/driver/drivertest/testdata/"

// judgeImports runs that group alone.
func judgeImports(t *testing.T, d driver.Driver, opts ...drivertest.Option) drivertest.Result {
	t.Helper()
	for _, group := range drivertest.Groups() {
		if group != drivertest.Imports {
			opts = append(opts, drivertest.OptOut(group, "not of interest here"))
		}
	}
	results := drivertest.Judge(t, func(testing.TB) driver.Driver { return d }, opts...)
	for _, r := range results[1:] {
		require.Equal(t, "not of interest here", r.OptedOut)
		require.False(t, r.Passed())
	}
	return results[0]
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pkg  string
		want []string
	}{
		{testdata + "honest", nil},
		{testdata + "dialer", []string{
			"must not import database/sql: a driver has no database but its view (" + testdata + "dialer -> " + testdata + "dialer/hidden -> database/sql)",
			"must not import net/http: a driver has no network (" + testdata + "dialer -> " + testdata + "dialer/hidden -> net/http)",
		}},
		{testdata + "peeping", []string{
			"must not import C: a driver is pure Go (" + testdata + "peeping -> C)",
			"must not import github.com/jackc/pgx/v5: a driver has no database but its view (" + testdata + "peeping -> github.com/jackc/pgx/v5)",
			"must not import github.com/memkernel/memkernel/kernel: a driver sees the view that it is handed and nothing of what is behind it (" + testdata + "peeping -> github.com/memkernel/memkernel/kernel)",
			"must not import net: a driver has no network (" + testdata + "peeping -> mime/multipart -> net/textproto -> net)",
			"must not import os: a driver has no file system and makes no system calls (" + testdata + "peeping -> os)",
			"must not import os/exec: a driver starts no programs (" + testdata + "peeping -> os/exec)",
			"must not import reflect: a driver does not look behind its view (" + testdata + "peeping -> reflect)",
			"must not import unsafe: a driver does not look behind its view (" + testdata + "peeping -> unsafe)",
			testdata + "peeping has assembly: a driver is plain Go",
			testdata + "peeping has go:linkname: a driver is plain Go",
		}},
	} {
		r := judgeImports(t, baseline.New(), drivertest.ForPackage(tc.pkg))
		require.ElementsMatch(t, tc.want, r.Findings, tc.pkg)
	}
}

func TestImportsAllowed(t *testing.T) {
	t.Parallel()
	allow := []drivertest.Option{
		drivertest.AllowImport("net/http", "the engine is another process"), drivertest.AllowImport("database/sql", "never built"),
	}
	r := judgeImports(t, dialer.New(), allow...)
	require.Empty(t, r.Findings)
	require.Equal(t, []string{"allowed to import database/sql: never built", "allowed to import net/http: the engine is another process"}, r.Notes)
	require.Len(t, judgeImports(t, dialer.New(), allow[0]).Findings, 1)
}

// TestImportsUnknown: what cannot be looked at has not passed.
func TestImportsUnknown(t *testing.T) {
	t.Parallel()
	r := judgeImports(t, silent()) // of this test, which is no package
	require.Len(t, r.Findings, 1)
	require.Contains(t, r.Findings[0], "name the driver's package with ForPackage")
	r = judgeImports(t, baseline.New(), drivertest.ForPackage("example.com/not/there"))
	require.Len(t, r.Findings, 1)
}

// fatal is a test that remembers how it ended.
type fatal struct {
	testing.TB
	message strings.Builder
}

func (f *fatal) Helper() {}

func (f *fatal) Fatalf(format string, args ...any) {
	f.message.WriteString(strings.TrimSpace(format))
	for _, arg := range args {
		if s, ok := arg.(string); ok {
			f.message.WriteString(s)
		}
	}
	panic(f)
}

func TestOptionsMustSayWhy(t *testing.T) {
	t.Parallel()
	for _, opt := range []drivertest.Option{
		drivertest.OptOut(drivertest.Scope, " "), drivertest.OptOut("taste", "none"),
		drivertest.AllowImport("net", ""), drivertest.AllowImport("", "why"), drivertest.ForPackage(""),
	} {
		f := &fatal{TB: t}
		require.Panics(t, func() {
			drivertest.Judge(f, func(testing.TB) driver.Driver { return baseline.New() }, opt)
		})
		require.Regexp(t, `blank|there is no group "taste"`, f.message.String())
	}
}
