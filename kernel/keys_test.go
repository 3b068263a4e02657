package kernel_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

var allRoles = []kernel.Role{kernel.RoleAgent, kernel.RoleMember, kernel.RoleAuditor, kernel.RoleAdmin, kernel.RoleOwner}

// TestKeysNobodyHandsOutMoreThanTheyHave covers role, place and trust.
func TestKeysNobodyHandsOutMoreThanTheyHave(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	admin, owner := k.Key("acme/eng", kernel.RoleAdmin), k.Key("acme/eng", kernel.RoleOwner)
	_ = k.Key("umbrella", kernel.RoleOwner)
	create := func(who kernel.Identity, req kernel.KeyRequest) error {
		req.Actor = "user:new"
		cred, err := k.Keys().Create(ctx, who, req)
		if err != nil {
			return err
		}
		id := must(k.Authenticate(ctx, cred.Secret))
		require.True(t, id.Namespace().InSubtree(who.Namespace()))
		return nil
	}
	for _, role := range allRoles {
		require.NoError(t, create(owner, kernel.KeyRequest{Role: role}), role)
		err := create(admin, kernel.KeyRequest{Role: role})
		if role == kernel.RoleOwner {
			require.ErrorIs(t, err, kernel.ErrForbidden)
		} else {
			require.NoError(t, err, role)
		}
	}
	for _, path := range []string{"acme/eng", "acme/eng/db", "acme/eng/db/x"} {
		require.NoError(t, create(owner, kernel.KeyRequest{Role: kernel.RoleAgent, Namespace: kerneltest.Namespace(t, path)}), path)
	}
	for _, path := range []string{"acme", "acme/sales", "acme/engineering", "acme/eng_", "acme/Eng", "umbrella", "umbrella/eng", "eng"} {
		k.RequireAudit(t, "key_create", "denied", func() {
			err := create(owner, kernel.KeyRequest{Role: kernel.RoleAgent, Namespace: kerneltest.Namespace(t, path)})
			require.ErrorIs(t, err, kernel.ErrForbidden, path)
		}, "reason=forbidden")
	}
	cred := must(k.Keys().Create(ctx, owner, kernel.KeyRequest{Actor: "bot", Role: kernel.RoleAdmin, Provenance: "document"}))
	clerk := must(k.Authenticate(ctx, cred.Secret))
	for provenance, ok := range map[kernel.Provenance]bool{
		"manual": false, "document": true, "live-fetch": true, "consolidation": true, "swap-import": true, "conversation": true,
		"": false, // stands for manual
	} {
		err := create(clerk, kernel.KeyRequest{Role: kernel.RoleMember, Provenance: provenance})
		if ok {
			require.NoError(t, err, provenance)
		} else {
			require.ErrorIs(t, err, kernel.ErrForbidden, provenance)
		}
	}
	require.NoError(t, create(clerk, kernel.KeyRequest{Role: kernel.RoleAgent}))
	requireSound(t, k.Pool)
}

// TestKeysElsewhere: what lies outside the caller's subtree is not there to be managed.
func TestKeysElsewhere(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	admin := k.Key("acme/eng", kernel.RoleAdmin)
	elsewhere := []kernel.ID{someID()}
	for _, path := range []string{"acme", "acme/sales", "acme/engineering", "umbrella"} {
		_, cred := k.Credential(path, kernel.RoleAgent)
		elsewhere = append(elsewhere, cred.Key.ID)
	}
	for _, id := range elsewhere {
		k.RequireAudit(t, "key_revoke", "miss", func() {
			require.EqualError(t, second(k.Keys().Revoke(ctx, admin, kernel.RevokeKeyRequest{ID: id})), "key_revoke: not found")
		})
		k.RequireAudit(t, "key_rotate", "miss", func() {
			require.EqualError(t, second(k.Keys().Rotate(ctx, admin, kernel.RotateKeyRequest{ID: id})), "key_rotate: not found")
		})
	}
	_, above := k.Credential("acme/eng/db", kernel.RoleOwner)
	k.RequireAudit(t, "key_revoke", "denied", func() {
		require.ErrorIs(t, second(k.Keys().Revoke(ctx, admin, kernel.RevokeKeyRequest{ID: above.Key.ID})), kernel.ErrForbidden)
	})
	k.RequireAudit(t, "key_rotate", "denied", func() {
		require.ErrorIs(t, second(k.Keys().Rotate(ctx, admin, kernel.RotateKeyRequest{ID: above.Key.ID})), kernel.ErrForbidden)
	})
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.api_keys WHERE revoked_at IS NOT NULL`))
}

// TestKeysList pages through a subtree, ended keys included.
func TestKeysList(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	admin, _ := k.Credential("acme/eng", kernel.RoleAdmin)
	for _, path := range []string{"acme", "acme/engineering", "acme/eng!", "acme/eng/db", "umbrella"} {
		_ = k.Key(path, kernel.RoleAgent)
	}
	sqlExec(t, k.Pool, `INSERT INTO memkernel.api_keys (tenant, id, namespace, actor, agent_id, role, provenance, prefix, secret_hash, created_at, revoked_at)
		SELECT 'acme', gen_random_uuid(), 'acme/eng/' || (n % 7), 'bulk', '', 'agent', 'conversation', n::text, sha256(n::text::bytea), now(),
			CASE WHEN n % 2 = 0 THEN now() END FROM generate_series(1, 1200) AS n`)
	list := func(ns string) []string {
		var req kernel.ListKeysRequest
		if ns != "" {
			req.Namespace = kerneltest.Namespace(t, ns)
		}
		var got []string
		for key, err := range k.Keys().List(ctx, admin, req) {
			require.NoError(t, err)
			got = append(got, key.Namespace.String()+" "+key.ID.String())
		}
		require.True(t, slices.IsSorted(got))
		require.Len(t, slices.Compact(slices.Clone(got)), len(got))
		return got
	}
	require.Len(t, list(""), 1202)
	require.Equal(t, list(""), list("acme/eng"))
	require.Len(t, list("acme/eng/db"), 1)
	for _, elsewhere := range []string{"acme", "acme/engineering", "umbrella"} {
		require.Empty(t, list(elsewhere))
	}
	k.RequireAudit(t, "key_list", "ok", func() {
		for _, err := range k.Keys().List(ctx, admin, kernel.ListKeysRequest{}) {
			require.NoError(t, err)
			break // one call, however much of it is read
		}
	})
}

// TestKeysRotate replaces a key's secret, at once or with an overlap.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	admin := k.Key("acme", kernel.RoleAdmin)
	old := must(k.Keys().Create(ctx, admin, kernel.KeyRequest{
		Namespace: kerneltest.Namespace(t, "acme/eng"), Actor: "user:dana", Role: kernel.RoleMember, AgentID: "cli", Provenance: "document",
		Label: "laptop", ExpiresAt: k.Clock.Now().Add(24 * time.Hour),
	}))
	kept := must(k.Authenticate(ctx, old.Secret))
	fresh := must(k.Keys().Rotate(ctx, admin, kernel.RotateKeyRequest{ID: old.Key.ID}))
	require.NotEqual(t, old.Secret, fresh.Secret)
	require.NotEqual(t, old.Key.ID, fresh.Key.ID)
	want := old.Key
	want.ID, want.Prefix, want.RotatedFrom = fresh.Key.ID, fresh.Key.Prefix, old.Key.ID
	require.Equal(t, want, fresh.Key)
	require.ErrorIs(t, second(k.Authenticate(ctx, old.Secret)), kernel.ErrUnauthenticated)
	require.ErrorIs(t, second(k.Stats(ctx, kept, kernel.StatsRequest{})), kernel.ErrUnauthenticated)
	must(k.Authenticate(ctx, fresh.Secret))
	k.RequireAudit(t, "key_rotate", "error", func() {
		require.ErrorIs(t, second(k.Keys().Rotate(ctx, admin, kernel.RotateKeyRequest{ID: old.Key.ID})), kernel.ErrConflict)
	}, "reason=conflict")

	next := must(k.Keys().Rotate(ctx, admin, kernel.RotateKeyRequest{ID: fresh.Key.ID, Overlap: time.Hour}))
	overlapping := must(k.Authenticate(ctx, fresh.Secret))
	must(k.Authenticate(ctx, next.Secret))
	k.Clock.Advance(time.Hour - time.Microsecond)
	must(k.Stats(ctx, overlapping, kernel.StatsRequest{}))
	k.Clock.Advance(time.Microsecond)
	require.ErrorIs(t, second(k.Stats(ctx, overlapping, kernel.StatsRequest{})), kernel.ErrUnauthenticated)
	require.ErrorIs(t, second(k.Authenticate(ctx, fresh.Secret)), kernel.ErrUnauthenticated)
	must(k.Authenticate(ctx, next.Secret))

	// Within an overlap the old secret can still be ended at once.
	last := must(k.Keys().Rotate(ctx, admin, kernel.RotateKeyRequest{ID: next.Key.ID, Overlap: time.Hour}))
	revoked := must(k.Keys().Revoke(ctx, admin, kernel.RevokeKeyRequest{ID: next.Key.ID}))
	require.True(t, revoked.RevokedAt.Equal(k.Clock.Now()))
	require.ErrorIs(t, second(k.Authenticate(ctx, next.Secret)), kernel.ErrUnauthenticated)
	k.Clock.Advance(time.Minute)
	again := must(k.Keys().Revoke(ctx, admin, kernel.RevokeKeyRequest{ID: next.Key.ID}))
	require.True(t, again.RevokedAt.Equal(revoked.RevokedAt), "a repeat call changes nothing")
	k.Clock.Advance(24 * time.Hour)
	require.ErrorIs(t, second(k.Authenticate(ctx, last.Secret)), kernel.ErrUnauthenticated, "rotation does not prolong")
	requireSound(t, k.Pool)
}

func TestKeysRotateRace(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			k := openPool(t, size)
			const n = 16
			admin := k.Key("acme", kernel.RoleAdmin)
			_, cred := k.Credential("acme/eng", kernel.RoleMember)
			var errs [n]error
			together(n, func(i int) {
				_, errs[i] = k.Keys().Rotate(t.Context(), admin, kernel.RotateKeyRequest{ID: cred.Key.ID})
			})
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else {
					require.ErrorIs(t, err, kernel.ErrConflict)
				}
			}
			require.Equal(t, 1, won)
			require.Equal(t, map[kernel.AuditResult]int{"ok": 1, "error": n - 1}, auditRows(k, "key_rotate"))
			requireSound(t, k.Pool)
		})
	}
}

// TestKeysSecretIsNotKept: the secret is in the reply and nowhere else, also not in what is
// printed or logged by accident.
func TestKeysSecretIsNotKept(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	k := kerneltest.Open(t, kernel.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	ctx := t.Context()
	boot := must(k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: "acme", Actor: "user:root"}))
	owner := must(k.Authenticate(ctx, boot.Secret))
	made := must(k.Keys().Create(ctx, owner, kernel.KeyRequest{Actor: "user:dana", Role: kernel.RoleMember}))
	turned := must(k.Keys().Rotate(ctx, owner, kernel.RotateKeyRequest{ID: made.Key.ID}))
	require.Error(t, second(k.Authenticate(ctx, made.Secret)), "refused, and recorded")
	must(k.Write(ctx, owner, kernel.WriteRequest{Text: "Nothing secret."}))
	for _, cred := range []*kernel.Credential{boot, made, turned} {
		_, secret, ok := strings.Cut(strings.TrimPrefix(cred.Secret, "mk_"), "_")
		require.True(t, ok)
		require.GreaterOrEqual(t, len(secret), 43, "256 bits")
		requireNowhere(t, k, secret)
		requireNowhere(t, k, cred.Secret)
		require.Equal(t, []string{"memkernel.api_keys"}, tablesWith(t, k, cred.Key.Prefix), "the scan finds what is there")
		slog.New(slog.NewTextHandler(&log, nil)).InfoContext(ctx, "made", slog.Any("credential", cred), slog.Any("key", cred.Key))
		for _, printed := range []string{
			fmt.Sprint(cred), fmt.Sprintf("%v %+v %#v %s %q", cred, cred, cred, cred, cred), fmt.Sprintf("%+v", cred.Key), log.String(),
		} {
			require.NotContains(t, printed, secret)
		}
	}
}
