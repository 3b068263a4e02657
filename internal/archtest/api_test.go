package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// checkAPI walks everything that a host can see of the public packages and finds types that
// are not the host's business.
func checkAPI(m *module) []finding {
	var found []finding
	for _, p := range m.typed {
		if !public(rel(p.PkgPath)) || p.Name == "main" {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			obj := p.Types.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			w := &apiWalk{subject: rel(p.PkgPath) + "." + name, kit: kit.MatchString(rel(p.PkgPath)), seen: map[types.Type]bool{}}
			w.object(obj)
			for _, bad := range w.bad {
				found = append(found, m.at(p.Fset.Position(obj.Pos()), "%s exposes %s; translate it into a type of the module's own", w.subject, bad))
			}
		}
	}
	return found
}

// apiWalk looks at all that one exported name shows.
type apiWalk struct {
	subject string
	kit     bool // a test kit: testing is its business
	seen    map[types.Type]bool
	bad     []string
}

func (w *apiWalk) object(obj types.Object) {
	tn, ok := obj.(*types.TypeName)
	if !ok {
		w.see(obj.Type())
		return
	}
	if tn.IsAlias() {
		w.see(types.Unalias(obj.Type()))
		return
	}
	w.declared(obj.Type().(*types.Named))
}

// declared walks a type's declaration: what it is made of and its methods.
func (w *apiWalk) declared(t *types.Named) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	w.params(t.TypeParams())
	w.see(t.Underlying())
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if method.Obj().Exported() {
			w.see(method.Obj().Type())
		}
	}
}

func (w *apiWalk) params(list *types.TypeParamList) {
	for p := range list.TypeParams() {
		w.see(p.Constraint())
	}
}

// see walks a type that is named or written out.
func (w *apiWalk) see(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			w.see(arg)
		}
		w.named(t)
	case *types.Pointer:
		w.see(t.Elem())
	case *types.Slice:
		w.see(t.Elem())
	case *types.Array:
		w.see(t.Elem())
	case *types.Chan:
		w.see(t.Elem())
	case *types.Map:
		w.see(t.Key())
		w.see(t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			w.see(v.Type())
		}
	case *types.Signature:
		w.params(t.TypeParams())
		w.see(t.Params())
		w.see(t.Results())
	case *types.Union:
		for term := range t.Terms() {
			w.see(term.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.see(f.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			if method.Exported() {
				w.see(method.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			if _, ok := e.(*types.Union); ok {
				w.see(e)
			}
		}
	}
}

// named judges a type by the package that declares it.
func (w *apiWalk) named(t *types.Named) {
	obj := t.Obj()
	if obj.Pkg() == nil {
		return // error, comparable
	}
	pkg := obj.Pkg().Path()
	name := pkg + "." + obj.Name()
	for _, ok := range apiTypes {
		if ok.name == name && ok.where.MatchString(w.subject) {
			return
		}
	}
	inModule := pkg == modulePath || strings.HasPrefix(pkg, modulePath+"/")
	switch first, _, _ := strings.Cut(pkg, "/"); {
	case inModule && public(rel(pkg)):
		if !obj.Exported() {
			w.declared(t) // a host cannot name it, but can use what it gets
		}
		return
	case inModule, strings.Contains(first, "."), pkg == "database/sql", pkg == "database/sql/driver":
	case pkg == "testing" && !w.kit:
	default:
		return // the standard library's
	}
	if !slices.Contains(w.bad, name) {
		w.bad = append(w.bad, name)
	}
}

// checkInterfaces bounds every interface that a person wrote, named or not.
func checkInterfaces(m *module) []finding {
	var found []finding
	for _, p := range m.typed {
		for _, tree := range p.Syntax {
			if ast.IsGenerated(tree) {
				continue
			}
			names := map[ast.Expr]string{}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					names[n.Type] = n.Name.Name
				case *ast.InterfaceType:
					name := rel(p.PkgPath) + "." + names[n]
					limit := maxMethods
					if slices.Contains(contracts, name) {
						limit = maxContractMethods
					}
					u, ok := p.TypesInfo.TypeOf(n).Underlying().(*types.Interface)
					if ok && u.NumMethods() > limit {
						found = append(found, m.at(p.Fset.Position(n.Pos()), "interface %s has %d methods, more than %d; split it by who uses what", strings.TrimSuffix(name, "."), u.NumMethods(), limit))
					}
				}
				return true
			})
		}
	}
	return found
}

// checkView keeps what stands behind the view as narrow as the view: with one method more, a
// driver could get at it by a type assertion; with a field it can see, by reflection.
func checkView(m *module) []finding {
	pkg, name, _ := strings.Cut(view, ".")
	var want *types.Interface
	for _, p := range m.typed {
		if rel(p.PkgPath) == pkg {
			if obj := p.Types.Scope().Lookup(name); obj != nil {
				want, _ = obj.Type().Underlying().(*types.Interface)
			}
		}
	}
	if want == nil {
		if slices.ContainsFunc(m.typed, func(p *packages.Package) bool { return rel(p.PkgPath) == pkg }) {
			return []finding{{view, 0, "is not there: rename it in internal/archtest/rules_test.go too"}}
		}
		return nil
	}
	var found []finding
	for _, p := range m.typed {
		for id, obj := range p.TypesInfo.Defs {
			tn, ok := obj.(*types.TypeName)
			if !ok || tn.IsAlias() || types.IsInterface(tn.Type()) {
				continue
			}
			if named, ok := tn.Type().(*types.Named); !ok || named.TypeParams().Len() > 0 {
				continue
			}
			ptr := types.NewPointer(tn.Type())
			if !implements(ptr, want) {
				continue
			}
			found = append(found, m.narrow(p, id, ptr, want)...)
		}
	}
	return found
}

// implements goes by method names: the same interface may have been loaded twice.
func implements(t types.Type, want *types.Interface) bool {
	set := types.NewMethodSet(t)
	for method := range want.Methods() {
		if set.Lookup(method.Pkg(), method.Name()) == nil {
			return false
		}
	}
	return true
}

func (m *module) narrow(p *packages.Package, id *ast.Ident, ptr *types.Pointer, want *types.Interface) []finding {
	var found []finding
	pos := p.Fset.Position(id.Pos())
	if !slices.Contains(viewHome, rel(p.PkgPath)) {
		found = append(found, m.at(pos, "%s implements %s; only internal/store does", id.Name, view))
	}
	for method := range types.NewMethodSet(ptr).Methods() {
		// Nobody outside the package can assert a method that is not exported.
		if method.Obj().Exported() && !slices.ContainsFunc(slices.Collect(want.Methods()), func(f *types.Func) bool { return f.Name() == method.Obj().Name() }) {
			found = append(found, m.at(pos, "%s has a method %s that %s lacks; a driver could assert it", id.Name, method.Obj().Name(), view))
		}
	}
	if s, ok := ptr.Elem().Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Exported() || f.Embedded() {
				found = append(found, m.at(pos, "%s has the field %s, exported or embedded; a driver could reach it", id.Name, f.Name()))
			}
		}
	}
	return found
}

// checkDirectives finds what goes around the import table without an import.
func checkDirectives(m *module) []finding {
	var found []finding
	for _, f := range m.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname") {
					found = append(found, m.at(token.Position{Filename: f.path, Line: m.fset.Position(c.Pos()).Line}, "go:linkname walks through every wall"))
				}
			}
		}
	}
	return found
}
