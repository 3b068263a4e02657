package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

func TestRawInputNeverChanges(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{}))
	_, err := k.Write(t.Context(), k.Key("acme/eng", kernel.RoleMember), kernel.WriteRequest{Text: "kept as it was said"})
	require.NoError(t, err)
	for _, sql := range []string{
		`UPDATE memkernel.captures SET content = 'something else'`,
		`UPDATE memkernel.captures SET state = 'pending'`,
		`UPDATE memkernel.captures SET result = NULL`,
		`UPDATE memkernel.memory_objects SET end_note = 'not ended'`,
	} {
		_, err := k.Pool.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
}

// Whose a ticket is and what it asks for does not change while it waits.
func TestTicketsNeverChange(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_, err := k.WriteAsync(t.Context(), k.Key("acme/eng", kernel.RoleMember), kernel.WriteRequest{Text: "as it was ordered"})
	require.NoError(t, err)
	for _, set := range []string{
		`content = 'something else'`, `role = 'owner'`, `actor = 'somebody else'`, `provenance = 'conversation'`, `key_id = NULL`,
		`namespace = 'acme'`, `request = '{"kind": "goal"}'`, `request = NULL`, `expires_at = now()`, `state = 'done'`, `state = 'failed'`,
		`role = 'owner', state = 'failed', failure = 'internal'`,
	} {
		_, err := k.Pool.Exec(t.Context(), `UPDATE memkernel.captures SET `+set)
		require.Error(t, err, set)
	}
}

func TestKeysOnlyEnd(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	k.Key("acme/eng", kernel.RoleAgent)
	for _, sql := range []string{
		`UPDATE memkernel.api_keys SET role = 'owner'`,
		`UPDATE memkernel.api_keys SET namespace = tenant`,
		`UPDATE memkernel.api_keys SET expires_at = NULL, actor = 'somebody else'`,
	} {
		_, err := k.Pool.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
	_, err := k.Pool.Exec(t.Context(), `UPDATE memkernel.api_keys SET revoked_at = now()`)
	require.NoError(t, err)
	_, err = k.Pool.Exec(t.Context(), `UPDATE memkernel.api_keys SET revoked_at = NULL`)
	require.Error(t, err, "a revoked key stays revoked")
}
