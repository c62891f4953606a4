//go:build linux || darwin

package child

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stubborn never ends by itself and ignores SIGTERM, and so does the process that it starts.
const stubborn = `trap "" TERM HUP INT; sleep 1000 & echo ready; while :; do wait; sleep 1000; done`

func TestStopAsksFirst(t *testing.T) {
	p, out := start(t, Config{Grace: time.Hour}, `trap "echo asked; exit 3" TERM; echo ready; while :; do sleep 0.01; done`)
	out.expect("ready")
	p.Stop(t.Context())
	out.expect("asked")
	if exit := wait(t, p); exit.Code != 3 {
		t.Error(exit)
	}
}

// A program must not be asked twice: many take the second SIGTERM for impatience.
func TestStopAsksOnce(t *testing.T) {
	p, out := start(t, Config{Grace: time.Hour},
		`trap "echo asked" TERM; echo ready; while :; do :; done`) // signals that come while it sleeps become one
	out.expect("ready")
	stopped := make(chan struct{})
	go func() { p.Stop(context.Background()); close(stopped) }()
	go p.Stop(context.Background())
	out.expect("asked")
	stopNow(p)
	<-stopped
	if rest := out.gone(); rest != "" {
		t.Errorf("then it said %q", rest)
	}
}

func TestGraceThenKill(t *testing.T) {
	p, out := start(t, Config{Grace: 20 * time.Millisecond}, stubborn)
	out.expect("ready")
	p.Stop(t.Context())
	if exit := wait(t, p); exit.Signal != syscall.SIGKILL || exit.Code != 137 {
		t.Errorf("got %+v, want SIGKILL", exit)
	}
	out.gone()
}

func TestKillBeforeGrace(t *testing.T) {
	p, out := start(t, Config{Grace: time.Hour}, stubborn)
	out.expect("ready")
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { p.Stop(ctx); close(stopped) }()
	go p.Stop(context.Background()) // a laxer bound does not replace a stricter one
	out.silent()
	cancel()
	out.gone()
	<-stopped
	if exit := wait(t, p); exit.Signal != syscall.SIGKILL {
		t.Error(exit)
	}
}

// The shell dies at once from SIGTERM. The worker under it has the grace all the same, and Stop waits for it.
func TestGraceIsTheWholeGroups(t *testing.T) {
	in, typed := newPipe(t)
	p, out := start(t, Config{Grace: time.Hour, Stdin: in.f}, `exec 3<&0
		(trap "echo cleaning; read line <&3; echo \$line; exit" TERM; echo ready; while :; do sleep 0.01; done) &
		wait`)
	out.expect("ready")
	stopped := make(chan struct{})
	go func() { p.Stop(context.Background()); close(stopped) }()
	out.expect("cleaning")
	select {
	case <-p.group.exited:
	case <-time.After(bound):
		t.Fatal("the shell survived SIGTERM")
	}
	select {
	case <-stopped:
		t.Fatal("Stop returned while the worker worked")
	default:
	}
	fmt.Fprintln(typed, "clean")
	out.expect("clean")
	<-stopped
	if exit := wait(t, p); exit.Signal != syscall.SIGTERM {
		t.Error(exit)
	}
}

func TestLeftoversAreAsked(t *testing.T) {
	in, typed := newPipe(t)
	p, out := start(t, Config{Grace: time.Hour, Stdin: in.f},
		`(trap "echo asked; exit" TERM; echo ready; while :; do sleep 0.01; done) & read line; exit 6`)
	out.expect("ready")
	typed.Close()
	out.expect("asked")
	if exit := wait(t, p); exit.Code != 6 {
		t.Error(exit)
	}
	out.gone()
}

func TestStubbornLeftoversAreKilled(t *testing.T) {
	for name, end := range map[string]func(*Process){
		"after the grace": func(*Process) {},
		"when told so":    stopNow,
	} {
		t.Run(name, func(t *testing.T) {
			grace := 20 * time.Millisecond
			if name == "when told so" {
				grace = time.Hour
			}
			in, typed := newPipe(t)
			p, out := start(t, Config{Grace: grace, Stdin: in.f}, `trap "" TERM; sleep 1000 & echo ready; read line; exit 6`)
			out.expect("ready")
			typed.Close()
			<-p.group.exited
			end(p)
			if exit := wait(t, p); exit.Code != 6 {
				t.Error(exit)
			}
			out.gone()
		})
	}
}

func TestStoppedGroupIsEnded(t *testing.T) {
	t.Run("asked", func(t *testing.T) { // SIGTERM reaches it because it is continued
		p, out := start(t, Config{Grace: time.Hour}, `trap "exit 3" TERM; echo ready; while :; do read line; done`)
		out.expect("ready")
		freeze(t, p)
		p.Stop(t.Context())
		if exit := wait(t, p); exit.Code != 3 {
			t.Error(exit)
		}
	})
	t.Run("killed", func(t *testing.T) {
		p, out := start(t, Config{Grace: time.Hour}, stubborn)
		out.expect("ready")
		freeze(t, p)
		stopNow(p)
		if exit := wait(t, p); exit.Signal != syscall.SIGKILL {
			t.Error(exit)
		}
		out.gone()
	})
}

// freeze stops the whole group, the guard too, and waits until the command is stopped. The command must not be one that
// starts others all the time: caught while it does, it waits for a new process that is stopped, and is not itself stopped.
func freeze(t *testing.T, p *Process) {
	t.Helper()
	if err := syscall.Kill(-p.group.id, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command stops", p.group.commandStopped)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// A command that leaves the group, as interactive shells do, is signalled itself.
func TestCommandThatLeavesTheGroup(t *testing.T) {
	p, out := start(t, Config{Grace: time.Hour}, `exec setsid sh -c 'trap "exit 3" TERM; echo ready; while :; do sleep 0.01; done'`)
	out.expect("ready")
	if pgid, _ := syscall.Getpgid(p.PID()); pgid == p.group.id {
		t.Fatal("it did not leave")
	}
	p.Stop(t.Context())
	if exit := wait(t, p); exit.Code != 3 {
		t.Error(exit)
	}
}

// Nor does it escape the end of its time.
func TestTimeUpOutsideTheGroup(t *testing.T) {
	var over atomic.Bool
	p, out := start(t, Config{Grace: time.Hour, Remaining: func() time.Duration {
		if over.Load() {
			return 0
		}
		return 300 * time.Millisecond
	}}, `exec setsid sh -c 'trap "" TERM; echo ready; read never'`)
	out.expect("ready")
	over.Store(true)
	if exit := wait(t, p); exit.Signal != syscall.SIGKILL {
		t.Error(exit)
	}
}

func TestGuardLost(t *testing.T) {
	p, out := start(t, Config{Grace: time.Hour}, `trap "exit 3" TERM; echo ready; while :; do sleep 0.01; done`)
	out.expect("ready")
	if err := syscall.Kill(p.group.id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out.gone()
	exit, err := p.Wait()
	if !errors.Is(err, ErrGuardLost) || exit.Code != 3 {
		t.Errorf("got %+v, %v, want an orderly end and ErrGuardLost", exit, err)
	}
}

func TestTimeUp(t *testing.T) {
	t.Parallel()
	const answer = 4 * time.Second
	var over atomic.Bool
	asked := make(chan struct{})
	p, out := start(t, Config{Grace: time.Hour, Remaining: func() time.Duration {
		select {
		case asked <- struct{}{}:
		default:
		}
		if over.Load() {
			return 0
		}
		return answer
	}}, stubborn)
	out.expect("ready")
	for begin := time.Now(); time.Since(begin) < answer+answer/4; { // each answer replaces the one before
		select {
		case <-asked:
		case <-p.Done():
			t.Fatal("the group was ended although it was always given time")
		}
	}
	over.Store(true)
	if exit := wait(t, p); exit.Signal != syscall.SIGKILL {
		t.Error(exit)
	}
	out.gone()
}
