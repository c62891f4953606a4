// Package source reads the Go files of one module the way the repository's checks need them: all of them, whatever system
// or build tag a file is for, because `go list` shows only what the machine at hand would build.
package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// A Module is the parsed source of one module.
type Module struct {
	// Fset resolves the positions of every file.
	Fset *token.FileSet
	// Packages are in the order of their folders.
	Packages []*Package
}

// A Package is one folder with Go files. An external test package counts to the folder it is in.
type Package struct {
	// Dir is the folder, slash-separated and relative to the module's root, which is ".".
	Dir string
	// Files are in the order of their names.
	Files []File
}

// A File is one parsed Go file.
type File struct {
	*ast.File
	// Test is true for a file that only tests are built from.
	Test bool
}

// Read parses the module whose root is fsys, comments included. Positions name files below prefix. Like the go command it
// leaves out testdata, vendor, whatever starts with a dot or an underscore, and the modules inside the module.
func Read(fsys fs.FS, prefix string) (*Module, error) {
	module := &Module{Fset: token.NewFileSet()}
	packages := map[string]*Package{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.IsDir():
			if hidden(name) || holdsModule(fsys, name) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go" || hidden(name):
			return nil
		}
		file, err := parse(module.Fset, fsys, prefix, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if packages[dir] == nil {
			packages[dir] = &Package{Dir: dir}
			module.Packages = append(module.Packages, packages[dir])
		}
		packages[dir].Files = append(packages[dir].Files, file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(module.Packages) == 0 {
		// A check that looks in the wrong folder must not pass.
		return nil, fmt.Errorf("no Go files below %q: name the root of a module", prefix)
	}
	return module, nil
}

func parse(fset *token.FileSet, fsys fs.FS, prefix, name string) (File, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return File{}, err
	}
	file, err := parser.ParseFile(fset, path.Join(prefix, name), text, parser.ParseComments|parser.SkipObjectResolution)
	return File{File: file, Test: strings.HasSuffix(name, "_test.go")}, err
}

func hidden(name string) bool {
	base := path.Base(name)
	return base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func holdsModule(fsys fs.FS, dir string) bool {
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}
