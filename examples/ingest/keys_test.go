package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestKeys runs three times on one file of keys: the same input, and then more of it.
func TestKeys(t *testing.T) {
	t.Parallel()
	k := open(t)
	keys := filepath.Join(t.TempDir(), "keys.json")
	lines := []string{"[2026-03-01 10:00] Ana: The lock opens at six.", "[2026-03-01 10:01] Ben: Paddles hang in the shed."}
	path := file(t, "chat.txt", lines...)
	first := ingested(t, k, "-chat", path, "-keys", keys)
	require.Equal(t, map[string]int{"stored": 2}, counts(first.Summary))
	info, err := os.Stat(keys)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	second := ingested(t, k, "-chat", path, "-keys", keys)
	require.Equal(t, first.Tenant, second.Tenant)
	require.Equal(t, map[string]int{"replayed": 2}, counts(second.Summary))
	require.Empty(t, second.Searches, "it stored nothing to search for")

	require.NoError(t, os.WriteFile(path, []byte(lines[0]+"\n"+lines[1]+"\n[2026-03-01 10:02 corrects 2026-03-01 10:00] Ana: The lock opens at seven."), 0o600))
	third := ingested(t, k, "-chat", path, "-keys", keys, "-secrets", "redact", "-once")
	require.Equal(t, map[string]int{"replayed": 2, "stored": 1, "superseded": 1}, counts(third.Summary))
	require.Nil(t, third.Again)

	puts := 0
	for _, e := range k.Audit() {
		if e.Op == "policy_put" {
			puts++
		}
	}
	require.Equal(t, 2, puts, "a policy is put when there is something to change")
	left, err := os.ReadDir(filepath.Dir(keys))
	require.NoError(t, err)
	require.Len(t, left, 1, "no half-written file is left")
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	k := open(t)
	for name, tt := range map[string]struct{ text, want string }{
		"not JSON":      {"mk_secret", "is no file of keys"},
		"something":     {`{"name":"a package"}`, "is no file of keys"},
		"nothing":       {"", "is no file of keys"},
		"no such owner": {`{"owner":"mk_secret"}`, "unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := file(t, "keys.json", tt.text)
			_, err := try(t, t.Context(), k, "-keys", path)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "mk_secret")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.text, string(text), "it is left alone")
		})
	}
	t.Run("no such directory", func(t *testing.T) {
		t.Parallel()
		k := open(t)
		_, err := try(t, t.Context(), k, "-keys", filepath.Join(t.TempDir(), "a", "keys.json"))
		require.ErrorIs(t, err, os.ErrNotExist)
		require.Empty(t, k.Audit(), "no tenant is made whose key would be lost")
	})
	t.Run("a key that has ended", func(t *testing.T) {
		t.Parallel()
		keys := filepath.Join(t.TempDir(), "keys.json")
		ingested(t, k, "-keys", keys, "-once")
		r := &keyring{path: keys}
		require.NoError(t, r.load())
		owner, err := k.Authenticate(t.Context(), r.kept.Owner)
		require.NoError(t, err)
		_, err = k.Keys().Revoke(t.Context(), owner, kernel.RevokeKeyRequest{ID: keyID(t, k.Kernel, r)})
		require.NoError(t, err)
		_, err = try(t, t.Context(), k, "-keys", keys)
		require.ErrorIs(t, err, kernel.ErrUnauthenticated)
	})
}

// keyID returns the key that writes chats.
func keyID(t *testing.T, k *kernel.Kernel, r *keyring) kernel.ID {
	t.Helper()
	for name, secret := range r.kept.Others {
		who, err := k.Authenticate(t.Context(), secret)
		require.NoError(t, err, name)
		if who.Actor() == "agent:chat" {
			id, err := mem.ParseID(who.KeyID())
			require.NoError(t, err)
			return id
		}
	}
	require.Fail(t, "there is no key")
	return kernel.ID{}
}
