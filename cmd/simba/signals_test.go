//go:build unix

package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestSignalsAskCommandToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			p := w.start(command, "x", "--", "sh", "-c", obedient)
			p.begins()
			p.signal(sig)
			p.expect("asked")
			p.exits(3)
			if p.rest() != "" || p.stderr.String() != "" {
				t.Errorf("%s, %v: stderr %q", command, sig, p.stderr)
			}
			if !w.vacant("x") {
				t.Errorf("%s, %v: the lease was not released", command, sig)
			}
		}
	}
}

func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.start("lock", "x", "--", "sh", "-c", patient)
	holder.begins()
	for _, command := range []string{"lock", "run"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			p := w.start(command, "x", "--log-level", "debug", "--", "sh", "-c", "echo ran")
			w.until("a session", func() bool { return strings.Contains(p.stderr.String(), "session opened") })
			p.signal(sig)
			p.exits(128 + int(sig))
			if got := p.rest(); got != "" {
				t.Errorf("CMD has run: %q", got)
			}
		}
	}
	holder.say("0")
	holder.exits(0)
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x", "--grace", "1h", "--lease", "1h", "--", "sh", "-c", `trap "echo asked" TERM; echo "begin $SIMBA_TOKEN"; while :; do sleep 0.01; done`)
		p.begins()
		p.signal(syscall.SIGTERM)
		p.expect("asked")
		p.signal(syscall.SIGTERM)
		p.exits(137)
		p.rest()
		if !w.vacant("x") {
			t.Errorf("%s: the lease was not released", command)
		}
	}
}

func TestGraceEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("lock", "x", "--grace", "50ms", "--lease", "1h", "--", "sh", "-c", stubborn)
	p.begins()
	p.signal(syscall.SIGTERM)
	p.exits(137)
	p.rest()
}

// However long the grace, CMD ends before anybody else can have the lease, which is
// renewed meanwhile.
func TestGraceEndsWithTheTerm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x", "--grace", "1h", "--lease", shortLease, "--", "sh", "-c", stubborn)
		p.begins()
		p.signal(syscall.SIGTERM)
		p.exits(137)
		p.rest()
	}
}

func TestOtherSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x", "--", "sh", "-c", patient)
		p.begins()
		p.signal(syscall.SIGUSR1)
		p.expect("usr1")
		p.say("0")
		p.exits(0)
	}
}

// Under nohup, and in the background of a shell, some signals are ignored. They
// stay so.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.startCommand(exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" lock x -- sh -c "$1"`, binary, patient))
	p.begins()
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGINT)
	p.signal(syscall.SIGUSR1)
	p.expect("usr1")
	p.say("6")
	p.exits(6)
}

func TestKilledWithCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, command := range []string{"lock", "run"} {
		p := w.start(command, "x"+command, "--", "sh", "-c", stubborn)
		p.begins()
		p.signal(syscall.SIGKILL)
		p.rest() // ends when the last that has our pipe is gone
	}
}
