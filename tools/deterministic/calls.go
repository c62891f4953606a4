package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// call judges a call by what is called and with what.
func (w *walker) call(n *ast.CallExpr) {
	if id := identOf(n.Fun); id != nil {
		if b, ok := w.TypesInfo.Uses[id].(*types.Builtin); ok {
			w.builtin(n, b.Name())
			return
		}
	}
	callee := typeutil.Callee(w.TypesInfo, n)
	w.losesOrder(n, callee)
	w.receiver(n, callee)
	w.prints(n)
}

// builtin judges those that write to their argument.
func (w *walker) builtin(n *ast.CallExpr, name string) {
	switch name {
	case "close":
		w.forbid(n.Pos(), "close of a channel: a behaviour sends through its context")
	case "clear", "copy", "delete":
		w.written(n.Args[0])
	}
}

// receiver judges a method that may write to what it is called on.
func (w *walker) receiver(n *ast.CallExpr, callee types.Object) {
	f, ok := callee.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return
	}
	sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	_, takesPointer := f.Signature().Recv().Type().(*types.Pointer)
	if _, isPointer := w.TypesInfo.TypeOf(sel.X).Underlying().(*types.Pointer); takesPointer && !isPointer {
		w.written(sel.X)
	}
}

// prints judges what fmt, or a function that hands its arguments to it, is given: no address in memory is the same twice.
func (w *walker) prints(n *ast.CallExpr) {
	signature, ok := w.TypesInfo.TypeOf(n.Fun).Underlying().(*types.Signature)
	if !ok || !signature.Variadic() {
		return
	}
	params := signature.Params()
	last := params.At(params.Len() - 1).Type().(*types.Slice)
	if any, ok := last.Elem().Underlying().(*types.Interface); !ok || !any.Empty() {
		return
	}
	for i, arg := range n.Args {
		if text := w.TypesInfo.Types[arg].Value; i < params.Len()-1 && text != nil && text.Kind() == constant.String &&
			printsPointer.MatchString(constant.StringVal(text)) {
			w.forbid(arg.Pos(), "%%p: an address in memory is not the same twice")
		}
		if i >= params.Len()-1 && showsAddress(w.TypesInfo.TypeOf(arg)) {
			w.forbid(arg.Pos(), "printing a %s: it shows an address in memory, which is not the same twice",
				types.TypeString(w.TypesInfo.TypeOf(arg), types.RelativeTo(w.Pkg)))
		}
	}
}

// printsPointer finds the verb p with any flags, width and argument index.
var printsPointer = regexp.MustCompile(`(?:^|[^%])(?:%%)*%[-+# 0-9.*\[\]]*p`)

// showsAddress says whether fmt shows an address in memory for a value of the type. What is behind an interface is not known.
func showsAddress(t types.Type) bool { return (&printed{}).shows(t, true) }

// printed follows a type as fmt does.
type printed struct{ within []types.Type }

// shows judges a type; fmt calls the methods only of what it can reach through exported fields.
func (p *printed) shows(t types.Type, exported bool) bool {
	if t == nil || exported && printsItself(t) || slices.Contains(p.within, t) {
		return false
	}
	depth := len(p.within)
	p.within = append(p.within, t)
	defer func() { p.within = p.within[:depth] }()
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Pointer:
		return depth > 0 || !compound(u.Elem()) || p.shows(u.Elem(), exported)
	case *types.Chan, *types.Signature:
		return true
	case *types.Slice:
		return p.shows(u.Elem(), exported)
	case *types.Array:
		return p.shows(u.Elem(), exported)
	case *types.Map:
		return p.shows(u.Key(), exported) || p.shows(u.Elem(), exported)
	case *types.Struct:
		for field := range u.Fields() {
			if p.shows(field.Type(), exported && field.Exported()) {
				return true
			}
		}
	}
	return false
}

// compound is true for what fmt shows behind a pointer at the top.
func compound(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Array, *types.Map, *types.Slice, *types.Struct:
		return true
	}
	return false
}

// printsItself is true for types with a method that fmt calls.
func printsItself(t types.Type) bool {
	methods := types.NewMethodSet(t)
	return slices.ContainsFunc([]string{"Error", "Format", "GoString", "String"}, func(name string) bool {
		return methods.Lookup(nil, name) != nil
	})
}

func contains(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
