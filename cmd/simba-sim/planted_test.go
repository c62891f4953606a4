package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/simba-go/simba/sim"
)

// planted is the command with a bug in the library: the drift of clocks is ignored.
type planted struct {
	t      *testing.T
	binary string
	folder string // in which it works
}

func plant(t *testing.T) *planted {
	t.Helper()
	file, err := filepath.Abs("../../term/deadline.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const right, wrong = "return remaining - b.loss(remaining) - b.Margin", "return remaining - b.Margin"
	if strings.Count(string(source), right) != 1 {
		t.Fatalf("%s does not contain %q once; plant another bug", file, right)
	}
	folder := t.TempDir()
	p := &planted{t: t, binary: filepath.Join(folder, "simba-sim.exe"), folder: t.TempDir()}
	bug, overlay := filepath.Join(folder, "deadline.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: bug}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{bug: strings.Replace(string(source), right, wrong, 1), overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", overlay, "-o", p.binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p
}

// run runs the command, which is to exit with a code, and returns what it prints to
// both outputs.
func (p *planted) run(code int, args ...string) (out, errs string) {
	p.t.Helper()
	var o, e strings.Builder
	cmd := exec.CommandContext(p.t.Context(), p.binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.folder, &o, &e
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%v exits with %d, want %d\n%s%s", args, got, code, &o, &e)
	}
	return o.String(), e.String()
}

func (p *planted) read(name string) trace {
	p.t.Helper()
	t, err := readTrace(filepath.Join(p.folder, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return t
}

var (
	advice = regexp.MustCompile(`(?m)^  go run ./cmd/simba-sim (.+)$`)
	ending = regexp.MustCompile(`(?s)\nBroken: invariant (\d+), .*, hash ([0-9a-f]{16})\.\n`)
)

// TestPlantedBug: a sweep finds a bug, and everything that it advises works on what it
// has written.
func TestPlantedBug(t *testing.T) {
	p := plant(t)
	out, errs := p.run(exitViolation, "sweep", "--seeds", "200", "--workers", "2")
	if !strings.Contains(errs, `invariant 2 "deadline before expiry"`) || strings.Contains(out, "No rule was broken") {
		t.Fatalf("the sweep ends with\n%s\nand tells\n%s", errs, out)
	}
	commands := advice.FindAllStringSubmatch(out, -1)
	if len(commands) != 4 {
		t.Fatalf("the sweep advises %q", commands)
	}
	files, err := filepath.Glob(filepath.Join(p.folder, "violation-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the sweep writes %v: %v", files, err)
	}
	file := filepath.Base(files[0])
	found := p.read(file)
	if found.Invariant != sim.DeadlineFirst.Number || found.Seed == nil || found.What == "" || found.Says != sim.DeadlineFirst.Says {
		t.Errorf("the trace says %+v", found)
	}
	endings := ending.FindStringSubmatch(out)
	if endings == nil {
		t.Fatalf("the sweep tells\n%s", out)
	}

	// run, shrink, replay and report, as it says.
	again, _ := p.run(exitViolation, strings.Fields(commands[0][1])...)
	shrunk, _ := p.run(0, strings.Fields(commands[1][1])...)
	told, _ := p.run(exitViolation, strings.Fields(commands[2][1])...)
	p.run(0, strings.Fields(commands[3][1])...)
	replayed, _ := p.run(exitViolation, "replay", file)
	for what, told := range map[string]string{"run": again, "replay": replayed} {
		if got := ending.FindStringSubmatch(told); got == nil || got[2] != endings[2] || got[1] != endings[1] {
			t.Errorf("%s ends with %q, want the hash %s and invariant %s", what, got, endings[2], endings[1])
		}
	}
	small := p.read(strings.TrimSuffix(file, ".json") + "-small.json")
	if small.Invariant != found.Invariant || len(small.Decisions) == 0 || len(small.Decisions) > len(found.Decisions)/2 || small.Seed == nil || *small.Seed != *found.Seed {
		t.Errorf("shrunk from %d decisions to %d, which break invariant %d:\n%s", len(found.Decisions), len(small.Decisions), small.Invariant, shrunk)
	}
	t.Logf("shrunk from %d decisions to %v", len(found.Decisions), small.Decisions)
	if got := ending.FindStringSubmatch(told); got == nil || got[1] != endings[1] {
		t.Errorf("what was shrunk ends with %q", got)
	}
	page, err := os.ReadFile(filepath.Join(p.folder, strings.TrimSuffix(file, ".json")+"-small.html"))
	if err != nil || !strings.Contains(string(page), sim.DeadlineFirst.Name) {
		t.Errorf("the page has %d bytes, and does not say what was broken: %v", len(page), err)
	}

	// However many workers there are, and however few tries.
	alone, _ := p.run(exitViolation, "sweep", "--seeds", "200", "--workers", "1", "--json")
	var result struct {
		FailedSeed uint64
		Invariant  int
		What       string
	}
	if err := json.Unmarshal([]byte(alone), &result); err != nil || result.FailedSeed != *found.Seed || result.Invariant != found.Invariant || result.What != found.What {
		t.Errorf("one worker finds %+v: %v", result, err)
	}
	p.run(0, "shrink", "--limit", "1", "--out", "hardly.json", file)
	if hardly := p.read("hardly.json"); hardly.Invariant != found.Invariant {
		t.Errorf("after one try, invariant %d is broken", hardly.Invariant)
	}
}
