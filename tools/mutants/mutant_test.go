package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestThePlantedBugsApply is the first to tell whoever changes the code that a bug is planted in. Whether they compile and
// are caught, `make mutants` finds out.
func TestThePlantedBugsApply(t *testing.T) {
	root, err := findRoot("")
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := load(filepath.Join(root, bugs))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if _, err := m.plant(root); err != nil {
			t.Errorf("%s %v", m.name, err)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := parse("m", "It is wrong\nin two lines.\ncaught by: 1 or 22\n\n@@ a/b.go\n-\told\n+\tnew\n \tkept\n\n \tmore\n\n@@ c.go\n-x\n\n")
	want := mutant{name: "m", bug: "It is wrong in two lines.", catchers: []int{1, 22}, hunks: []hunk{
		{file: "a/b.go", old: "\told\n\tkept\n\n\tmore\n", new: "\tnew\n\tkept\n\n\tmore\n"},
		{file: "c.go", old: "x\n"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "Wrong.\ncaught by: 1\n\n"
	for name, test := range map[string]struct{ text, want string }{
		"nothing":              {"", `the line "caught by: NUMBER" is missing above the first hunk`},
		"no invariant":         {"Wrong.\n\n@@ a.go\n-x\n", `the line "caught by: NUMBER" is missing above the first hunk`},
		"an invariant's name":  {"Wrong.\ncaught by: one term\n\n@@ a.go\n-x\n", `"caught by: one term" must be the number of an invariant, or several with "or" between them`},
		"invariant zero":       {"Wrong.\ncaught by: 0\n\n@@ a.go\n-x\n", `"caught by: 0" must be the number of an invariant, or several with "or" between them`},
		"no text":              {"\n\ncaught by: 1\n\n@@ a.go\n-x\n", `the line "caught by: NUMBER" is missing above the first hunk`},
		"no hunk":              {head, `it has no hunk, which starts with "@@ FILE"`},
		"a file outside":       {head + "@@ ../a.go\n-x\n", `the file "../a.go" must be one of the module, relative to its root`},
		"no file":              {head + "@@ \n-x\n", `the file "" must be one of the module, relative to its root`},
		"a line that is none":  {head + "@@ a.go\n-x\ny\n", `the line "y" in a hunk of a.go must start with '-', '+' or ' '`},
		"nowhere":              {head + "@@ a.go\n+x\n", "a hunk of a.go must say by old lines where it applies"},
		"a change of nothing":  {head + "@@ a.go\n-x\n+x\n", "a hunk of a.go changes nothing"},
		"nothing but old ones": {head + "@@ a.go\n x\n", "a hunk of a.go changes nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := parse("m", test.text); err == nil || err.Error() != test.want {
				t.Errorf("got %+v, %v\nwant %s", m, err, test.want)
			}
		})
	}
}

func TestPlant(t *testing.T) {
	const text = "one\n\ttwo\nthree\n\ttwo more\n"
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		hunks []hunk
		want  string // the text, or a part of the error
		ok    bool
	}{
		"a line":                {[]hunk{{"a", "three\n", "3\n"}}, "one\n\ttwo\n3\n\ttwo more\n", true},
		"the first and others":  {[]hunk{{"a", "one\n\ttwo\n", ""}}, "three\n\ttwo more\n", true},
		"one after the other":   {[]hunk{{"a", "three\n", "3\n"}, {"a", "3\n", "4\n"}}, "one\n\ttwo\n4\n\ttwo more\n", true},
		"the end of a line":     {[]hunk{{"a", "wo\n", "2\n"}}, "has them 0 times", false},
		"the beginning of one":  {[]hunk{{"a", "\ttwo m\n", "2\n"}}, "has them 0 times", false},
		"twice, after a change": {[]hunk{{"a", "three\n", "one\n"}, {"a", "one\n", "1\n"}}, "has them 2 times", false},
	} {
		t.Run(name, func(t *testing.T) {
			texts, err := mutant{hunks: test.hunks}.plant(root)
			switch {
			case test.ok && (err != nil || len(texts) != 1 || texts["a"] != test.want):
				t.Errorf("got %q, %v\nwant %q", texts, err, test.want)
			case !test.ok && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %q, %v\nwant %s", texts, err, test.want)
			}
		})
	}
}
