//go:build linux || darwin

package child

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

func TestSignal(t *testing.T) {
	p, out := start(t, Config{Grace: time.Hour}, `trap "echo reload" HUP; trap "exit 5" USR1; echo ready; while :; do sleep 0.01; done`)
	out.expect("ready")
	p.Signal(syscall.SIGHUP)
	out.expect("reload")
	p.Signal(syscall.SIGUSR1)
	if exit := wait(t, p); exit.Code != 5 {
		t.Errorf("got %+v, want 5", exit)
	}
	p.Signal(syscall.SIGKILL) // the group's number may be somebody else's now
}

func TestFind(t *testing.T) {
	if err := Find("sh"); err != nil {
		t.Error(err)
	}
	var e *StartError
	if err := Find("no-such-command"); !errors.As(err, &e) || e.Code != 127 {
		t.Errorf("got %v, want one with the code 127", err)
	}
}
