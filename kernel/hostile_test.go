package kernel_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// hostile is texts that end strings, forge fields, break encodings or turn lines around.
var hostile = []string{
	"\x00", "a\x00b", "\xff\xfe", "a\x80b", "a\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xed\xa0\xbd\xed\xb8\x80", "\xf4\x90\x80\x80",
	"a\nop=forged result=ok driver=x", "a\r\ndriver=x", "driver=x returned=99", `" driver=x`, `a" driver="x`, `\" driver=x`, `\`,
	"`driver=x`", `'; DROP TABLE memkernel.audit_log; --`, "$1", "%s%n%!d(MISSING)", `{"a",NULL}`, `{"Text":"x"}`, "NULL", "-", "=",
	"\ufeffa", "\u202edriver\u202c\u2066x\u2069", "\x01\x1b[2J\x7f\u0085", "a\u2028driver=x\u2029", "\uffff\U0010ffff", "\ufffd",
	"cafe\u0301", "a" + strings.Repeat("\u0301", 100), "👩‍👩‍👧", " \t\u00a0", "", "../..", "/", "a/b",
	strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("é", 600), strings.Repeat("é\x00", 9000),
}

// detailKeys lists the keys that the detail of an operation's audit rows may have.
var detailKeys = map[kernel.Op]string{
	"write":          "stored rejected superseded deduplicated replay brownout reason",
	"search":         "returned tokens driver driver_fallback fallback_reason brownout reason",
	"retract":        "retracted reason",
	"audit_search":   "target reason",
	"key_create":     "key role target holder reason",
	"policy_put":     "target version reason",
	"bootstrap":      "key holder reason",
	"tenant_suspend": "reason",
	"tenant_resume":  "reason",
	"authenticate":   "reason suppressed",
}

// readDetail reads a detail by the letter of its format and fails on anything else.
func readDetail(t *testing.T, op kernel.Op, detail string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for rest := detail; rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		require.True(t, ok, "%s: %q", op, detail)
		require.Contains(t, strings.Fields(detailKeys[op]), key, "%s: %q", op, detail)
		require.NotContains(t, out, key, "%s: %q", op, detail)
		value, _, _ := strings.Cut(after, " ")
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			require.NoError(t, err, "%s: %q", op, detail)
			value, err = strconv.Unquote(quoted)
			require.NoError(t, err, "%s: %q", op, detail)
			after = after[len(quoted):]
		} else {
			require.NotContains(t, value, `"`, "%s: %q", op, detail)
			after = after[len(value):]
		}
		out[key] = value
		rest, ok = strings.CutPrefix(after, " ")
		require.True(t, ok || after == "", "%s: %q", op, detail)
	}
	return out
}

// fieldOf returns the field that an error of a syscall names.
func fieldOf(err error) string {
	var invalid *kernel.InvalidError
	var large *kernel.TooLargeError
	switch {
	case errors.As(err, &invalid):
		return invalid.Field
	case errors.As(err, &large):
		return large.Field
	default:
		return ""
	}
}

// No text in any field breaks a call, a row or the detail of a row: it is taken as it is, or
// refused by an error that names the field.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	fields := hostileFields(k, k.Key("acme", kernel.RoleOwner))
	seen := len(k.Audit())
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		for _, value := range hostile {
			got, err := f.send(t.Context(), value)
			if want := f.accepts(value); want != nil {
				require.ErrorIs(t, err, want, "%s: %.40q", name, value)
				require.Equal(t, f.name, fieldOf(err), "%s: %.40q", name, value)
				continue
			}
			require.NoError(t, err, "%s: %.40q", name, value)
			require.Equal(t, value, got, "%s is kept as it is", name)
		}
		rows := k.Audit()[seen:]
		seen += len(rows)
		requireRows(t, name, &f, rows)
	}
}

// requireRows fails unless the rows are those of one call with each of the texts, with
// nothing in their details but what belongs there.
func requireRows(t *testing.T, name string, f *field, rows []kernel.AuditEvent) {
	t.Helper()
	left := hostile
	for _, row := range rows {
		require.True(t, utf8.ValidString(row.Purpose))
		detail := readDetail(t, row.Op, row.Detail)
		if row.Op != f.op {
			continue // a call that had to come first
		}
		require.NotEmpty(t, left, "%s: more rows than calls", name)
		value := left[0]
		left = left[1:]
		refused := f.accepts(value) != nil
		require.Equal(t, refused, row.Result == "error", "%s: %.40q: %s", name, value, row.Detail)
		if !refused && f.detail != "" {
			require.Equal(t, value, detail[f.detail], name)
		}
	}
	require.Empty(t, left, "%s: fewer rows than calls", name)
}

// What a query leaves in the audit log is its beginning, made fit to be stored.
func TestHostileQueriesAsPurpose(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme", kernel.RoleMember)
	for _, value := range append(hostile, strings.Repeat("日\xff", 10_000)) {
		if strings.TrimSpace(value) == "" {
			continue
		}
		row := k.RequireAudit(t, "search", "miss", func() {
			_, err := k.Search(t.Context(), who, kernel.SearchRequest{Query: value})
			require.NoError(t, err)
		}, "returned=0", "driver=fusion")
		require.Equal(t, audit.Purpose(mem.CleanQuery(value)), row.Purpose)
		require.LessOrEqual(t, utf8.RuneCountInString(row.Purpose), audit.MaxPurpose)
		row = k.RequireAudit(t, "search", "miss", func() {
			_, err := k.Search(t.Context(), who, kernel.SearchRequest{Query: value, Sensitive: true})
			require.NoError(t, err)
		})
		require.Empty(t, row.Purpose)
	}
}
