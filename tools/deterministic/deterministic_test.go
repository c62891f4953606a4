package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each folder of testdata has one kind of thing, and says what is wrong where.
func TestAnalyzer(t *testing.T) {
	h := house{module: "house", packages: []checked{
		{dir: "sources"},
		{dir: "waiting"},
		{dir: "order"},
		{dir: "free"},
		{dir: "printing"},
		{dir: "variables"},
		{dir: "variables/other"},
		{dir: "edges", edges: []edge{{file: "edge.go", why: "it reads the clock", offers: "New Clock.Base"}, {file: "leaning.go"}, {file: "needless.go"}}},
		{dir: "user"},
	}}
	patterns := []string{"house/unlisted", "housing"}
	for _, row := range h.packages {
		patterns = append(patterns, "house/"+row.dir)
	}
	var needed []string
	for _, result := range analysistest.Run(t, analysistest.TestData(), newAnalyzer(h), patterns...) {
		needed = append(needed, result.Result.([]string)...)
	}
	if !slices.Equal(needed, []string{"edges/edge.go", "edges/leaning.go"}) {
		t.Errorf("edges are needed for %q", needed)
	}
}

// moduleOf makes a module of files.
func moduleOf(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	files["go.mod"] = "module house\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestCheck(t *testing.T) {
	elsewhere := "windows"
	if runtime.GOOS == elsewhere {
		elsewhere = "linux"
	}
	const behaviour = "package p\n\nfunc (b b) Receive(ctx actor.Context, msg actor.Message) {}\n\ntype b int\n"
	for name, test := range map[string]struct {
		file, text string
		edges      []edge
		want       string // below the root
	}{
		"nothing":              {"b/b.go", "package b\n", nil, ""},
		"a violation":          {"b/b.go", "package b\n\nfunc f() { go f() }\n", nil, "b/b.go:3:12: go: a behaviour starts no goroutine; what blocks runs in Context.Go"},
		"in a test":            {"b/b_test.go", "package b\n\nfunc f() { go f() }\n", nil, ""},
		"an edge":              {"b/b.go", "package b\n\nfunc f() { go f() }\n", []edge{{file: "b.go"}}, ""},
		"a needless edge":      {"b/b.go", "package b\n", []edge{{file: "b.go"}}, "table: b/b.go need not be an edge: nothing in it is forbidden"},
		"an edge of nothing":   {"b/b.go", "package b\n", []edge{{file: "c.go"}}, "table: there is no file b/c.go"},
		"for another system":   {"b/b_" + elsewhere + ".go", "package b\n", nil, "b/b_" + elsewhere + ".go: it is not built on this system, so it is not checked, and must be an edge"},
		"an edge elsewhere":    {"b/b_" + elsewhere + ".go", "package b\n", []edge{{file: "b_" + elsewhere + ".go"}}, ""},
		"a stranger":           {"p/p.go", behaviour, nil, "p/p.go:3:12: a behaviour in a package that is not checked: add it to tools/deterministic/table.go"},
		"a stranger elsewhere": {"p/p_" + elsewhere + ".go", behaviour, nil, "p/p_" + elsewhere + ".go:3:12: a behaviour in a package that is not checked: add it to tools/deterministic/table.go"},
		"a stranger in a test": {"p/p_test.go", behaviour, nil, ""},
		"a known stranger":     {"known/p.go", behaviour, nil, ""},
		"another method":       {"p/p.go", strings.ReplaceAll(behaviour, "Receive", "Received"), nil, ""},
		"other parameters":     {"p/p.go", strings.ReplaceAll(behaviour, "actor.Context", "context.Context"), nil, ""},
		"a function":           {"p/p.go", strings.ReplaceAll(behaviour, "(b b) ", ""), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := moduleOf(t, map[string]string{"b/doc.go": "package b\n", test.file: test.text})
			h := house{module: "house", packages: []checked{{dir: "b", edges: test.edges}}, strangers: []edge{{file: "known/p.go"}}}
			problems, err := check(root, h)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.Join(problems, "\n"), filepath.ToSlash(root)+"/", "")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A check that cannot read the code must not pass.
func TestCheckFailsOnWhatDoesNotCompile(t *testing.T) {
	for name, text := range map[string]string{"syntax": "package b\n\nfunc", "types": "package b\n\nvar x int = true\n"} {
		t.Run(name, func(t *testing.T) {
			root := moduleOf(t, map[string]string{"b/b.go": text})
			if problems, err := check(root, house{module: "house", packages: []checked{{dir: "b"}}}); err == nil {
				t.Errorf("got no error, and the problems %q", problems)
			}
		})
	}
}

// An exception without a reason is none.
func TestTableGivesReasons(t *testing.T) {
	edges := behaviours.strangers
	for _, row := range behaviours.packages {
		edges = append(edges, row.edges...)
	}
	for _, e := range edges {
		if e.why == "" {
			t.Errorf("%s: say why it is an edge", e.file)
		}
	}
	for _, l := range libraries {
		if l.only+l.except != "" && l.instead == "" {
			t.Errorf("%s: say what to do in place of what is forbidden", l.path)
		}
	}
}
