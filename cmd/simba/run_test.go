//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestRunUntilSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// It fails twice, each time in a term of its own.
	const script = `echo "begin $SIMBA_TOKEN"; n=$(cat tries 2>/dev/null); echo "$n." >tries; case "$n" in ..) exit 0;; *) exit 9;; esac`
	p := w.start("run", "x", "--", "sh", "-c", script)
	a, b, c := p.begins(), p.begins(), p.begins()
	if a >= b || b >= c {
		t.Errorf("the tokens are %d, %d, %d; they must grow", a, b, c)
	}
	p.exits(0)
	if got := p.rest(); got != "" {
		t.Errorf("it went on: %q", got)
	}
	if says := p.stderr.String(); strings.Count(says, "contending again") != 2 || strings.Count(says, "exit code 9") != 2 {
		t.Errorf("stderr: %q", says)
	}
	if !w.vacant("x") {
		t.Error("the lease was not released")
	}
}

func TestRunOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("run", "x", "--once", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; exit 9`)
	p.begins()
	p.exits(9)
	if got := p.rest(); got != "" {
		t.Errorf("it went on: %q", got)
	}
}

// A failure of the one is the chance of the other.
func TestRunStepsDownOnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("run", "x", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; [ -e failed ] || read line; >failed; exit 1`)
	token := first.begins()
	second := w.start("run", "x", "--", "sh", "-c", obedient)
	first.say("")
	if next := second.begins(); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	second.signal(syscall.SIGTERM)
	second.expect("asked")
	second.exits(3)
}

// What follows when CMD ends by itself, whatever it exits with.
func TestRunPolicies(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"0", "9"} {
		script := `echo "begin $SIMBA_TOKEN"; exit ` + code
		t.Run("hold after "+code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.start("run", "x", "--policy", "hold", "--log-level", "info", "--", "sh", "-c", script)
			token := p.begins()
			holds := func(times int) {
				t.Helper()
				w.until("it holds", func() bool {
					return strings.Count(p.stderr.String(), "holding the lease without CMD") == times
				})
			}
			holds(1)
			if h := w.status("x"); !h.Held || h.Token != token {
				t.Errorf("%+v, want the token %d", h, token)
			}
			// The next term is another matter.
			if err := w.store().CloseSession(t.Context(), w.status("x").Session); err != nil {
				t.Fatal(err)
			}
			if next := p.begins(); next <= token {
				t.Errorf("token %d after %d", next, token)
			}
			holds(2)
			p.signal(syscall.SIGTERM)
			p.exits(143)
			if got := p.rest(); got != "" {
				t.Errorf("it went on: %q", got)
			}
		})
		t.Run("restart after "+code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.start("run", "x", "--policy", "restart", "--", "sh", "-c", script)
			token := p.begins()
			for range 3 {
				if again := p.begins(); again != token {
					t.Errorf("token %d after %d", again, token)
				}
			}
			p.signal(syscall.SIGTERM)
			p.wait()
		})
		t.Run("stepdown after "+code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.start("run", "x", "--policy", "stepdown", "--", "sh", "-c", script)
			token := p.begins()
			for range 3 {
				next := p.begins()
				if next <= token {
					t.Errorf("token %d after %d", next, token)
				}
				token = next
			}
			p.signal(syscall.SIGTERM)
			p.wait()
		})
	}
}

// journaling is a CMD that writes under its token until it is asked to end.
const journaling = `trap "exit 0" TERM; echo "begin $SIMBA_TOKEN"; while echo "work $SIMBA_TOKEN" >>journal; do sleep 0.01; done`

func TestRunHandsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("run", "x", "--", "sh", "-c", journaling)
	token := first.begins()
	w.untilJournal(token, 5)
	second := w.start("run", "x", "--", "sh", "-c", journaling)
	first.signal(syscall.SIGTERM)
	first.exits(0)
	next := second.begins() // the lease is 15 s, and was handed over
	if next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	w.untilJournal(next, 5)
	second.signal(syscall.SIGTERM)
	second.exits(0)
	w.checkJournal()
}

func TestRunTakesOverAfterKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("run", "x", "--lease", shortLease, "--", "sh", "-c", journaling)
	token := first.begins()
	w.untilJournal(token, 5)
	second := w.start("run", "x", "--lease", shortLease, "--", "sh", "-c", journaling)
	first.signal(syscall.SIGKILL)
	next := second.begins()
	if next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	first.rest() // its CMD is gone
	w.untilJournal(next, 5)
	second.signal(syscall.SIGTERM)
	second.exits(0)
	w.checkJournal()
}

// A leader that was stopped for longer than its lease has lost its CMD, and waits
// its turn.
func TestRunContendsAgainAfterFreeze(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("run", "x", "--lease", shortLease, "--", "sh", "-c", journaling)
	token := first.begins()
	first.signal(syscall.SIGSTOP)
	second := w.start("run", "x", "--lease", shortLease, "--", "sh", "-c", journaling)
	next := second.begins()
	first.signal(syscall.SIGCONT)
	w.until("the first to notice", func() bool { return strings.Contains(first.stderr.String(), "contending again") })
	w.untilJournal(next, 5)
	second.signal(syscall.SIGTERM)
	second.exits(0)
	last := first.begins()
	if token >= next || next >= last {
		t.Errorf("the tokens are %d, %d, %d; they must grow", token, next, last)
	}
	first.signal(syscall.SIGTERM)
	first.exits(0)
	w.checkJournal()
}

// When the store is away, CMD is asked to end in time, and runs again when the
// store is back.
func TestRunSurvivesTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("run", "x", "--lease", shortLease, "--", "sh", "-c", `trap "echo asked; exit 0" TERM; echo "begin $SIMBA_TOKEN"; while :; do read line; done`)
	token := p.begins()
	for _, ending := range []string{"", "-wal", "-shm"} { // which belong together
		if err := os.Rename(w.path("leases.db"+ending), w.path("gone"+ending)); err != nil {
			t.Fatal(err)
		}
	}
	p.expect("asked")
	if next := p.begins(); next <= token { // in a new file
		t.Errorf("token %d after %d", next, token)
	}
	p.signal(syscall.SIGTERM)
	p.expect("asked")
	p.exits(0)
}
