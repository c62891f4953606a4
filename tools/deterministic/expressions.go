package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// pure takes note of what expressions read, and fails on those that may do more than read.
func (r *rounds) pure(list ...ast.Expr) bool {
	for _, e := range list {
		if !r.expr(ast.Unparen(e)) {
			return false
		}
	}
	return true
}

func (r *rounds) expr(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident, *ast.SelectorExpr:
		if t := r.info.TypeOf(e); container(t) {
			r.elements = append(r.elements, t)
		}
		return r.reach(e)
	case *ast.IndexExpr:
		return r.index(e)
	case *ast.SliceExpr:
		return r.pure(e.X) && r.optional(e.Low, e.High, e.Max)
	case *ast.UnaryExpr:
		_, made := ast.Unparen(e.X).(*ast.CompositeLit)
		return e.Op != token.ARROW && (e.Op != token.AND || made) && r.pure(e.X)
	case *ast.BinaryExpr:
		return r.pure(e.X, e.Y)
	case *ast.TypeAssertExpr:
		return r.pure(e.X)
	case *ast.CompositeLit:
		return r.literal(e)
	case *ast.CallExpr:
		return r.calls(e)
	}
	return false
}

func (r *rounds) optional(list ...ast.Expr) bool {
	for _, e := range list {
		if e != nil && !r.pure(e) {
			return false
		}
	}
	return true
}

// reach is the way to a variable, field or container, without a look at the elements of the container itself.
func (r *rounds) reach(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v, ok := r.info.Uses[e].(*types.Var); ok && !r.mine(v) {
			r.variables = append(r.variables, v)
		}
		return true
	case *ast.SelectorExpr:
		s := r.info.Selections[e]
		if s == nil {
			r.variables = append(r.variables, r.info.Uses[e.Sel])
			return true
		}
		r.variables = append(r.variables, s.Obj())
		return s.Kind() == types.FieldVal && r.pure(e.X)
	}
	return r.pure(e)
}

func (r *rounds) index(e *ast.IndexExpr) bool {
	t := r.info.TypeOf(e.X)
	switch {
	case !container(t):
		return false // an instance of a generic function, or a string, whose bytes are not worth the effort
	case r.isKey(e.Index):
		r.ownOnly = append(r.ownOnly, t)
	default:
		r.elements = append(r.elements, t)
	}
	return r.reach(e.X) && r.pure(e.Index)
}

func (r *rounds) literal(e *ast.CompositeLit) bool {
	_, fields := r.info.TypeOf(e).Underlying().(*types.Struct)
	for _, elt := range e.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			if !fields && !r.pure(kv.Key) {
				return false
			}
			elt = kv.Value
		}
		if !r.pure(elt) {
			return false
		}
	}
	return true
}

// calls allows conversions and some builtins.
func (r *rounds) calls(e *ast.CallExpr) bool {
	if r.info.Types[e.Fun].IsType() {
		return r.pure(e.Args...)
	}
	switch r.builtin(e) {
	case "cap", "len", "max", "min":
		return r.pure(e.Args...)
	}
	return false
}

// builtin is the name of the builtin function that is called, if one is.
func (r *rounds) builtin(e *ast.CallExpr) string {
	if id := identOf(e.Fun); id != nil {
		if b, ok := r.info.Uses[id].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

func container(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array, *types.Map, *types.Slice:
		return true
	case *types.Pointer:
		_, array := u.Elem().Underlying().(*types.Array)
		return array
	}
	return false
}
