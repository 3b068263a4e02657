package queries_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGatesAgree: the statements that let a caller in on their own ask all that GateRead is read
// for. SQL has no way to share the text, so a condition added to one must be added to all.
func TestGatesAgree(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("sql/onetrip.sql")
	require.NoError(t, err)
	plain := func(s string) string {
		s = regexp.MustCompile(`--[^\n]*`).ReplaceAllString(s, "")
		// What is hidden in a sub-select is the same, and is planned once.
		s = regexp.MustCompile(`\(SELECT ((?:sqlc\.narg\('key_id'\)|@policies|@namespaces)::[a-z]+(?:\[\])?)\)(?:::text\[\])?`).ReplaceAllString(s, "$1")
		// Each names the time of the call and the tenant in its own way.
		s = strings.NewReplacer("@ts::timestamptz", "TS", "a.ts", "TS", "p.tenant = t.tenant", "p.tenant = TENANT", "p.tenant = @tenant", "p.tenant = TENANT").Replace(s)
		return strings.Join(strings.Fields(s), " ")
	}
	key := regexp.MustCompile(`t\.suspended_at IS NULL AND \(sqlc\.narg\('key_id'\).*?k\.revoked_at > TS\)\)\)`)
	joined := regexp.MustCompile(`LEFT JOIN memkernel\.api_keys AS k ON k\.tenant = t\.tenant AND k\.id = sqlc\.narg\('key_id'\)::uuid\b`)
	policies := regexp.MustCompile(`@policies::jsonb = coalesce\(.*?'\[\]'\)::jsonb`)
	statements := strings.Split(string(text), "-- name: ")[1:]
	require.Len(t, statements, 5)
	var keys, rules []string
	for _, s := range statements {
		name, _, _ := strings.Cut(s, " ")
		keys, rules = append(keys, key.FindString(plain(s))), append(rules, policies.FindString(plain(s)))
		require.Regexp(t, joined, plain(s), name)
		require.NotEmpty(t, keys[len(keys)-1], name)
		require.NotEmpty(t, rules[len(rules)-1], name)
		require.Equal(t, keys[0], keys[len(keys)-1], name)
		require.Equal(t, rules[0], rules[len(rules)-1], name)
	}
	gate, err := os.ReadFile("sql/gate.sql")
	require.NoError(t, err)
	require.Contains(t, plain(string(gate)), strings.TrimPrefix(rules[0], "@policies::jsonb = "))
}
