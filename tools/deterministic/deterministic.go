// Command deterministic checks that the behaviours depend on what they are sent and on their context alone: they read no
// clock, random source or environment, start nothing and wait for nothing, keep nothing outside of themselves, and no order
// of a map shows. It takes the root of the module and fails with one line for each violation.
//
// A loop over a map is accepted if its steps can be seen to commute, and otherwise if its line says why the order does not
// show:
//
//	for id, call := range calls { //simba:unordered each is ended by itself
//
// What the check cannot see: addresses behind interfaces that fmt prints, comparison functions that leave ties, and
// variables that are written through pointers to them.
package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/simba-go/simba/tools/internal/source"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: deterministic ROOT")
		os.Exit(2)
	}
	problems, err := check(os.Args[1], behaviours)
	if err != nil {
		fmt.Fprintln(os.Stderr, "deterministic:", err)
		os.Exit(2)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check returns what is wrong in the module whose root this is.
func check(root string, h house) ([]string, error) {
	module, err := source.Read(os.DirFS(root), root)
	if err != nil {
		return nil, err
	}
	pkgs, err := load(root, h)
	if err != nil {
		return nil, err
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{newAnalyzer(h)}, pkgs, nil)
	if err != nil {
		return nil, err
	}
	problems := strangers(module, h)
	var needed []string
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, action.Err
		}
		for _, d := range action.Diagnostics {
			at := action.Package.Fset.Position(d.Pos)
			at.Filename = path.Join(root, below(root, at.Filename))
			problems = append(problems, fmt.Sprintf("%s: %s", at, d.Message))
		}
		needed = append(needed, action.Result.([]string)...)
	}
	problems = append(problems, misplaced(h, sourceFiles(module), builtFiles(root, pkgs), needed)...)
	slices.Sort(problems)
	return problems, nil
}

func load(root string, h house) ([]*packages.Package, error) {
	var patterns []string
	for _, row := range h.packages {
		patterns = append(patterns, "./"+row.dir)
	}
	pkgs, err := packages.Load(&packages.Config{
		Dir: root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var broken []error
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			broken = append(broken, err)
		}
	}
	return pkgs, errors.Join(broken...)
}
