package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// stmts takes note of what statements read and write, and fails on those that may depend on the order of the rounds.
func (r *rounds) stmts(list []ast.Stmt) bool {
	for _, s := range list {
		if !r.stmt(s) {
			return false
		}
	}
	return true
}

func (r *rounds) stmt(s ast.Stmt) bool {
	switch s := s.(type) {
	case nil, *ast.EmptyStmt:
		return true
	case *ast.BlockStmt:
		return r.stmts(s.List)
	case *ast.IfStmt:
		return r.stmt(s.Init) && r.pure(s.Cond) && r.stmt(s.Body) && r.stmt(s.Else)
	case *ast.CaseClause:
		return r.pure(s.List...) && r.stmts(s.Body)
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
		r.nested++
		defer func() { r.nested-- }()
		return r.compound(s)
	case *ast.BranchStmt:
		return s.Label == nil && (s.Tok == token.CONTINUE || s.Tok == token.FALLTHROUGH || s.Tok == token.BREAK && r.nested > 0)
	case *ast.DeclStmt:
		return r.declared(s.Decl.(*ast.GenDecl))
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.IncDecStmt:
		return r.count(s.X, token.ADD_ASSIGN)
	case *ast.ExprStmt:
		return r.deletes(s.X)
	case *ast.ReturnStmt:
		return r.returns(s)
	}
	return false
}

func (r *rounds) compound(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ForStmt:
		return r.stmt(s.Init) && (s.Cond == nil || r.pure(s.Cond)) && r.stmt(s.Post) && r.stmt(s.Body)
	case *ast.RangeStmt:
		_, calls := r.info.TypeOf(s.X).Underlying().(*types.Signature)
		return s.Tok != token.ASSIGN && !calls && r.pure(s.X) && r.stmt(s.Body)
	case *ast.SwitchStmt:
		return r.stmt(s.Init) && (s.Tag == nil || r.pure(s.Tag)) && r.stmt(s.Body)
	}
	return false
}

func (r *rounds) declared(d *ast.GenDecl) bool {
	for _, spec := range d.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok && !r.pure(v.Values...) {
			return false
		}
	}
	return true
}

func (r *rounds) assign(s *ast.AssignStmt) bool {
	switch {
	case s.Tok == token.DEFINE:
		return r.pure(s.Rhs...)
	case s.Tok != token.ASSIGN:
		return r.pure(s.Rhs...) && r.count(s.Lhs[0], s.Tok)
	case len(s.Lhs) != len(s.Rhs):
		return false
	}
	for i := range s.Lhs {
		if !r.set(s.Lhs[i], s.Rhs[i]) {
			return false
		}
	}
	return true
}

// set is x = value.
func (r *rounds) set(x, value ast.Expr) bool {
	if blank(x) {
		return r.pure(value)
	}
	w, mine, ok := r.target(x)
	if !ok {
		return false
	}
	if how, rest, ok := r.gathers(x, value); ok && !mine && w.how != atKey {
		w.how = how
		r.writes = append(r.writes, w)
		return r.pure(rest...)
	}
	if text, ok := r.constant(value); ok && w.how != atKey {
		w.how = "= " + text
	}
	if !mine {
		r.writes = append(r.writes, w)
	}
	return (mine || w.how != "") && r.pure(value)
}

// gathers recognizes x = min(x, ...), x = max(x, ...), x = x || ... and x = x && ..., and returns what else they look at.
func (r *rounds) gathers(x, value ast.Expr) (how string, rest []ast.Expr, ok bool) {
	var operands []ast.Expr
	switch v := ast.Unparen(value).(type) {
	case *ast.BinaryExpr:
		if v.Op != token.LOR && v.Op != token.LAND {
			return "", nil, false
		}
		how, operands = v.Op.String(), []ast.Expr{v.X, v.Y}
	case *ast.CallExpr:
		how, operands = r.builtin(v), v.Args
		if how != "min" && how != "max" {
			return "", nil, false
		}
	default:
		return "", nil, false
	}
	for _, o := range operands {
		if types.ExprString(ast.Unparen(o)) == types.ExprString(ast.Unparen(x)) {
			ok = true
		} else {
			rest = append(rest, o)
		}
	}
	return how, rest, ok
}

// inverse names the operators that commute with another one by that one.
var inverse = map[token.Token]token.Token{token.SUB_ASSIGN: token.ADD_ASSIGN}

// count is x op value, of integers: sums of others depend on the order by rounding, and strings by nature.
func (r *rounds) count(x ast.Expr, op token.Token) bool {
	w, mine, ok := r.target(x)
	if mine || !ok {
		return ok
	}
	if w.how != atKey {
		w.how = op.String()
		if same, ok := inverse[op]; ok {
			w.how = same.String()
		}
	}
	r.writes = append(r.writes, w)
	return w.how == atKey || r.commutes(x, op)
}

func (r *rounds) commutes(x ast.Expr, op token.Token) bool {
	b, ok := r.info.TypeOf(x).Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return false
	}
	switch op {
	case token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN, token.AND_NOT_ASSIGN:
		return true
	}
	return false
}

// target is a place that is written to. Mine is one that each round has its own of.
func (r *rounds) target(x ast.Expr) (w write, mine, ok bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		v, ok := r.info.Uses[x].(*types.Var)
		return write{variable: v}, ok && r.mine(v), ok && v != r.key
	case *ast.SelectorExpr:
		if s := r.info.Selections[x]; s != nil {
			return write{variable: s.Obj()}, false, r.pure(x.X)
		}
		return write{variable: r.info.Uses[x.Sel]}, false, true
	case *ast.IndexExpr:
		w := write{container: r.info.TypeOf(x.X)}
		if r.isKey(x.Index) {
			w.how = atKey
		}
		return w, false, r.reach(x.X) && r.pure(x.Index)
	}
	return write{}, false, false
}

func (r *rounds) deletes(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || r.builtin(call) != "delete" {
		return false
	}
	w := write{container: r.info.TypeOf(call.Args[0]), how: deleting}
	if r.isKey(call.Args[1]) {
		w.how = atKey
	}
	r.writes = append(r.writes, w)
	return r.reach(call.Args[0]) && r.pure(call.Args[1])
}

func (r *rounds) returns(s *ast.ReturnStmt) bool {
	all := ""
	for _, result := range s.Results {
		text, ok := r.constant(result)
		if !ok {
			return false
		}
		all += text + ","
	}
	r.returned = append(r.returned, all)
	return true
}
