package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/simba-go/simba/tools/internal/source"
)

// misplaced says what is wrong with the edges: each is a file that needs to be one, and each file that this system does not
// build is an edge, because it was not checked. Files are named from the root.
func misplaced(h house, written, built, needed []string) []string {
	var problems []string
	for _, name := range h.edges() {
		switch {
		case !slices.Contains(written, name):
			problems = append(problems, fmt.Sprintf("table: there is no file %s", name))
		case slices.Contains(built, name) && !slices.Contains(needed, name):
			problems = append(problems, fmt.Sprintf("table: %s need not be an edge: nothing in it is forbidden", name))
		}
	}
	for _, name := range written {
		checked := h.find(path.Dir(name)) != nil && !slices.Contains(h.edges(), name)
		if checked && !slices.Contains(built, name) {
			problems = append(problems, fmt.Sprintf("%s: it is not built on this system, so it is not checked, and must be an edge", name))
		}
	}
	return problems
}

// edges are the files that are edges, from the root.
func (h house) edges() []string {
	var names []string
	for _, row := range h.packages {
		for _, e := range row.edges {
			names = append(names, path.Join(row.dir, e.file))
		}
	}
	return names
}

// sourceFiles are the files of the module, for whatever system, without tests.
func sourceFiles(module *source.Module) []string {
	var names []string
	for _, pkg := range module.Packages {
		for _, file := range pkg.Files {
			if !file.Test {
				names = append(names, path.Join(pkg.Dir, path.Base(module.Fset.Position(file.Package).Filename)))
			}
		}
	}
	return names
}

// builtFiles are the files of the packages that this system builds.
func builtFiles(root string, pkgs []*packages.Package) []string {
	var names []string
	for _, pkg := range pkgs {
		for _, file := range pkg.CompiledGoFiles {
			names = append(names, below(root, file))
		}
	}
	return names
}

// below names a file from the root.
func below(root, file string) string {
	absolute, err := filepath.Abs(root)
	if err == nil {
		file, err = filepath.Rel(absolute, file)
	}
	if err != nil {
		panic(err) // the go command has found the file below there
	}
	return filepath.ToSlash(file)
}
