package main

import (
	"slices"
	"strings"
)

// A house is what is checked.
type house struct {
	module   string // its path
	packages []checked
	// strangers are files outside of these packages with behaviours that need no check.
	strangers []edge
}

// checked is a package whose files are all checked, but for its edges.
type checked struct {
	dir   string // below the module's root
	edges []edge
}

// An edge is a file where the deterministic world ends.
type edge struct {
	file string
	why  string
	// offers are those of its functions and methods that checked code may use, separated by spaces. A method is written
	// Type.Method.
	offers string
}

// find returns the package in this folder, or nil.
func (h house) find(dir string) *checked {
	if i := slices.IndexFunc(h.packages, func(c checked) bool { return c.dir == dir }); i >= 0 {
		return &h.packages[i]
	}
	return nil
}

// own returns the folder of a package of the module's own.
func (h house) own(importPath string) (dir string, ok bool) {
	if importPath == h.module {
		return ".", true
	}
	return strings.CutPrefix(importPath, h.module+"/")
}

// edge returns the edge that the file is, or nil.
func (c checked) edge(file string) *edge {
	if i := slices.IndexFunc(c.edges, func(e edge) bool { return e.file == file }); i >= 0 {
		return &c.edges[i]
	}
	return nil
}
