package kernel_test

import (
	"context"
	"encoding/base64"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/model"
)

// brokenModel answers wrongly in one of many ways.
type brokenModel struct {
	info  model.Info
	embed func(texts []string) ([][]float32, error)
}

func (m *brokenModel) Info() model.Info { return m.info }

func (m *brokenModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return m.embed(texts)
}

// TestBrokenModel: whatever is wrong with the model, memories are stored and found by words,
// and both replies and both audit rows say what was missing.
func TestBrokenModel(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, embed := range map[string]func([]string) ([][]float32, error){
		"an error":                func([]string) ([][]float32, error) { return nil, kerneltest.ErrFake },
		"a panic":                 func([]string) ([][]float32, error) { panic("no memory text here") },
		"no vector":               func([]string) ([][]float32, error) { return nil, nil },
		"an empty vector":         func([]string) ([][]float32, error) { return [][]float32{{}}, nil },
		"too few components":      func([]string) ([][]float32, error) { return [][]float32{{1, 0}}, nil },
		"too many components":     func([]string) ([][]float32, error) { return [][]float32{{1, 0, 0, 0}}, nil },
		"too many vectors":        func([]string) ([][]float32, error) { return [][]float32{{1, 0, 0}, {0, 1, 0}}, nil },
		"not a number":            func([]string) ([][]float32, error) { return [][]float32{{1, nan, 0}}, nil },
		"an infinite component":   func([]string) ([][]float32, error) { return [][]float32{{1, inf, 0}}, nil },
		"a vector and an error":   func([]string) ([][]float32, error) { return [][]float32{{1, 0, 0}}, kerneltest.ErrFake },
		"a context error not its": func([]string) ([][]float32, error) { return nil, context.Canceled },
	} {
		for _, inProcess := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := &brokenModel{info: model.Info{Name: "broken", Revision: "1", Dim: 3, InProcess: inProcess}, embed: embed}
				k := kerneltest.Open(t, kernel.WithEmbedder(m))
				requireDegraded(t, k, k.Key("acme/eng", kernel.RoleMember))
			})
		}
	}
}

func requireDegraded(t *testing.T, k *kerneltest.Kit, who kernel.Identity) {
	t.Helper()
	down := []kernel.Brownout{kernel.BrownoutEmbedder}
	k.RequireAudit(t, "write", "ok", func() {
		r, err := k.Write(t.Context(), who, kernel.WriteRequest{Text: "The build runs on Mondays."})
		require.NoError(t, err)
		require.Len(t, r.Stored, 1)
		require.Equal(t, down, r.Degraded)
	}, "stored=1", "brownout=embedder_unavailable")
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*) FROM memkernel.memory_vectors`))
	search := func(query string) *kernel.SearchReply {
		r, err := k.Search(t.Context(), who, kernel.SearchRequest{Query: query})
		require.NoError(t, err)
		require.Equal(t, "bm25-degraded", r.Driver)
		require.Equal(t, down, r.Degraded)
		require.Equal(t, kernel.ArmDown, r.Vector.State)
		require.Equal(t, kernel.ArmOK, r.Lexical.State)
		require.Empty(t, r.Fallbacks)
		return r
	}
	k.RequireAudit(t, "search", "ok", func() {
		r := search("when does the build run?")
		require.Len(t, r.Items, 1)
		require.Equal(t, "The build runs on Mondays.", r.Items[0].Memory.Text)
	}, "returned=1", "driver=bm25-degraded", "brownout=embedder_unavailable")
	// Nothing found is not the same as nothing there, and says so.
	k.RequireAudit(t, "search", "miss", func() {
		require.Empty(t, search("xylophone").Items)
	}, "returned=0", "driver=bm25-degraded", "brownout=embedder_unavailable")
	requireSound(t, k.Pool)
}

// TestModelComesBack: what was stored without a vector is still found beside what has one.
func TestModelComesBack(t *testing.T) {
	t.Parallel()
	m := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(m))
	dana := k.Key("acme/eng", kernel.RoleMember)
	m.Fail(kerneltest.ErrFake)
	_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The build runs on Mondays."})
	require.NoError(t, err)
	m.Fail(nil)
	_, err = k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The build takes an hour."})
	require.NoError(t, err)
	r, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "build"})
	require.NoError(t, err)
	require.Len(t, r.Items, 2)
	require.Equal(t, "fusion", r.Driver)
	require.Empty(t, r.Degraded)
	require.Equal(t, kernel.Arm{State: kernel.ArmOK, Rows: 1}, r.Vector)
}

// everyCall is all that a caller can ask for, each with what it takes on a database that holds
// the memory given.
func everyCall(k *kerneltest.Kit, who kernel.Identity, id kernel.ID) map[kernel.Op]func(context.Context) error {
	return map[kernel.Op]func(context.Context) error{
		"read": func(ctx context.Context) error {
			_, err := k.Read(ctx, who, kernel.ReadRequest{ID: id})
			return err
		},
		"search": func(ctx context.Context) error {
			_, err := k.Search(ctx, who, kernel.SearchRequest{Query: "build"})
			return err
		},
		"write": func(ctx context.Context) error {
			_, err := k.Write(ctx, who, kernel.WriteRequest{Text: "The build is broken."})
			return err
		},
		"write_async": func(ctx context.Context) error {
			_, err := k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The build is broken."})
			return err
		},
		"ticket": func(ctx context.Context) error {
			_, err := k.Ticket(ctx, who, kernel.TicketRequest{ID: id})
			return err
		},
		"wait_visible": func(ctx context.Context) error {
			_, err := k.WaitVisible(ctx, who, kernel.WaitVisibleRequest{Token: base64.RawURLEncoding.EncodeToString(id[:])})
			return err
		},
		"retract": func(ctx context.Context) error {
			_, err := k.Retract(ctx, who, kernel.RetractRequest{ID: id})
			return err
		},
		"history": func(ctx context.Context) error {
			_, err := k.History(ctx, who, kernel.HistoryRequest{ID: id})
			return err
		},
		"stats": func(ctx context.Context) error {
			_, err := k.Stats(ctx, who, kernel.StatsRequest{})
			return err
		},
		"audit_search": func(ctx context.Context) error {
			return firstError(k.AuditSearch(ctx, who, kernel.AuditSearchRequest{}))
		},
		"key_create": func(ctx context.Context) error {
			_, err := k.Keys().Create(ctx, who, kernel.KeyRequest{Actor: "user:x", Role: kernel.RoleAgent})
			return err
		},
		"key_revoke": func(ctx context.Context) error {
			_, err := k.Keys().Revoke(ctx, who, kernel.RevokeKeyRequest{ID: id})
			return err
		},
		"key_rotate": func(ctx context.Context) error {
			_, err := k.Keys().Rotate(ctx, who, kernel.RotateKeyRequest{ID: id})
			return err
		},
		"key_list": func(ctx context.Context) error {
			return firstError(k.Keys().List(ctx, who, kernel.ListKeysRequest{}))
		},
		"entity_list": func(ctx context.Context) error {
			return firstError(k.Entities().List(ctx, who, kernel.ListEntitiesRequest{}))
		},
		"entity_get": func(ctx context.Context) error {
			_, err := k.Entities().Get(ctx, who, kernel.GetEntityRequest{ID: id})
			return err
		},
		"entity_merge": func(ctx context.Context) error {
			_, err := k.Entities().Merge(ctx, who, kernel.MergeEntitiesRequest{ID: id, Into: kernel.ID{1}})
			return err
		},
		"entity_split": func(ctx context.Context) error {
			_, err := k.Entities().Split(ctx, who, kernel.SplitEntityRequest{ID: id})
			return err
		},
		"conflict_list": func(ctx context.Context) error {
			_, err := k.Conflicts().List(ctx, who, kernel.ConflictListRequest{})
			return err
		},
		"conflict_resolve": func(ctx context.Context) error {
			_, err := k.Conflicts().Resolve(ctx, who, kernel.ConflictResolveRequest{From: id, To: kernel.ID{1}, State: kernel.ConflictCoexist})
			return err
		},
		"policy_put": func(ctx context.Context) error {
			_, err := k.Policies().Put(ctx, who, kernel.PutPolicyRequest{})
			return err
		},
		"policy_get": func(ctx context.Context) error {
			_, err := k.Policies().Get(ctx, who, kernel.GetPolicyRequest{})
			return err
		},
	}
}

// firstError consumes a sequence up to its first error.
func firstError[T any](seq func(func(T, error) bool)) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestDatabaseDown: no call takes an outage for an empty answer, whenever it begins.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	whole := kerneltest.Open(t)
	wire, pool := pgtest.OpenWire(t, whole.Pool)
	k := kerneltest.OpenOn(t, pool)
	owner, cred := whole.Credential("acme/eng", kernel.RoleOwner)
	w, err := k.Write(t.Context(), owner, kernel.WriteRequest{Text: "The build runs on Mondays."})
	require.NoError(t, err)
	before := len(whole.Audit())
	wire.SetDown(true)
	for op, call := range everyCall(k, owner, w.Stored[0]) {
		err := call(t.Context())
		require.ErrorIs(t, err, kernel.ErrUnavailable, op)
		var opErr *kernel.OpError
		require.ErrorAs(t, err, &opErr, op)
		require.Equal(t, op, opErr.Op)
	}
	_, err = k.Authenticate(t.Context(), cred.Secret)
	require.ErrorIs(t, err, kernel.ErrUnavailable)
	_, err = k.Bootstrap(t.Context(), kernel.BootstrapRequest{Tenant: "other", Actor: "user:x"})
	require.ErrorIs(t, err, kernel.ErrUnavailable)
	require.ErrorIs(t, k.Tenants().Suspend(t.Context(), kernel.TenantRequest{Tenant: "acme"}), kernel.ErrUnavailable)
	require.Error(t, k.Ready(t.Context()))
	require.Len(t, whole.Audit(), before, "nothing can have been recorded")
	wire.SetDown(false)
	r, err := k.Search(t.Context(), owner, kernel.SearchRequest{Query: "build"})
	require.NoError(t, err)
	require.Len(t, r.Items, 1)
	requireSound(t, whole.Pool)
}
