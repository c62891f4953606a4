//go:build unix

package fencefile

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that is stopped within the guard keeps others out, and what it writes when it
// wakes comes before what they write.
func TestStoppedWithin(t *testing.T) {
	path := t.TempDir() + "/f"
	p := start(t, "hold", path)
	if got := p.hear(); got != "inside" {
		t.Fatalf("it says %q", got)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.in, "write")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := New(path).Check(ctx, 9); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	written := make(chan error)
	go func() { written <- New(path).WriteFile(context.Background(), 9, []byte("new"), 0o600) }()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.end(t)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if read(t, path) != "new" {
		t.Errorf("the file says %q", read(t, path))
	}
}

func init() { roles["small"] = small }

// small writes where no file may grow, as on a disk that is full.
func small(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 3, Max: 3}); err != nil {
		return err
	}
	err := New(path).WriteFile(context.Background(), 9, []byte("new"), 0o600)
	if !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("the token: %w", err)
	}
	// Under the token that is there, it is the file that does not fit.
	err = New(path).WriteFile(context.Background(), 5, []byte("longer"), 0o600)
	if !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("the file: %w", err)
	}
	return nil
}

func TestDiskFull(t *testing.T) {
	path := t.TempDir() + "/f"
	if err := New(path).WriteFile(t.Context(), 5, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := start(t, "small", path).end(t); said != "" {
		t.Errorf("it says %q", said)
	}
	if highest, err := New(path).Highest(); err != nil || highest != 5 || read(t, path) != "old" {
		t.Errorf("the file says %q under token %d, %v", read(t, path), highest, err)
	}
	expectFolder(t, path[:len(path)-2], "f", "f.fence", "f.fence.lock")
}
