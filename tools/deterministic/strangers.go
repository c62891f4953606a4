package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"

	"github.com/simba-go/simba/tools/internal/source"
)

// strangers lists behaviours in packages that are not checked. It goes by the method that makes a type one, in the files for
// every system.
func strangers(module *source.Module, h house) []string {
	var problems []string
	for _, pkg := range module.Packages {
		if h.find(pkg.Dir) != nil {
			continue
		}
		for _, file := range pkg.Files {
			name := path.Join(pkg.Dir, path.Base(module.Fset.Position(file.Package).Filename))
			known := slices.ContainsFunc(h.strangers, func(e edge) bool { return e.file == name })
			if file.Test || known {
				continue
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && receives(f) {
					problems = append(problems, fmt.Sprintf("%s: a behaviour in a package that is not checked: add it to tools/deterministic/table.go",
						module.Fset.Position(f.Name.Pos())))
				}
			}
		}
	}
	return problems
}

// receives is true for a method Receive(actor.Context, actor.Message), whatever the parameters are called.
func receives(f *ast.FuncDecl) bool {
	if f.Recv == nil || f.Name.Name != "Receive" {
		return false
	}
	var params []string
	for _, field := range f.Type.Params.List {
		for range max(1, len(field.Names)) {
			params = append(params, types.ExprString(field.Type))
		}
	}
	return len(params) == 2 && (params[0] == "actor.Context" || params[0] == "Context")
}
