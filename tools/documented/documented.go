// Command documented checks that every package has a comment and that every exported name has one: constants, variables,
// types, functions, methods, fields of structs and methods of interfaces. It takes the roots of modules and fails with one
// line for each name without.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/simba-go/simba/tools/internal/source"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: documented ROOT...")
		os.Exit(2)
	}
	failed := false
	for _, root := range os.Args[1:] {
		module, err := source.Read(os.DirFS(root), root)
		if err != nil {
			fmt.Fprintln(os.Stderr, "documented:", err)
			os.Exit(2)
		}
		for _, name := range undocumented(module) {
			fmt.Fprintln(os.Stderr, name)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// undocumented lists what lacks a comment, with its position.
func undocumented(module *source.Module) []string {
	var missing []string
	report := func(pos token.Pos, what string) {
		missing = append(missing, fmt.Sprintf("%s: %s has no comment", module.Fset.Position(pos), what))
	}
	for _, pkg := range module.Packages {
		checkPackage(pkg, report)
		for _, file := range pkg.Files {
			// What a command or a test exports, nobody can import.
			if file.Test || file.Name.Name == "main" {
				continue
			}
			for _, decl := range file.Decls {
				checkDecl(decl, report)
			}
		}
	}
	return missing
}

type reporter func(pos token.Pos, what string)

// checkPackage wants the comment in a file that is not a test, if there is one: documentation is made from those.
func checkPackage(pkg *source.Package, report reporter) {
	files := slices.DeleteFunc(slices.Clone(pkg.Files), func(file source.File) bool { return file.Test })
	if len(files) == 0 {
		files = pkg.Files
	}
	if !slices.ContainsFunc(files, func(file source.File) bool { return says(file.Doc) }) {
		report(files[0].Package, "package "+files[0].Name.Name)
	}
}

func checkDecl(decl ast.Decl, report reporter) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		if receiver := receiver(decl); receiver != "" {
			if !ast.IsExported(receiver) {
				return
			}
			name = receiver + "." + name
		}
		if decl.Name.IsExported() && !says(decl.Doc) {
			report(decl.Name.Pos(), name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			checkSpec(decl, spec, report)
		}
	}
}

func checkSpec(decl *ast.GenDecl, spec ast.Spec, report reporter) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		// One comment may speak for a whole group of constants or variables.
		if !says(decl.Doc, spec.Doc, spec.Comment) {
			reportExported(spec.Names, "", report)
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		alone := !decl.Lparen.IsValid() && says(decl.Doc)
		if !alone && !says(spec.Doc, spec.Comment) {
			report(spec.Name.Pos(), spec.Name.Name)
		}
		checkMembers(spec, decl.Doc.Text()+spec.Doc.Text(), report)
	}
}

// checkMembers takes a name for documented too when the comment of its type, or of the group of types, speaks of it: that of
// io.Reader speaks of Read.
func checkMembers(spec *ast.TypeSpec, comment string, report reporter) {
	var members *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		members = typ.Fields
	case *ast.InterfaceType:
		members = typ.Methods
	default:
		return
	}
	for _, member := range members.List {
		if says(member.Doc, member.Comment) {
			continue
		}
		unspoken := slices.DeleteFunc(slices.Clone(member.Names), func(name *ast.Ident) bool {
			return slices.Contains(words(comment), name.Name)
		})
		reportExported(unspoken, spec.Name.Name+".", report)
	}
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

func reportExported(names []*ast.Ident, prefix string, report reporter) {
	for _, name := range names {
		if name.IsExported() {
			report(name.Pos(), prefix+name.Name)
		}
	}
}

// says is true when one of the comments has words. Text leaves out directives such as go:generate.
func says(comments ...*ast.CommentGroup) bool {
	return slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) != "" })
}

// receiver is the name of the type that a method belongs to, without pointer and type parameters.
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return ""
	}
	typ := decl.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.ParenExpr:
			typ = t.X
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			panic(fmt.Sprintf("a receiver of type %T", t)) // the parser lets no other through
		}
	}
}
