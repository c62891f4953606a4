package source

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func files(names ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, name := range names {
		fsys[name] = &fstest.MapFile{Data: []byte("package p\n")}
	}
	return fsys
}

func TestReadFindsEveryFileWhateverItIsBuiltFor(t *testing.T) {
	fsys := files("root.go", "actor/clock_windows.go", "actor/clock_test.go", "actor/generate.go", "backend/sqlite/open.go")
	fsys["actor/generate.go"].Data = []byte("//go:build ignore\n\npackage main\n")
	module, err := Read(fsys, "here")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pkg := range module.Packages {
		for _, file := range pkg.Files {
			line := pkg.Dir + " " + module.Fset.Position(file.Package).Filename
			if file.Test {
				line += " test"
			}
			got = append(got, line)
		}
	}
	want := []string{
		"actor here/actor/clock_test.go test",
		"actor here/actor/clock_windows.go",
		"actor here/actor/generate.go",
		"backend/sqlite here/backend/sqlite/open.go",
		". here/root.go",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadLeavesOutWhatIsNotOfTheModule(t *testing.T) {
	fsys := files("a/a.go", "a/testdata/x.go", "vendor/v/v.go", ".tmp/x.go", "_old/x.go", "a/_x.go", "tools/t.go", "tools/sub/s.go", "a/README.md")
	fsys["tools/go.mod"] = &fstest.MapFile{Data: []byte("module tools\n")}
	module, err := Read(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(module.Packages) != 1 || len(module.Packages[0].Files) != 1 {
		t.Errorf("got %d packages, want only a/a.go", len(module.Packages))
	}
}

func TestReadFailsOn(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"a file that does not parse": {"a.go": {Data: []byte("package")}},
		"a folder without Go files":  {"README.md": {}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(fsys, "."); err == nil {
				t.Error("got no error")
			}
		})
	}
}
