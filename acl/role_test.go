package acl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
)

var roles = []acl.Role{acl.RoleAgent, acl.RoleMember, acl.RoleAuditor, acl.RoleAdmin, acl.RoleOwner}

// The role table as the specification has it: a letter for each role that may call.
var allowed = map[acl.Op]string{
	acl.OpRead:        "agent member auditor admin owner",
	acl.OpSearch:      "agent member auditor admin owner",
	acl.OpHistory:     "agent member auditor admin owner",
	acl.OpStats:       "agent member auditor admin owner",
	acl.OpPolicyGet:   "agent member auditor admin owner",
	acl.OpEntityList:  "agent member auditor admin owner",
	acl.OpEntityGet:   "agent member auditor admin owner",
	acl.OpEntityMerge: "admin owner",
	acl.OpEntitySplit: "admin owner",
	acl.OpWrite:       "agent member admin owner",
	acl.OpWriteAsync:  "agent member admin owner",
	acl.OpTicket:      "agent member admin owner",
	acl.OpWaitVisible: "agent member admin owner",
	acl.OpRetract:     "agent member admin owner",
	acl.OpAuditSearch: "auditor admin owner",
	acl.OpKeyCreate:   "admin owner",
	acl.OpKeyRevoke:   "admin owner",
	acl.OpKeyRotate:   "admin owner",
	acl.OpKeyList:     "admin owner",
	acl.OpPolicyPut:   "admin owner",

	acl.OpConflictList:    "admin owner",
	acl.OpConflictResolve: "admin owner",
	acl.OpAuthenticate:    "",
	acl.OpBootstrap:       "",
	acl.OpTenantSuspend:   "",
	acl.OpTenantResume:    "",
	acl.OpConflictCheck:   "",
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	for op, who := range allowed {
		for _, role := range roles {
			want := false
			for _, name := range strings.Fields(who) {
				want = want || name == string(role)
			}
			require.Equal(t, want, acl.Allowed(role, op), "%s %s", role, op)
		}
		for _, role := range []acl.Role{"", "root", "OWNER", "owner ", "owner\x00"} {
			require.False(t, acl.Allowed(role, op), "%q %s", role, op)
		}
	}
	for _, role := range roles {
		for _, op := range []acl.Op{"", "*", "READ", "read ", "delete", "erase"} {
			require.False(t, acl.Allowed(role, op), "%s %q", role, op)
		}
	}
}

// A new operation without a row in the table above fails.
func TestAllowedKnowsEveryOp(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "role.go", nil, 0)
	require.NoError(t, err)
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Op" {
			return true
		}
		for _, v := range spec.Values {
			lit, ok := v.(*ast.BasicLit)
			require.True(t, ok)
			op, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			require.Contains(t, allowed, acl.Op(op))
			declared++
		}
		return true
	})
	require.Len(t, allowed, declared)
}

func TestMayGrant(t *testing.T) {
	t.Parallel()
	for maker, made := range map[acl.Role]string{
		acl.RoleAgent:   "agent auditor",
		acl.RoleAuditor: "agent auditor",
		acl.RoleMember:  "agent auditor member",
		acl.RoleAdmin:   "agent auditor member admin",
		acl.RoleOwner:   "agent auditor member admin owner",
		"":              "",
		"root":          "",
	} {
		for _, role := range append([]acl.Role{"", "root"}, roles...) {
			want := role != "" && strings.Contains(" "+made+" ", " "+string(role)+" ")
			require.Equal(t, want, maker.MayGrant(role), "%q grants %q", maker, role)
		}
	}
	for _, role := range roles {
		require.True(t, role.Valid(), role)
	}
	require.False(t, acl.Role("").Valid())
	require.False(t, acl.Role("Owner").Valid())
}
