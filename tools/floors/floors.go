// Command floors checks that the imports of the project go down only, as its table says, and that no driver can be
// reached from the core. It takes the root of the module and fails with one line for each import that breaks the table.
package main

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/simba-go/simba/tools/internal/source"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: floors ROOT")
		os.Exit(2)
	}
	project, err := source.Read(os.DirFS(os.Args[1]), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "floors:", err)
		os.Exit(2)
	}
	problems := append(flaws(floors), violations(project, floors)...)
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// flaws says what is wrong with the table itself. Without flaws it has no cycle, and nothing but core can be reached from
// the core, however long the way.
func flaws(table []floor) []string {
	var problems []string
	below := map[string]floor{}
	for _, row := range table {
		if _, twice := below[row.pkg]; twice {
			problems = append(problems, fmt.Sprintf("table: %s has two floors: join them", label(row.pkg)))
		}
		for _, pkg := range strings.Fields(row.project) {
			lower, ok := below[pkg]
			if !ok {
				problems = append(problems, fmt.Sprintf("table: %s may import %s, which is not below it", label(row.pkg), label(pkg)))
			} else if row.core && !lower.core {
				problems = append(problems, fmt.Sprintf("table: %s is core and may import %s, which is not", label(row.pkg), label(pkg)))
			}
		}
		below[row.pkg] = row
	}
	return problems
}

// violations says which imports of the project the table does not allow.
func violations(project *source.Module, table []floor) []string {
	var problems []string
	for _, pkg := range project.Packages {
		at := slices.IndexFunc(table, func(row floor) bool { return row.pkg == pkg.Dir })
		if at < 0 {
			problems = append(problems, fmt.Sprintf("%s: this package has no floor: give it a line in tools/floors/table.go", pkg.Dir))
			continue
		}
		for _, file := range pkg.Files {
			for _, spec := range file.Imports {
				if why := table[at].refuses(importPath(spec), file.Test); why != "" {
					problems = append(problems, fmt.Sprintf("%s: %s", project.Fset.Position(spec.Pos()), why))
				}
			}
		}
	}
	return problems
}

// refuses says why a file of this floor may not import the path, or nothing when it may.
func (row floor) refuses(imported string, test bool) string {
	inside, outside := row.project, row.outside
	if test {
		// Its external tests import the package itself.
		inside = strings.Join([]string{inside, row.pkg, row.tests, testProject}, " ")
		outside = strings.Join([]string{outside, row.drivers, testOutside}, " ")
	}
	pkg, ours := projectPackage(imported)
	switch {
	case ours && !slices.Contains(strings.Fields(inside), pkg):
		return fmt.Sprintf("%s may not import %s, only: %s", label(row.pkg), label(pkg), list(inside))
	case ours:
		return ""
	case standard(imported) && row.core && !test && covers(heavy, imported):
		return fmt.Sprintf("%s is core and may not import %q, which is heavy", label(row.pkg), imported)
	case !standard(imported) && !covers(outside, imported):
		return fmt.Sprintf("%s may not import %q, from outside only: %s", label(row.pkg), imported, list(outside))
	}
	return ""
}

func importPath(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has unquoted it before
	}
	return name
}

// projectPackage is the folder of an import of the project's own.
func projectPackage(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// standard goes by the dot that the first element of every other import path has.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// covers is true when the list has the path or a parent of it.
func covers(list, imported string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(entry string) bool {
		return imported == entry || strings.HasPrefix(imported, entry+"/")
	})
}

func label(pkg string) string {
	if pkg == "." {
		return path.Base(module)
	}
	return pkg
}

func list(names string) string {
	if strings.TrimSpace(names) == "" {
		return "nothing"
	}
	return strings.Join(strings.Fields(names), ", ")
}
