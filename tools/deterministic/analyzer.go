package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"reflect"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

// newAnalyzer returns the check of one package. Its result are the edges in which something is forbidden elsewhere.
func newAnalyzer(h house) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "deterministic",
		Doc:        "check that behaviours depend on their messages and their context alone",
		ResultType: reflect.TypeFor[[]string](),
		Run: func(pass *analysis.Pass) (any, error) {
			dir, ours := h.own(pass.Pkg.Path())
			row := h.find(dir)
			if !ours || row == nil {
				return []string(nil), nil
			}
			var edges []string
			for _, file := range pass.Files {
				name := filepath.Base(pass.Fset.Position(file.Package).Filename)
				w := &walker{Pass: pass, house: h, file: file}
				w.walk(row.edge(name) != nil)
				if w.edge && len(w.found) > 0 {
					edges = append(edges, path.Join(dir, name))
				}
			}
			return edges, nil
		},
	}
}

// walker goes through one file.
type walker struct {
	*analysis.Pass
	house  house
	file   *ast.File
	edge   bool
	found  []analysis.Diagnostic
	sorted map[*ast.Ident]bool // uses of maps.Keys and the like whose order is lost
	excuse excuses
}

func (w *walker) walk(edge bool) {
	w.edge = edge
	w.sorted = map[*ast.Ident]bool{}
	w.excuse = w.readExcuses()
	for _, spec := range w.file.Imports {
		w.imported(spec)
	}
	for _, decl := range w.file.Decls {
		ast.Inspect(decl, w.node)
	}
	wrong := w.excuse.inEdge()
	if !edge {
		wrong = append(w.excuse.rest(), w.found...)
	}
	for _, d := range wrong {
		w.Report(d)
	}
}

func (w *walker) forbid(at token.Pos, format string, args ...any) {
	w.found = append(w.found, analysis.Diagnostic{Pos: at, Message: fmt.Sprintf(format, args...)})
}

// node judges one node. Parents come before their children.
func (w *walker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		w.use(n)
	case *ast.GoStmt:
		w.forbid(n.Pos(), "go: a behaviour starts no goroutine; what blocks runs in Context.Go")
	case *ast.SelectStmt:
		w.forbid(n.Pos(), "select: a behaviour waits for nothing but messages")
	case *ast.SendStmt:
		w.forbid(n.Arrow, "send on a channel: a behaviour sends through its context")
	case *ast.UnaryExpr:
		w.unary(n)
	case *ast.RangeStmt:
		w.loop(n)
	case *ast.CallExpr:
		w.call(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			w.written(n.Lhs...)
		}
	case *ast.IncDecStmt:
		w.written(n.X)
	}
	return true
}

// imported judges an import by its path; what is used of it is up to use.
func (w *walker) imported(spec *ast.ImportSpec) {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has unquoted it before
	}
	if dir, ours := w.house.own(name); ours {
		if w.house.find(dir) == nil {
			w.forbid(spec.Pos(), "import of %q, which is not checked itself: add it to tools/deterministic/table.go", dir)
		}
		return
	}
	if findLibrary(name) == nil {
		w.forbid(spec.Pos(), "import of %q, which is not known to be deterministic: see tools/deterministic/libraries.go", name)
	}
}

// use judges a name that something outside of this file declares.
func (w *walker) use(id *ast.Ident) {
	obj := w.TypesInfo.Uses[id]
	if obj == nil || obj.Pkg() == nil || !declared(obj) {
		return
	}
	if dir, ours := w.house.own(obj.Pkg().Path()); ours {
		w.useOwn(id, obj, dir)
		return
	}
	if l := findLibrary(obj.Pkg().Path()); l != nil && !l.allows(obj) {
		w.forbid(id.Pos(), "%s.%s: %s", obj.Pkg().Name(), nameOf(obj), l.instead)
	}
	if obj.Pkg().Path() == "maps" && unorderedMaps[obj.Name()] && !w.sorted[id] {
		w.unordered(id.Pos(), "maps."+obj.Name())
	}
}

// useOwn judges a use of what one of our packages declares. Types and constants do nothing.
func (w *walker) useOwn(id *ast.Ident, obj types.Object, dir string) {
	switch obj.(type) {
	case *types.Func, *types.Var:
	default:
		return
	}
	file := w.Fset.Position(obj.Pos()).Filename
	row := w.house.find(dir)
	if row == nil || file == w.Fset.Position(id.Pos()).Filename {
		return
	}
	name := filepath.Base(file)
	if e := row.edge(name); e != nil && !contains(e.offers, nameOf(obj)) {
		w.forbid(id.Pos(), "%s.%s: it is of %s, where the deterministic world ends", obj.Pkg().Name(), nameOf(obj), path.Join(dir, name))
	}
}

// declared is true for what a package declares: not for fields and local names.
func declared(obj types.Object) bool {
	if f, ok := obj.(*types.Func); ok {
		return f.Signature().Recv() != nil || obj.Parent() == obj.Pkg().Scope()
	}
	return obj.Parent() == obj.Pkg().Scope()
}

// unary judges what reads a channel, or gives a variable of the package away.
func (w *walker) unary(n *ast.UnaryExpr) {
	switch n.Op {
	case token.ARROW:
		w.forbid(n.Pos(), "receive from a channel: a behaviour waits for nothing but messages")
	case token.AND:
		w.written(n.X)
	}
}

// loop judges what is ranged over.
func (w *walker) loop(n *ast.RangeStmt) {
	if n.Tok == token.ASSIGN {
		w.written(n.Key, n.Value)
	}
	switch t := w.TypesInfo.TypeOf(n.X); {
	case isChan(t):
		w.forbid(n.Pos(), "range over a channel: a behaviour waits for nothing but messages")
	case isMap(t) && !orderFree(w.TypesInfo, n):
		w.unordered(n.Pos(), "range over a map")
	}
}

// written judges places that are written to: none may belong to the package instead of an actor.
func (w *walker) written(places ...ast.Expr) {
	for _, place := range places {
		if v, ok := w.root(place).(*types.Var); ok && v.Parent() == v.Pkg().Scope() {
			w.forbid(place.Pos(), "change of %s: a variable of the package outlives the actor, and all worlds share it", v.Name())
		}
	}
}

// root is the variable that a place is part of or reached through; nil if there is none.
func (w *walker) root(place ast.Expr) types.Object {
	for {
		switch p := ast.Unparen(place).(type) {
		case *ast.Ident:
			return w.TypesInfo.Uses[p]
		case *ast.IndexExpr:
			place = p.X
		case *ast.SliceExpr:
			place = p.X
		case *ast.StarExpr:
			place = p.X
		case *ast.SelectorExpr:
			if _, pkg := w.TypesInfo.Uses[identOf(p.X)].(*types.PkgName); pkg {
				return w.TypesInfo.Uses[p.Sel]
			}
			place = p.X
		default:
			return nil
		}
	}
}

func identOf(e ast.Expr) *ast.Ident {
	id, _ := ast.Unparen(e).(*ast.Ident)
	return id
}

func isChan(t types.Type) bool {
	return is(t, func(t types.Type) bool { _, ok := t.(*types.Chan); return ok })
}

func isMap(t types.Type) bool {
	return is(t, func(t types.Type) bool { _, ok := t.(*types.Map); return ok })
}

// is judges the type below t or, for a type parameter, looks for one that it may stand for.
func is(t types.Type, kind func(types.Type) bool) bool {
	if _, param := types.Unalias(t).(*types.TypeParam); param {
		return oneOf(t, kind)
	}
	return kind(t.Underlying())
}

// oneOf looks among the types of a constraint.
func oneOf(t types.Type, kind func(types.Type) bool) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		for embedded := range u.EmbeddedTypes() {
			if oneOf(embedded, kind) {
				return true
			}
		}
	case *types.Union:
		for term := range u.Terms() {
			if oneOf(term.Type(), kind) {
				return true
			}
		}
	default:
		return kind(u)
	}
	return false
}
