package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// orderFree says whether a loop over a map can be seen to do the same in every order: it only counts, takes the least or the
// greatest, sets something to one and the same constant, writes and deletes at the key of the round, or returns one constant;
// and no round looks at what another one writes. It calls nothing, so nothing is hidden from this.
func orderFree(info *types.Info, loop *ast.RangeStmt) bool {
	if blank(loop.Key) && blank(loop.Value) {
		return true // all rounds are the same
	}
	r := &rounds{info: info, loop: loop}
	if id := identOf(loop.Key); id != nil {
		r.key = info.Defs[id]
	}
	return loop.Tok == token.DEFINE && r.stmt(loop.Body) && !r.conflict()
}

func blank(e ast.Expr) bool {
	id := identOf(e)
	return e == nil || id != nil && id.Name == "_"
}

// rounds is what is known of the rounds of a loop.
type rounds struct {
	info *types.Info
	loop *ast.RangeStmt
	key  types.Object // which each round has another one of; nil if the loop does not name it

	writes    []write
	returned  []string       // the constants
	variables []types.Object // that are read; a field counts for all structs that have it
	elements  []types.Type   // of the containers that are read, wherever: two of one type may be the same
	ownOnly   []types.Type   // of those that are read at the key
	nested    int            // loops and switches around the statement
}

// A write is something that a round leaves behind, in a variable or in a container.
type write struct {
	variable  types.Object
	container types.Type
	how       string // writes of one kind commute
}

// The kinds of writes that are not named by an operator.
const (
	atKey    = "at the key" // which no other round does
	deleting = "delete"
)

func (w write) meets(v write) bool {
	if w.variable != nil {
		return w.variable == v.variable
	}
	return v.container != nil && types.Identical(w.container, v.container)
}

// conflict says whether a round could notice which ones came before it.
func (r *rounds) conflict() bool {
	if len(r.returned) > 0 {
		return len(r.writes) > 0 || len(slices.Compact(slices.Sorted(slices.Values(r.returned)))) > 1
	}
	for i, w := range r.writes {
		others := func(v write) bool { return w.meets(v) && w.how != v.how }
		if r.read(w) || slices.ContainsFunc(r.writes[:i], others) {
			return true
		}
	}
	return false
}

// read says whether a round reads what another one may have written.
func (r *rounds) read(w write) bool {
	if w.variable != nil {
		return slices.Contains(r.variables, w.variable)
	}
	same := func(t types.Type) bool { return types.Identical(t, w.container) }
	if slices.ContainsFunc(r.elements, same) {
		return true
	}
	return w.how != atKey && (slices.ContainsFunc(r.ownOnly, same) || same(r.info.TypeOf(r.loop.X)))
}

// mine is true for variables that each round has its own of.
func (r *rounds) mine(obj types.Object) bool {
	return r.loop.Pos() <= obj.Pos() && obj.Pos() < r.loop.End()
}

func (r *rounds) isKey(e ast.Expr) bool {
	id := identOf(e)
	return id != nil && r.key != nil && r.info.Uses[id] == r.key
}

// constant returns what identifies a constant.
func (r *rounds) constant(e ast.Expr) (string, bool) {
	switch v := r.info.Types[e]; {
	case v.IsNil():
		return "nil", true
	case v.Value != nil:
		return v.Value.ExactString(), true
	}
	return "", false
}
