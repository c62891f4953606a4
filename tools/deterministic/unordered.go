package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// unorderedMaps are the functions of package maps that show the order of a map, or call a function in it.
var unorderedMaps = map[string]bool{"All": true, "DeleteFunc": true, "EqualFunc": true, "Keys": true, "Values": true}

// orderLosers are the functions that an order of a map does not survive.
var orderLosers = map[string]bool{
	"slices.Sorted": true, "slices.SortedFunc": true, "slices.SortedStableFunc": true,
	"maps.Collect": true, "maps.Insert": true,
}

// losesOrder notes which iterators over maps are handed to a function that sorts them.
func (w *walker) losesOrder(n *ast.CallExpr, callee types.Object) {
	if callee == nil || callee.Pkg() == nil || !orderLosers[callee.Pkg().Path()+"."+callee.Name()] {
		return
	}
	for _, arg := range n.Args {
		call, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok {
			continue
		}
		fun := ast.Unparen(call.Fun)
		if instance, ok := fun.(*ast.IndexExpr); ok {
			fun = instance.X
		}
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			w.sorted[sel.Sel] = true
		}
	}
}

// unordered is for a place where the order of a map shows, unless its line says why it does not.
func (w *walker) unordered(at token.Pos, what string) {
	if e := w.excuse[w.Fset.Position(at).Line]; e != nil && e.known {
		e.used = true
		return
	}
	w.forbid(at, "%s: its order is never the same; sort the keys first, or say behind it why that does not show: %s why", what, excuseMark)
}

// excuseMark begins the comment that says why the order of a map does not show.
const excuseMark = directive + "unordered"

const directive = "//simba:"

// excuses are the comments of a file that are directives of ours, by line.
type excuses map[int]*excuse

type excuse struct {
	at     token.Pos
	text   string
	known  bool // it is an [excuseMark]
	reason string
	used   bool
}

func (w *walker) readExcuses() excuses {
	all := excuses{}
	for _, group := range w.file.Comments {
		for _, comment := range group.List {
			if !strings.HasPrefix(comment.Text, directive) {
				continue
			}
			mark, reason, _ := strings.Cut(comment.Text, " ")
			reason, _, _ = strings.Cut(reason, "//")
			all[w.Fset.Position(comment.Pos()).Line] = &excuse{
				at: comment.Pos(), text: mark, known: mark == excuseMark, reason: strings.TrimSpace(reason),
			}
		}
	}
	return all
}

// rest is what is wrong with the comments once the whole file has been seen.
func (all excuses) rest() []analysis.Diagnostic {
	return all.judge(func(e *excuse) string {
		switch {
		case !e.known:
			return e.text + ": there is no such comment; there is " + excuseMark
		case e.reason == "":
			return excuseMark + ": say why the order does not show"
		case !e.used:
			return excuseMark + ": nothing on this line needs it"
		}
		return ""
	})
}

// inEdge is what is wrong with the comments of an edge: they are there at all.
func (all excuses) inEdge() []analysis.Diagnostic {
	return all.judge(func(e *excuse) string { return e.text + ": nothing needs it, because this file is an edge" })
}

func (all excuses) judge(wrong func(e *excuse) string) []analysis.Diagnostic {
	var found []analysis.Diagnostic
	for _, e := range all {
		if message := wrong(e); message != "" {
			found = append(found, analysis.Diagnostic{Pos: e.at, Message: message})
		}
	}
	return found
}
