package kernel_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// readme returns the part of the README below a heading.
func readme(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, part, found := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, found, "the README has no section %q", heading)
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// fenced returns the only fenced block of a language in a part of the README.
func fenced(t *testing.T, part, language string) string {
	t.Helper()
	blocks := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(part, -1)
	require.Len(t, blocks, 1)
	return blocks[0][1]
}

// column returns the names in the first column of a part's table.
func column(part string) []string {
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(part, -1) {
		names = append(names, row[1])
	}
	return names
}

// TestReadmeExample runs the README's example on an empty database, and compares it with
// what it runs.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	code := regexp.MustCompile(`(?ms)^func remember.*?^}\n`).FindString(string(source))
	require.Equal(t, code, fenced(t, readme(t, "In your program"), "go"))

	pool := pgtest.OpenEmpty(t)
	require.NoError(t, remember(t.Context(), pool))
	log := kerneltest.OpenOn(t, pool).Audit()
	require.Equal(t, kernel.Op("search"), log[len(log)-1].Op)
	require.Contains(t, log[len(log)-1].Detail, "returned=1 ")
	require.ErrorIs(t, remember(t.Context(), pool), kernel.ErrConflict)
}

// TestReadmeRights gives a role the rights that the README names and uses the kernel as it.
func TestReadmeRights(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	owner := pgtest.OpenEmpty(t)
	var mayCreate bool
	require.NoError(t, owner.QueryRow(ctx, "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").Scan(&mayCreate))
	if !mayCreate {
		t.Skip("the server's role cannot create roles")
	}
	role := pgx.Identifier{owner.Config().ConnConfig.Database + "_service"}.Sanitize()
	exec := func(ctx context.Context, statement string) {
		_, err := owner.Exec(ctx, statement)
		require.NoError(t, err)
	}
	exec(ctx, "CREATE EXTENSION vector")
	require.NoError(t, kernel.Migrate(ctx, owner))
	exec(ctx, "CREATE ROLE "+role)
	t.Cleanup(func() { exec(context.WithoutCancel(ctx), "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	rights := fenced(t, readme(t, "On a real server"), "sql")
	exec(ctx, strings.ReplaceAll(rights, "memkernel_service", role))

	config := owner.Config()
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET ROLE "+role)
		return err
	}
	service, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(t, err)
	t.Cleanup(service.Close)
	useEverything(t, kerneltest.OpenOn(t, service))
	for _, statement := range []string{
		"UPDATE memkernel.audit_log SET op = 'x'", "DELETE FROM memkernel.audit_log", "DELETE FROM memkernel.memory_objects",
		"ALTER TABLE memkernel.audit_log DISABLE TRIGGER ALL", "DROP SCHEMA memkernel CASCADE",
	} {
		_, err := service.Exec(ctx, statement)
		require.ErrorContains(t, err, "42501", statement) // insufficient privilege
	}
}

// useEverything makes every call that writes to a table of its own.
func useEverything(t *testing.T, k *kerneltest.Kit) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, k.Ready(ctx))
	owner := k.Key("acme", kernel.RoleOwner)
	dana, credential := k.Credential("acme/eng", kernel.RoleMember)
	first, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "The lift is out of order.", IdempotencyKey: "1"})
	require.NoError(t, err)
	second, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "The lift works again.", Supersedes: first.Stored[0]})
	require.NoError(t, err)
	_, err = k.Read(ctx, dana, kernel.ReadRequest{ID: first.Stored[0]})
	require.NoError(t, err)
	_, err = k.Search(ctx, dana, kernel.SearchRequest{Query: "the lift"})
	require.NoError(t, err)
	_, err = k.Retract(ctx, dana, kernel.RetractRequest{ID: second.Stored[0]})
	require.NoError(t, err)
	_, err = k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Sensitive: true}})
	require.NoError(t, err)
	ada, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "Ada Quill and Bo Tern share the lift."})
	require.NoError(t, err)
	require.NotEmpty(t, ada.Stored)
	var ids []kernel.ID
	for e, err := range k.Entities().List(ctx, dana, kernel.ListEntitiesRequest{}) {
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	require.Len(t, ids, 2)
	_, err = k.Entities().Merge(ctx, owner, kernel.MergeEntitiesRequest{ID: ids[0], Into: ids[1]})
	require.NoError(t, err)
	_, err = k.Entities().Split(ctx, owner, kernel.SplitEntityRequest{ID: ids[0]})
	require.NoError(t, err)
	_, err = k.Keys().Rotate(ctx, owner, kernel.RotateKeyRequest{ID: credential.Key.ID})
	require.NoError(t, err)
	order, err := k.WriteAsync(ctx, owner, kernel.WriteRequest{Text: "The stairs are being painted."})
	require.NoError(t, err)
	start(t, k)
	require.Equal(t, kernel.TicketDone, await(t, k.Kernel, owner, order.Token).State)
	require.NoError(t, k.Close(ctx))
	useConflicts(t, k, owner)
	require.NoError(t, k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme"}))
	require.NoError(t, k.Tenants().Resume(ctx, kernel.TenantRequest{Tenant: "acme"}))
}

// useConflicts has a contradiction found and decided, and memories held and released.
func useConflicts(t *testing.T, k *kerneltest.Kit, owner kernel.Identity) {
	t.Helper()
	ctx := t.Context()
	for _, text := range []string{"The lift is safe.", "The lift is not safe."} {
		_, err := k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{HoldForReview: true}})
		require.NoError(t, err)
		_, err = k.Write(ctx, owner, kernel.WriteRequest{Text: strings.Replace(text, "The lift", "Lift Two", 1)})
		require.NoError(t, err)
		require.NoError(t, k.CheckAll(ctx))
	}
	list, err := k.Conflicts().List(ctx, owner, kernel.ConflictListRequest{})
	require.NoError(t, err)
	require.Len(t, list.Conflicts, 1)
	reply, err := k.Conflicts().Resolve(ctx, owner, kernel.ConflictResolveRequest{
		From: list.Conflicts[0].From.ID, To: list.Conflicts[0].To.ID, State: kernel.ConflictRetracted,
	})
	require.NoError(t, err)
	require.Equal(t, list.Conflicts[0].To.ID, reply.Superseded)
	require.Equal(t, list.Conflicts[0].From.ID, reply.Activated)
}

// TestReadmeTree compares the README's list of packages with the module.
func TestReadmeTree(t *testing.T) {
	t.Parallel()
	var packages []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			// What a host imports has a row, be it a module of its own; tools and examples that are have none.
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			apart := err == nil && !strings.HasPrefix(filepath.ToSlash(path), "../writepath/")
			if path != ".." && (apart || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		if strings.HasSuffix(path, ".go") && !slices.Contains(packages, dir) {
			packages = append(packages, dir)
		}
		return nil
	})
	require.NoError(t, err)
	require.ElementsMatch(t, packages, column(readme(t, "The tree")), "a package has a row in the README, and a row is a package's")
}

// TestReadmeDependencies compares the README's list with the direct ones of go.mod.
func TestReadmeDependencies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	var direct []string
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(text), -1) {
		direct = append(direct, line[1])
	}
	require.NotEmpty(t, direct)
	require.ElementsMatch(t, direct, column(readme(t, "Dependencies")), "each direct dependency has a line in the README, and no other")
}
