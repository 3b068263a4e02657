package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// sqlMethods are the methods of pgx and database/sql that send SQL or queue it, or hand out
// what does.
var sqlMethods = []string{
	"Exec", "Query", "QueryRow", "SendBatch", "Queue", "CopyFrom", "CopyTo", "Prepare",
	"ExecContext", "QueryContext", "QueryRowContext", "PrepareContext",
	"ExecParams", "ExecPrepared", "ExecStatement", "ExecBatch", "StartPipeline", "SendBytes", "Frontend", "Hijack",
}

// sqlFields are the fields of pgx.TxOptions that hold SQL.
var sqlFields = []string{"BeginQuery", "CommitQuery"}

// sqlText matches the beginning of a statement. Prose begins with some of these words too, so
// of the rarer statements only those in capitals count: what is called is the proof.
var sqlText = regexp.MustCompile(`^\s*(` + strings.Join([]string{
	`(?is:select\b.+\bfrom\s+(\w+\.\w+|"|\(|\$\d|unnest\b|pg_\w+|\w+\s*(;|$)|\w+(\s+(as\s+)?\w+)?\s+(where|order|limit|group|join|left|inner|cross|for)\b))`,
	`(?is:select\s+[a-z_.]+\s*\()`,
	`(?is:with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s*(not\s+)?(materialized\s*)?\()`,
	`(?is:insert\s+into\s+\S+\s*(\(|values\b|select\b))`,
	`(?is:update\s+(only\s+)?\S+(\s+\w+)?\s+set\s+\S+\s*=)`,
	`(?is:delete\s+from\s+\S+(\s+where\b|\s+using\b|\s*;?\s*$))`,
	`(?is:merge\s+into\b.+\busing\b)`,
	`(?is:truncate\s+(table\s+)?\w+\.\w+)`,
	`(?is:copy\s+\S+.*\b(from|to)\s+std(in|out))`,
	`(CREATE|ALTER|DROP)\s+(OR\s+REPLACE\s+|UNIQUE\s+)?(TABLE|INDEX|SCHEMA|DATABASE|EXTENSION|TYPE|FUNCTION|TRIGGER|VIEW|ROLE|USER|POLICY|SEQUENCE|SYSTEM)\s`,
	`SET\s+(LOCAL|SESSION)?\s*[a-z_.]+\s*(=|TO)`,
	`(GRANT|REVOKE)\s`, `LOCK\s+TABLE\s`, `VACUUM\b`, `(LISTEN|NOTIFY)\s+\w`, `DO\s+\$`,
}, "|") + `)`)

// checkSQL finds what sends SQL outside the one package that may, by the type of what is
// called, so that an alias, an embedded field, a method value or an interface of one's own
// does not hide it; and SQL text anywhere else.
func checkSQL(m *module) []finding {
	var found []finding
	for _, p := range m.typed {
		if rel(p.PkgPath) == sqlPackage {
			found = append(found, m.passThrough(p)...)
			continue
		}
		if importsPostgres(p) {
			found = append(found, m.ignored(p)...)
		}
		for _, tree := range p.Syntax {
			ast.Inspect(tree, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && sendsSQL(p.TypesInfo.Uses[id]) {
					found = append(found, m.at(p.Fset.Position(id.Pos()), "%s sends SQL outside package %s; write a query there", id.Name, sqlPackage))
				}
				return true
			})
		}
	}
	for _, f := range m.files {
		if f.pkg == sqlPackage || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := constant(e)
			if ok && sqlText.MatchString(text) {
				found = append(found, m.at(m.fset.Position(n.Pos()), "SQL text outside package %s: %.40q", sqlPackage, text))
			}
			return !ok
		})
	}
	for _, name := range slices.Sorted(maps.Keys(m.other)) {
		if path.Ext(name) == ".sql" && !strings.HasPrefix(name, sqlPackage+"/") {
			found = append(found, finding{name, 0, "an SQL file outside package " + sqlPackage})
		}
	}
	return found
}

// ignored looks at the files that this build leaves out: without types, by names alone.
func (m *module) ignored(p *packages.Package) []finding {
	var found []finding
	for _, f := range m.files {
		if f.test || !slices.Contains(p.IgnoredFiles, filepath.Join(m.dir, filepath.FromSlash(f.path))) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(sqlMethods, sel.Sel.Name) {
				found = append(found, m.at(m.fset.Position(sel.Pos()), "%s may send SQL outside package %s, in a file that only another build has; name it otherwise or move it", sel.Sel.Name, sqlPackage))
			}
			return true
		})
	}
	return found
}

func importsPostgres(p *packages.Package) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(p.Imports)), func(s string) bool { return strings.HasPrefix(s, "github.com/jackc/") })
}

// constant returns the text of a string literal or of literals that are added.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return constant(e.X)
	case *ast.BinaryExpr:
		x, ok := constant(e.X)
		y, also := constant(e.Y)
		return x + y, ok && also && e.Op == token.ADD
	}
	return "", false
}

// sendsSQL reports whether obj is a method that sends SQL, or a field that holds it: one of
// pgx or database/sql, or one of anybody's that answers with their types.
func sendsSQL(obj types.Object) bool {
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	switch obj := obj.(type) {
	case *types.Var:
		return obj.IsField() && slices.Contains(sqlFields, obj.Name()) && isPostgres(obj.Pkg().Path())
	case *types.Func:
		if obj.Signature().Recv() == nil || !slices.Contains(sqlMethods, obj.Name()) {
			return false
		}
		if isPostgres(obj.Pkg().Path()) {
			return true
		}
		for v := range obj.Signature().Results().Variables() {
			if named, ok := types.Unalias(pointee(v.Type())).(*types.Named); ok && named.Obj().Pkg() != nil && isPostgres(named.Obj().Pkg().Path()) {
				return true
			}
		}
	}
	return false
}

func isPostgres(importPath string) bool {
	return strings.HasPrefix(importPath, "github.com/jackc/") || importPath == "database/sql"
}

func pointee(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// passThrough finds exported functions of the SQL package that send the text they are
// given: with one of those, any package could send anything.
func (m *module) passThrough(p *packages.Package) []finding {
	var found []finding
	for _, tree := range p.Syntax {
		for _, decl := range tree.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			// Calls of a method such as Exec are found where they are made.
			if !ok || fn.Body == nil || !fn.Name.IsExported() || sendsSQL(p.TypesInfo.Defs[fn.Name]) {
				continue
			}
			given := givenTexts(p, fn)
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !sendsSQL(p.TypesInfo.Uses[sel.Sel]) {
					return true
				}
				// The text is the first argument after the context, if there is one.
				for _, arg := range call.Args[:min(2, len(call.Args))] {
					for _, id := range plain(p, arg) {
						if given[p.TypesInfo.Uses[id]] {
							found = append(found, m.at(p.Fset.Position(id.Pos()), "%s sends the text it is given in %s; export one function for each statement, and quote names", fn.Name.Name, id.Name))
						}
					}
				}
				return true
			})
		}
	}
	return found
}

// givenTexts returns the function's parameters that are texts, and the variables that are made of them.
func givenTexts(p *packages.Package, fn *ast.FuncDecl) map[types.Object]bool {
	given := map[types.Object]bool{}
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if obj := p.TypesInfo.Defs[name]; obj != nil && isString(obj.Type()) {
				given[obj] = true
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, right := range assign.Rhs {
			if !slices.ContainsFunc(plain(p, right), func(id *ast.Ident) bool { return given[p.TypesInfo.Uses[id]] }) {
				continue
			}
			for _, left := range assign.Lhs {
				if id, ok := left.(*ast.Ident); ok {
					if obj := p.TypesInfo.ObjectOf(id); obj != nil && isString(obj.Type()) {
						given[obj] = true
					}
				}
			}
		}
		return true
	})
	return given
}

// plain returns the names whose text an expression takes over as it is: not what goes through
// a function, say one that quotes, unless it is one that only puts texts together.
func plain(p *packages.Package, arg ast.Expr) []*ast.Ident {
	var names []*ast.Ident
	ast.Inspect(arg, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return isConversion(p, n)
			}
			fn := p.TypesInfo.Uses[sel.Sel]
			return fn != nil && fn.Pkg() != nil && slices.Contains([]string{"fmt", "strings"}, fn.Pkg().Path())
		case *ast.Ident:
			names = append(names, n)
		}
		return true
	})
	return names
}

func isConversion(p *packages.Package, call *ast.CallExpr) bool {
	return p.TypesInfo.Types[call.Fun].IsType()
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

var (
	star       = regexp.MustCompile(`(?is)(\bselect\s+(all\s+|distinct\s+(on\s*\([^)]*\)\s*)?)?|\breturning\s+|,\s*)([a-z_][a-z0-9_]*\.)*\*`)
	bareWaiver = regexp.MustCompile(`(?m)@sqlc-vet-disable\s*(\*/)?$`)
	sqlComment = regexp.MustCompile(`--[^\n]*|(?s:/\*.*?\*/)`)
)

// checkQueries looks at the files that sqlc reads: what it expands before its own rules
// see it, what they may be told to leave out, and what it leaves behind.
func checkQueries(m *module) []finding {
	const sources = sqlPackage + "/sql/"
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(m.other)) {
		if !strings.HasPrefix(name, sources) || path.Ext(name) != ".sql" {
			continue
		}
		text := m.other[name]
		if bareWaiver.MatchString(text) {
			found = append(found, finding{name, 0, "@sqlc-vet-disable without the name of a rule turns off all of them"})
		}
		plain := sqlComment.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		for _, at := range star.FindAllStringIndex(plain, -1) {
			found = append(found, finding{name, 1 + strings.Count(plain[:at[1]], "\n"), "name the columns instead of *: the result would change with the table"})
		}
	}
	for _, f := range m.files {
		base, ok := strings.CutSuffix(path.Base(f.path), ".sql.go")
		if ok && f.pkg == sqlPackage && f.generated && m.other[sources+base+".sql"] == "" {
			found = append(found, finding{f.path, 0, "generated from " + sources + base + ".sql, which is gone; remove it"})
		}
	}
	return found
}
