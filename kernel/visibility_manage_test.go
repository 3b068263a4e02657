package kernel_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		require.NoError(t, err)
		out = append(out, v)
	}
	return out
}

// What an invisible namespace holds and does changes no number of Stats.
func TestVisibilityOfStats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	for _, caller := range callers {
		visible := int64(0)
		for _, path := range w.paths {
			if sees(caller, path) {
				visible++
			}
		}
		calls := int64(0)
		for _, e := range w.Audit() {
			if e.Namespace == caller {
				calls++
			}
		}
		got, err := w.Stats(ctx, w.members[caller], kernel.StatsRequest{})
		require.NoError(t, err)
		require.Equal(t, visible, got.Live, "live rows that %q counts", caller)
		require.Equal(t, visible, got.Superseded, "ended rows that %q counts", caller)
		require.Zero(t, got.Retracted+got.Expired)
		require.Equal(t, map[kernel.Kind]kernel.KindStats{
			"goal": {Live: visible, LiveTokens: got.LiveTokens}, "fact": {Superseded: visible},
		}, got.ByKind)
		require.Equal(t, kernel.AuditStats{Total: calls}, got.Audit, "audit rows that %q counts", caller)
	}
	const caller = "acme/eng/platform"
	before, err := w.Stats(ctx, w.members[caller], kernel.StatsRequest{})
	require.NoError(t, err)
	for _, path := range w.paths {
		if sees(caller, path) {
			continue
		}
		for _, text := range []string{"Another fact.", "And a third."} {
			rep, err := w.Write(ctx, w.members[path], kernel.WriteRequest{Text: text})
			require.NoError(t, err)
			_, err = w.Retract(ctx, w.members[path], kernel.RetractRequest{ID: rep.Stored[0]})
			require.NoError(t, err)
		}
		_, err := w.Read(ctx, w.members[path], kernel.ReadRequest{})
		require.ErrorIs(t, err, kernel.ErrNotFound)
	}
	after, err := w.Stats(ctx, w.members[caller], kernel.StatsRequest{})
	require.NoError(t, err)
	before.Audit.Total++ // the first count itself
	require.Equal(t, before, after)
}

// AuditSearch reaches the caller's subtree, and narrowing it to a namespace elsewhere finds
// nothing.
func TestVisibilityOfAuditSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	for i, caller := range callers {
		role := []kernel.Role{kernel.RoleAuditor, kernel.RoleAdmin, kernel.RoleOwner}[i%3]
		who := w.Key(caller, role)
		for _, asked := range append([]string{""}, w.paths...) {
			req := kernel.AuditSearchRequest{}
			root := caller
			if asked != "" {
				req.Namespace = kerneltest.Namespace(t, asked)
				root = asked
			}
			var want []int64
			for _, e := range w.Audit() {
				if inSubtree(root, caller) && inSubtree(e.Namespace, root) {
					want = append(want, e.Seq)
				}
			}
			var got []int64
			for _, e := range collect(t, w.AuditSearch(t.Context(), who, req)) {
				require.True(t, inSubtree(e.Namespace, caller), "%q finds a row of %q", caller, e.Namespace)
				got = append(got, e.Seq)
			}
			slices.Sort(got)
			require.Equal(t, want, got, "%q asks for %q", caller, asked)
		}
	}
}

// Keys are managed in the caller's subtree: listed, made, ended and replaced there and
// nowhere else.
func TestVisibilityOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	target := map[string]kernel.Key{}
	secret := map[string]string{}
	for _, path := range w.paths {
		_, cred := w.Credential(path, kernel.RoleAgent)
		target[path], secret[path] = cred.Key, cred.Secret
	}
	for i, caller := range callers {
		who := w.Key(caller, []kernel.Role{kernel.RoleAdmin, kernel.RoleOwner}[i%2])
		for _, path := range w.paths {
			ns := kerneltest.Namespace(t, path)
			inside := inSubtree(path, caller)
			listed := map[string]bool{}
			for _, key := range collect(t, w.Keys().List(ctx, who, kernel.ListKeysRequest{Namespace: ns})) {
				require.True(t, inSubtree(key.Namespace.String(), caller), "%q lists a key of %q", caller, key.Namespace)
				require.True(t, inSubtree(key.Namespace.String(), path))
				listed[key.ID.String()] = true
			}
			require.Equal(t, inside, listed[target[path].ID.String()], "%q lists %q", caller, path)

			_, errCreate := w.Keys().Create(ctx, who, kernel.KeyRequest{Namespace: ns, Actor: "user:x", Role: kernel.RoleAgent})
			_, errPut := w.Policies().Put(ctx, who, kernel.PutPolicyRequest{Namespace: ns})
			if inside {
				require.NoError(t, errCreate)
				require.NoError(t, errPut)
				continue
			}
			require.ErrorIs(t, errCreate, kernel.ErrForbidden, "%q makes a key for %q", caller, path)
			require.ErrorIs(t, errPut, kernel.ErrForbidden, "%q rules %q", caller, path)
			_, err := w.Keys().Revoke(ctx, who, kernel.RevokeKeyRequest{ID: target[path].ID})
			require.ErrorIs(t, err, kernel.ErrNotFound, "%q revokes a key of %q", caller, path)
			_, err = w.Keys().Rotate(ctx, who, kernel.RotateKeyRequest{ID: target[path].ID})
			require.ErrorIs(t, err, kernel.ErrNotFound, "%q rotates a key of %q", caller, path)
		}
		for _, key := range collect(t, w.Keys().List(ctx, who, kernel.ListKeysRequest{})) {
			require.True(t, inSubtree(key.Namespace.String(), caller))
		}
	}
	for _, path := range w.paths {
		_, err := w.Authenticate(ctx, secret[path])
		require.NoError(t, err, "the key of %q still works", path)
		owner := w.Key(kerneltest.Namespace(t, path).Tenant(), kernel.RoleOwner)
		cred, err := w.Keys().Rotate(ctx, owner, kernel.RotateKeyRequest{ID: target[path].ID})
		require.NoError(t, err, "until an owner above it rotates it")
		_, err = w.Keys().Revoke(ctx, owner, kernel.RevokeKeyRequest{ID: cred.Key.ID})
		require.NoError(t, err)
		for _, ended := range []string{secret[path], cred.Secret} {
			_, err = w.Authenticate(ctx, ended)
			require.ErrorIs(t, err, kernel.ErrUnauthenticated, path)
		}
	}
}

// A policy is seen from the namespaces it rules and from those who may change it.
func TestVisibilityOfPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	for i, path := range w.paths {
		owner := w.Key(kerneltest.Namespace(t, path).Tenant(), kernel.RoleOwner)
		_, err := w.Policies().Put(ctx, owner, kernel.PutPolicyRequest{
			Namespace: kerneltest.Namespace(t, path), Policy: kernel.Policy{Write: kernel.WritePolicy{MaxBytes: 1000 + i}},
		})
		require.NoError(t, err)
	}
	for _, caller := range callers {
		for role, manages := range map[kernel.Role]bool{kernel.RoleMember: false, kernel.RoleAuditor: false, kernel.RoleAdmin: true} {
			who := w.Key(caller, role)
			for i, path := range w.paths {
				got, err := w.Policies().Get(ctx, who, kernel.GetPolicyRequest{Namespace: kerneltest.Namespace(t, path)})
				if !sees(caller, path) && (!manages || !inSubtree(path, caller)) {
					require.ErrorIs(t, err, kernel.ErrNotFound, "%s of %q gets the policy of %q", role, caller, path)
					continue
				}
				require.NoError(t, err, "%s of %q gets the policy of %q", role, caller, path)
				require.Equal(t, 1000+i, got.Policy.Write.MaxBytes)
			}
		}
	}
}

// A policy rules its own subtree and no look-alike of it.
func TestPolicyRulesItsSubtreeOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	for _, ruled := range []string{"acme/eng", "acme/100%", "acme/eng_", `acme\`, "acmecorp"} {
		owner := w.Key(kerneltest.Namespace(t, ruled).Tenant(), kernel.RoleOwner)
		put := func(p kernel.Policy) {
			_, err := w.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Namespace: kerneltest.Namespace(t, ruled), Policy: p})
			require.NoError(t, err)
		}
		put(kernel.Policy{Write: kernel.WritePolicy{Denied: true}})
		for _, path := range w.paths {
			_, err := w.Write(ctx, w.members[path], kernel.WriteRequest{Text: currentText})
			if inSubtree(path, ruled) {
				require.ErrorIs(t, err, kernel.ErrForbidden, "%q rules %q", ruled, path)
			} else {
				require.NoError(t, err, "%q does not rule %q", ruled, path)
			}
		}
		put(kernel.Policy{})
	}
}
