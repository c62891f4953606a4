//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The leader's CMD ends, somebody else takes over and not before, and the old leader
// contends again later.
func TestStepDown(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "x"}, {"run", "x", "--policy", "restart"}, {"schedule", "x", "--every", "1ms"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			args := append(args, "--", "sh", "-c", journaling)
			first := w.start(args...)
			token := first.begins()
			w.untilJournal(token, 5)
			second := w.start(args...)
			w.until("both can be reached", func() bool { return len(w.sockets()) == 2 })

			says := w.mustRun("stepdown", "x", "--for", "1h")
			next := second.begins() // the lease is 15 s, and was handed over
			if next <= token {
				t.Errorf("token %d after %d", next, token)
			}
			if !strings.Contains(says, "has stepped down for 1h0m0s.") || !strings.Contains(first.stderr.String(), "because simba stepdown says so") {
				t.Errorf("stepdown says %q, and the leader %q", says, first.stderr)
			}
			w.untilJournal(next, 5)

			// The other one, whoever it is, is told now. Nobody is left for a moment.
			w.mustRun("stepdown", "x", "--for", "0s")
			last := second.begins()
			w.untilJournal(last, 5)
			w.checkJournal()
			for _, p := range []*process{first, second} {
				p.signal(syscall.SIGTERM)
				p.wait()
			}
			if left := w.sockets(); len(left) > 0 {
				t.Errorf("they have left %q", left)
			}
		})
	}
}

// sockets are those of processes that can be told.
func (w *world) sockets() []string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.sockDir, "*.sock"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// Whoever takes its time has it, and simba stepdown waits.
func TestStepDownWaitsForCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("run", "x", "--grace", "1h", "--lease", "1h", "--", "sh", "-c",
		`trap "echo asked; read line; exit 0" TERM; echo "begin $SIMBA_TOKEN"; while :; do sleep 0.01; done`)
	token := p.begins()
	w.until("it can be reached", func() bool { return len(w.sockets()) == 1 })
	asker := w.start("stepdown", "x", "--for", "1h")
	p.expect("asked")
	if h := w.status("x"); !h.Held || h.Token != token {
		t.Errorf("%+v while CMD ends", h)
	}
	// Told is told, whatever becomes of who has.
	asker.signal(syscall.SIGINT)
	asker.exits(130)
	if h := w.status("x"); !h.Held || h.Token != token {
		t.Errorf("%+v while CMD ends", h)
	}
	p.say("")
	w.until("the lease to be free", func() bool { return w.vacant("x") })
	// It goes on although CMD has exited with 0, since that was asked to.
	p.signal(syscall.SIGTERM)
	p.exits(143)
}

// With --once there is no next time.
func TestStepDownOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("run", "x", "--once", "--", "sh", "-c", obedient)
	p.begins()
	w.until("it can be reached", func() bool { return len(w.sockets()) == 1 })
	w.mustRun("stepdown", "x")
	p.expect("asked")
	p.exits(3)
}

// A CMD that does not heed SIGTERM is killed after the grace.
func TestStepDownStubborn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("run", "x", "--grace", "50ms", "--lease", "1h", "--", "sh", "-c", stubborn)
	p.begins()
	w.until("it can be reached", func() bool { return len(w.sockets()) == 1 })
	w.mustRun("stepdown", "x", "--for", "1h")
	if !w.vacant("x") {
		t.Error("the lease was not released")
	}
	p.signal(syscall.SIGTERM)
	p.exits(143)
	p.rest()
}

// Nobody is told who is not meant: not those who wait, not who leads another name or
// the same one in another store, and not a lock.
func TestStepDownNobody(t *testing.T) {
	t.Parallel()
	w, elsewhere := newWorld(t), newWorld(t)
	for i, v := range elsewhere.env { // of the same user
		if strings.HasPrefix(v, "SIMBA_RUNTIME_DIR=") {
			elsewhere.env[i] = "SIMBA_RUNTIME_DIR=" + w.sockDir
		}
	}
	holder := w.start("lock", "x", "--id", "the-lock", "--", "sh", "-c", patient)
	holder.begins()
	waiter := w.start("run", "x", "--", "sh", "-c", obedient)
	other := w.start("run", "y", "--", "sh", "-c", obedient)
	other.begins()
	stranger := elsewhere.start("run", "x", "--", "sh", "-c", obedient)
	stranger.begins()
	w.until("all can be reached", func() bool { return len(w.sockets()) == 3 })
	code, stdout, stderr := w.run("stepdown", "x")
	if code != 68 || stdout != "" || !strings.HasPrefix(stderr, `simba: "x" is held by the-lock (session `) ||
		!strings.HasSuffix(strings.TrimSpace(stderr), "which is no simba run or simba schedule of this user on this machine; run simba stepdown where it runs") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := w.run("stepdown", "z"); code != 68 || strings.TrimSpace(stderr) != `simba: nobody leads "z"` {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	for _, p := range []*process{other, stranger} { // they have heard nothing until now
		p.signal(syscall.SIGTERM)
		p.expect("asked")
		p.exits(3)
	}
	waiter.signal(syscall.SIGTERM)
	waiter.exits(143)
	holder.say("0")
	holder.exits(0)
}

// A leader that was killed is not there to be told, and neither is one that is frozen.
func TestStepDownOfTheDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("run", "x", "--lease", "1h", "--", "sh", "-c", obedient)
	p.begins()
	w.until("it can be reached", func() bool { return len(w.sockets()) == 1 })
	p.signal(syscall.SIGSTOP)
	code, _, stderr := w.run("stepdown", "x")
	if code != 68 || !strings.Contains(stderr, "did not answer") || !strings.Contains(stderr, w.sockets()[0]) {
		t.Errorf("frozen: exit code %d, %q", code, stderr)
	}
	p.signal(syscall.SIGKILL)
	p.wait()
	code, _, stderr = w.run("stepdown", "x")
	if code != 68 || !strings.Contains(stderr, "is held by") {
		t.Errorf("dead: exit code %d, %q", code, stderr)
	}
}

// Work does not depend on being reachable.
func TestRunWithoutASocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.Chmod(w.sockDir, 0o755); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := w.run("run", "x", "--", "echo", "ran")
	if code != 0 || stdout != "ran\n" || !strings.Contains(stderr, "simba stepdown cannot reach this process") || !strings.Contains(stderr, "chmod 700") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	// Whom nobody else could mean need not be reached.
	code, _, stderr = w.run("run", "x", "--backend", "memory:", "--", "true")
	if code != 0 || strings.Contains(stderr, "stepdown") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
