package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A lab builds the module with one bug planted at a time, and lets its simulated worlds look for it.
type lab struct {
	dry      bool   // only see that the bugs apply and compile
	root     string // of the module
	dir      string // where overlays and binaries go
	pkg      string // whose tests are the worlds
	seeds    int    // that a bug may take
	baseline int    // seeds that must pass without a bug
	shrink   time.Duration
	limit    time.Duration // for one run of a test binary
}

// A result is what became of one mutant.
type result struct {
	Name     string     `json:"name"`
	Bug      string     `json:"bug"`
	Catchers []int      `json:"catchers"`
	Caught   *violation `json:"caught,omitempty"` // by a sweep over seeds
	Shrunk   *violation `json:"shrunk,omitempty"` // by rapid
	Problem  string     `json:"problem,omitempty"`
	Took     float64    `json:"seconds"`
}

// examine plants a bug and returns how it was caught. Whatever keeps it from being caught by the invariant that it names is
// a problem of the mutant's.
func (l *lab) examine(ctx context.Context, m mutant) result {
	start := time.Now()
	r := result{Name: m.name, Bug: m.bug, Catchers: m.catchers}
	if err := l.chase(ctx, m, &r); err != nil {
		r.Problem = err.Error()
	}
	r.Took = time.Since(start).Seconds()
	return r
}

func (l *lab) chase(ctx context.Context, m mutant, r *result) error {
	binary, err := l.build(ctx, m)
	if err != nil {
		return err
	}
	defer os.Remove(binary) // of which there would be a gigabyte in the end
	if l.dry {
		return nil
	}
	output, err := l.run(ctx, binary, "^TestSafety$", "-seeds", fmt.Sprint(l.seeds))
	if r.Caught = sweepVerdict(output); r.Caught == nil {
		return survived(err, output, l.seeds)
	}
	if !m.catches(r.Caught.Invariant) {
		return fmt.Errorf("is caught by invariant %d, not by %s: seed %d: %s",
			r.Caught.Invariant, oneOf(m.catchers), r.Caught.Seeds-1, r.Caught.Message)
	}
	if l.shrink <= 0 {
		return nil
	}
	output, _ = l.run(ctx, binary, "^TestWorld$", fmt.Sprintf("-rapid.checks=%d", l.seeds), "-rapid.seed=1", // the same worlds each time
		fmt.Sprintf("-rapid.shrinktime=%v", l.shrink), "-rapid.nofailfile")
	r.Shrunk = shrinkVerdict(output)
	return nil
}

// survived says why a sweep has named no violation. If the tests have failed for another reason, that tells more.
func survived(err error, output string, seeds int) error {
	if err != nil {
		return fmt.Errorf("is not caught, but the tests fail: %w\n%s", err, end(output))
	}
	return fmt.Errorf("survives %d seeds", seeds)
}

// check runs the tests without a bug, which must pass: or else the bugs would not be what fails.
func (l *lab) check(ctx context.Context) error {
	binary, err := l.build(ctx, mutant{name: "unmutated"})
	if err != nil {
		return fmt.Errorf("without a planted bug, %s %w", l.pkg, err)
	}
	defer os.Remove(binary)
	output, err := l.run(ctx, binary, "^(TestSafety|TestWorld)$", "-seeds", fmt.Sprint(l.baseline), "-rapid.checks=100", "-rapid.nofailfile")
	if err != nil {
		return fmt.Errorf("without a planted bug, the tests must pass, and they fail: %w\n%s", err, end(output))
	}
	if strings.Contains(output, "no tests to run") {
		return fmt.Errorf("%s has no test named TestSafety or TestWorld", l.pkg)
	}
	return nil
}

// build makes a test binary with the bug planted, by an overlay: no file of the module is touched.
func (l *lab) build(ctx context.Context, m mutant) (binary string, err error) {
	texts, err := m.plant(l.root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(l.dir, m.name)
	overlay, err := writeOverlay(dir, l.root, texts)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "worlds.test")
	// Without symbols, for linking is most of the time.
	cmd := l.command(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, l.pkg)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, end(string(output)))
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%s has no tests", l.pkg)
	}
	return binary, nil
}

// writeOverlay writes the texts below dir, and a file that tells the go command to read them instead of the module's.
func writeOverlay(dir, root string, texts map[string]string) (overlay string, err error) {
	replace := map[string]string{}
	for name, text := range texts {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = file
	}
	data, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(overlay, data, 0o644))
}

// run runs one test of a binary, and returns what it has printed.
func (l *lab) run(ctx context.Context, binary, test string, args ...string) (output string, err error) {
	cmd := l.command(ctx, binary, append([]string{"-test.run", test, "-test.timeout", l.limit.String()}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), errors.Join(ctx.Err(), err)
}

// command is one that takes a single processor, for others run beside it.
func (l *lab) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = l.root
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOFLAGS="+os.Getenv("GOFLAGS")+" -p=1", "GOWORK=off")
	cmd.WaitDelay = time.Second
	return cmd
}

// end is enough of an output to see what went wrong.
func end(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	const enough = 20
	return "\t" + strings.Join(lines[max(0, len(lines)-enough):], "\n\t")
}

func oneOf(numbers []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), " or "), "[]")
}
