//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// line waits for a line of the demo that contains a text.
func (p *process) untilLine(text string) string {
	p.t.Helper()
	for {
		if line := p.line(); strings.Contains(line, text) {
			return line
		}
	}
}

// litter is what a demo has left behind.
func (w *world) litter() []string {
	w.t.Helper()
	found, err := filepath.Glob(w.path("simba-demo-*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func TestDemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("demo")
	for _, text := range []string{
		"Three processes, one lease of 2s", "leads, with token", "kill -9", "leads, with the higher token", "✓  takeover after the crash in",
		"starts again", "SIGTERM to", "leads, with the higher token", "✓  handover in", "the lease is free",
		"✓  never two leaders at once", "✓  tokens only grow",
	} {
		p.untilLine(text)
	}
	p.exits(0)
	if rest := p.rest(); rest != "" || p.stderr.String() != "" {
		t.Errorf("at the end: %q, stderr %q", rest, p.stderr)
	}
	if left := w.litter(); len(left) > 0 {
		t.Errorf("it has left %q behind", left)
	}
}

func (w *world) demoFile(name string) string {
	w.t.Helper()
	folders := w.litter()
	if len(folders) != 1 {
		w.t.Fatalf("got the folders %q, want one", folders)
	}
	return filepath.Join(folders[0], name)
}

// A process that writes although it does not lead any more is noticed.
func TestDemoFindsSecondLeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("demo")
	p.untilLine("takeover after the crash")
	forged := record{kind: recordWork, token: 1, label: "node-a"}
	f, err := os.OpenFile(w.demoFile("journal"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(forged.String()); err != nil {
		t.Fatal(err)
	}
	p.fails("two leaders at once: node-a wrote under token 1 after")
}

// fails waits for the demo to end with a complaint.
func (p *process) fails(because string) {
	p.t.Helper()
	p.exits(70)
	p.rest()
	says := p.stderr.String() // a busy machine may make for warnings before the last line
	if last := says[strings.LastIndex(says, "\n")+1:]; !strings.HasPrefix(last, "simba: ") || !strings.Contains(last, because) {
		p.t.Errorf("got %q, want %q in the last line", says, because)
	}
}

// A process that ends by itself is noticed, and the others go with the demo.
func TestDemoFindsDeadProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("demo")
	pids := pidsIn(p.untilLine("contend for"))
	leader := strings.Fields(p.untilLine("leads, with token"))[1]
	delete(pids, leader)
	for label, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.fails(label + " has ended, with signal: killed")
		return
	}
}

// A takeover that does not come is noticed: nobody is left who could.
func TestDemoFindsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("demo", "--lease", "1s")
	for _, pid := range pidsIn(p.untilLine("contend for")) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	p.fails("in vain")
}

// The processes end with the demo, however that ends.
func TestDemoLeavesNobodyBehind(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		w := newWorld(t)
		p := w.start("demo", "--backend", "sqlite:"+w.path("leases.db"))
		p.untilLine("leads, with token")
		p.signal(sig)
		p.wait()
		w.until("the processes to end", func() bool { return w.mustRun("status") == "No lease is held.\n" })
		if sig == syscall.SIGKILL {
			continue
		}
		p.exits(128 + int(sig))
		if left := w.litter(); len(left) > 0 {
			t.Errorf("it has left %q behind", left)
		}
	}
}

func TestDemoWithoutStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, _, stderr := w.run("demo", "--backend", "sqlite:/no/such/folder/x")
	if code != 69 || !strings.Contains(stderr, "the folder does not exist") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if left := w.litter(); len(left) > 0 {
		t.Errorf("it has left %q behind", left)
	}
}

var pidPattern = regexp.MustCompile(`(node-.) \(pid (\d+)\)`)

// pidsIn are the processes that a line speaks of, by their labels.
func pidsIn(line string) map[string]int {
	pids := make(map[string]int)
	for _, m := range pidPattern.FindAllStringSubmatch(line, -1) {
		pids[m[1]], _ = strconv.Atoi(m[2])
	}
	return pids
}
