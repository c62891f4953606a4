package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/simba-go/simba/tools/internal/source"
)

func check(t *testing.T, files map[string]string) string {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	module, err := source.Read(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(undocumented(module), "\n")
}

func TestEveryKindOfName(t *testing.T) {
	for name, test := range map[string]struct{ decl, missing string }{
		"const":                     {"const A = 1", "A"},
		"const with comment":        {"// A is one.\nconst A = 1", ""},
		"const with line comment":   {"const A = 1 // one", ""},
		"group":                     {"const (\n\ta = iota\n\tB\n)", "B"},
		"group with comment":        {"// What can happen.\nconst (\n\tA = iota\n\tB\n)", ""},
		"group with some comments":  {"const (\n\t// A is one.\n\tA = 1\n\tB = 2\n)", "B"},
		"var":                       {"var A, b = 1, 2", "A"},
		"func":                      {"func A() {}", "A"},
		"func with comment":         {"// A does it.\nfunc A() {}", ""},
		"func with directive":       {"//go:noinline\nfunc A() {}", "A"},
		"func with empty comment":   {"//\nfunc A() {}", "A"},
		"unexported func":           {"func a() {}", ""},
		"type":                      {"type A int", "A"},
		"type with comment":         {"// A counts.\ntype A int", ""},
		"alias":                     {"type A = int", "A"},
		"types under one comment":   {"// All of them.\ntype (\n\tA int\n)", "A"},
		"method":                    {"// A is.\ntype A int\nfunc (a A) M() {}", "A.M"},
		"method of a pointer":       {"// A is.\ntype A int\nfunc (a *A) M() {}", "A.M"},
		"method of a generic":       {"// A is.\ntype A[T any] []T\nfunc (a *A[T]) M() {}", "A.M"},
		"method of a generic pair":  {"// A is.\ntype A[K comparable, V any] map[K]V\nfunc (a A[K, V]) M() {}", "A.M"},
		"method with comment":       {"// A is.\ntype A int\n\n// M does it.\nfunc (a A) M() {}", ""},
		"method of unexported type": {"type a int\nfunc (x a) M() {}", ""},
		"field":                     {"// A is.\ntype A struct { f int; F int }", "A.F"},
		"field with comment":        {"// A is.\ntype A struct {\n\t// F counts.\n\tF int\n\tG int // also\n}", ""},
		"field of unexported type":  {"type a struct { F int }", ""},
		"embedded field":            {"// B is.\ntype B int\n\n// A is.\ntype A struct { B }", ""},
		"interface method":          {"// A is.\ntype A interface { M() }", "A.M"},
		"field in its type's text":  {"// A is. F, which counts.\ntype A struct { F, G int }", "A.G"},
		"method in its type's text": {"// A is. Its M(x) does it.\ntype A interface { M(x int) }", ""},
		"part of a word":            {"// A is Manifold.\ntype A interface { M() }", "A.M"},
		"types of a group":          {"type (\n\t// A is. F counts.\n\tA struct { F int }\n\t// B is.\n\tB struct { F int }\n)", "B.F"},
		"field in the group's text": {"// Each has an F.\ntype (\n\t// A is.\n\tA struct { F, G int }\n)", "A.G"},
		"constraint":                {"// A is.\ntype A interface { ~int | ~string }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(t, map[string]string{"p/p.go": "// Package p is.\npackage p\n" + test.decl + "\n"})
			if test.missing == "" {
				if got != "" {
					t.Errorf("got %q, want nothing", got)
				}
				return
			}
			// Exactly one line, and it is about the right name.
			if strings.Contains(got, "\n") || !strings.HasPrefix(got, "p/p.go:") || !strings.HasSuffix(got, ": "+test.missing+" has no comment") {
				t.Errorf("got %q, want one line about %s", got, test.missing)
			}
		})
	}
}

func TestPackageComment(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in any file":           {map[string]string{"p/a.go": "package p", "p/b.go": "// Package p is.\npackage p"}, ""},
		"nowhere":               {map[string]string{"p/a.go": "package p", "p/b.go": "package p"}, "p/a.go:1:1: package p has no comment"},
		"of another package":    {map[string]string{"p/a.go": "package p", "q/b.go": "// Package q is.\npackage q"}, "p/a.go:1:1: package p has no comment"},
		"in a test only":        {map[string]string{"p/a.go": "package p", "p/a_test.go": "// Package p is.\npackage p"}, "p/a.go:1:1: package p has no comment"},
		"in a package of tests": {map[string]string{"p/a_test.go": "// Package p is.\npackage p"}, ""},
		"not even there":        {map[string]string{"p/a_test.go": "package p"}, "p/a_test.go:1:1: package p has no comment"},
		"a build tag is none":   {map[string]string{"p/a.go": "//go:build linux\n\npackage p"}, "p/a.go:3:1: package p has no comment"},
		"of a command":          {map[string]string{"p/a.go": "package main"}, "p/a.go:1:1: package main has no comment"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, test.files); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNamesThatNobodyCanImport(t *testing.T) {
	got := check(t, map[string]string{
		"p/p.go":      "// Package p is.\npackage p",
		"p/p_test.go": "package p\nfunc TestA() {}",
		"cmd/main.go": "// Command cmd does.\npackage main\nfunc A() {}",
	})
	if got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
