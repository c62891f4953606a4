package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const house = "testdata/house"

// runMutants runs the command as a person does.
func runMutants(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// TestEveryKindOfFailureIsReportedByName runs all planted bugs of the house.
func TestEveryKindOfFailureIsReportedByName(t *testing.T) {
	code, stdout, stderr := runMutants(t, "-root", house, "-seeds", "100")
	if code != 1 || stderr != "" {
		t.Errorf("code %d, want 1; stderr %q, want none", code, stderr)
	}
	for _, want := range []string{
		"\ndoor-open         1 the door is shut  7      6\n",
		"\nroom-added        2 three rooms       1      40 (invariant 1)\n",
		"\nother-invariant   1 the door is shut  1      -\n",
		"\nsurvivor          -                   -      -\n",
		"\ngone does not apply: house.go must have the old lines once, and has them 0 times:\n\treturn visitor < 1\n",
		"\ntwice does not apply: house.go must have the old lines once, and has them 2 times:\n\treturn 3\n",
		"\nno-such-file does not apply: open ",
		"\ndoes-not-compile does not compile: exit status 1\n",
		"cannot use visitor (variable of type int) as bool value in return statement",
		"\nsurvivor survives 100 seeds\n",
		"\nother-invariant is caught by invariant 1, not by 2: seed 0: visitor 0 is inside\n",
		"\nfails-otherwise is not caught, but the tests fail: exit status 1\n",
		"the house has fallen down\n",
		"\n2 of 9 bugs caught by the invariant that they name, 1 shrunk to at most 15 decisions, which must be three in four\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(stdout)
	}
}

func TestChosenBugsAsJSON(t *testing.T) {
	code, stdout, stderr := runMutants(t, "-root", house, "-seeds", "100", "-json", "room-added")
	if code != 0 || stderr != "" {
		t.Errorf("code %d, want 0; stderr %q, want none", code, stderr)
	}
	var got struct {
		OK      bool
		Mutants int
		Results []result
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if !got.OK || got.Mutants != 1 || len(got.Results) != 1 {
		t.Fatalf("got %+v, want one good result", got)
	}
	r := got.Results[0]
	if r.Name != "room-added" || r.Bug != "There is a room too many." || r.Caught == nil || *r.Caught != (violation{Invariant: 2, Name: "three rooms", Message: "there are 4", Seeds: 1}) {
		t.Errorf("got %+v", r)
	}
}

func TestWithoutShrinkingNobodyJudgesIt(t *testing.T) {
	code, stdout, _ := runMutants(t, "-root", house, "-seeds", "100", "-shrink", "0", "door-open")
	if code != 0 || !strings.Contains(stdout, "\ndoor-open  1 the door is shut  7      -\n") {
		t.Errorf("code %d: %s", code, stdout)
	}
}

// TestDryRun does not find out what the tests say.
func TestDryRun(t *testing.T) {
	keep := t.TempDir()
	code, stdout, _ := runMutants(t, "-root", house, "-n", "-keep", keep, "survivor", "does-not-compile")
	if code != 1 || !strings.HasPrefix(stdout, "does-not-compile does not compile") || !strings.HasSuffix(stdout, "\n1 of 2 bugs apply and compile\n") {
		t.Errorf("code %d: %s", code, stdout)
	}
	text, err := os.ReadFile(filepath.Join(keep, "survivor", "overlay.json"))
	if err != nil || !strings.Contains(string(text), filepath.Join(keep, "survivor", "house.go")) {
		t.Errorf("the overlay is %s, and the error %v", text, err)
	}
}

// TestWithoutABugTheTestsMustPass: whatever fails them would be taken for what the bug does.
func TestWithoutABugTheTestsMustPass(t *testing.T) {
	for name, test := range map[string]struct{ file, old, new, want string }{
		"they fail":    {"house.go", "visitor < 0", "visitor > 50", "must pass, and they fail: exit status 1\n"},
		"are not Go":   {"house.go", "func Open", "fun Open", "without a planted bug, ./props_test does not compile"},
		"are not here": {"props_test/worlds_test.go", "func Test", "func Tess", "./props_test has no test named TestSafety or TestWorld"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(house)); err != nil {
				t.Fatal(err)
			}
			replaceIn(t, filepath.Join(root, test.file), test.old, test.new)
			code, stdout, stderr := runMutants(t, "-root", root, "-seeds", "100", "door-open")
			if code != 2 || stdout != "" || !strings.Contains(stderr, test.want) {
				t.Errorf("code %d, want 2; stdout %q, want none; stderr %q, want %q", code, stdout, stderr, test.want)
			}
		})
	}
}

func replaceIn(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(from), []byte(to)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no such flag":   {[]string{"-x"}, "flag provided but not defined: -x"},
		"no such bug":    {[]string{"-root", house, "dor-open"}, `mutants: there is no mutant "dor-open"; -list shows them`},
		"no such folder": {[]string{"-root", t.TempDir()}, "mutants: no .mutant files in "},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runMutants(t, test.args...)
			if code != 2 || stdout != "" || !strings.HasPrefix(stderr, test.want) {
				t.Errorf("code %d, want 2; stdout %q, want none; stderr %q, want %q", code, stdout, stderr, test.want)
			}
		})
	}
}

func TestList(t *testing.T) {
	code, stdout, _ := runMutants(t, "-root", house, "-list", "room-added", "gone")
	const want = "room-added (invariant 5 or 2)\n\tThere is a room too many.\ngone (invariant 1)\n\tIt is about a line that the house does not have any more.\n"
	if code != 0 || stdout != want {
		t.Errorf("code %d:\n%s", code, stdout)
	}
}
