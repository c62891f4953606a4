//go:build linux || darwin

package child

import (
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func leash(t *testing.T) (guards, ours *os.File) {
	t.Helper()
	guards, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { guards.Close(); ours.Close() })
	return guards, ours
}

func order(t *testing.T, leash *os.File, deadline int64) {
	t.Helper()
	if _, err := leash.Write(binary.NativeEndian.AppendUint64(nil, uint64(deadline))); err != nil {
		t.Fatal(err)
	}
}

func TestLeashClosed(t *testing.T) {
	guards, ours := leash(t)
	order(t, ours, sleepAwareNow()+int64(time.Hour))
	ours.Close()
	if holdLeash(int(guards.Fd())) {
		t.Error("expired an hour early")
	}
}

func TestLeashExpires(t *testing.T) {
	guards, ours := leash(t)
	deadline := sleepAwareNow() + int64(30*time.Millisecond)
	order(t, ours, deadline)
	if !holdLeash(int(guards.Fd())) {
		t.Error("not expired")
	}
	if early := deadline - sleepAwareNow(); early > 0 {
		t.Errorf("expired %v early", time.Duration(early))
	}
}

// A guard that was kept from running finds a deadline that is over and the one that replaced it. Only the latter counts.
func TestLeashLastOrderCounts(t *testing.T) {
	guards, ours := leash(t)
	order(t, ours, sleepAwareNow()-1)
	order(t, ours, sleepAwareNow()+int64(time.Hour))
	held := make(chan bool)
	go func() { held <- holdLeash(int(guards.Fd())) }()
	ours.Close()
	if <-held {
		t.Error("expired by an order that was replaced")
	}
	guards, ours = leash(t)
	order(t, ours, sleepAwareNow()+int64(time.Hour))
	order(t, ours, sleepAwareNow()-1)
	if !holdLeash(int(guards.Fd())) {
		t.Error("not expired, although the last order shortened the time")
	}
}

// Somebody who types the guard's argument into a shell script must not lose the script.
func TestGuardRefusesForeignGroup(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, guardArg, "1").CombinedOutput()
	if code := exitOf(err.(*exec.ExitError).ProcessState).Code; code != guardMisuse || !strings.Contains(string(out), guardArg) {
		t.Errorf("exit %d: %s", code, out)
	}
}
