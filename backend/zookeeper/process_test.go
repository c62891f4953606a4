//go:build unix

package zookeeper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// addressVariable makes this test binary the process that TestStoppedProcess stops.
const addressVariable = "SIMBA_ZOOKEEPER_TEST"

func init() {
	if address := os.Getenv(addressVariable); address != "" {
		if err := restless(address, os.Args[1]); err != nil {
			fmt.Println("error:", err)
		}
		os.Exit(0)
	}
}

// restless acquires one name after the other, several at a time, until its session has expired, and then
// tries for a while longer.
func restless(address, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	s, err := New(ctx, []string{address}, Options{Namespace: namespace})
	if err != nil {
		return err
	}
	grant, err := s.Open(ctx, time.Second, "restless")
	if err != nil {
		return err
	}
	fmt.Println("session", grant.Session)
	taken := func(i int) error {
		_, err := s.Acquire(ctx, grant.Session, []string{fmt.Sprint("name-", i)}, false)
		if _, failed := s.Renew(ctx, grant.Session, 0, false); err == nil {
			err = failed
		}
		return err
	}
	dead := 0
	for i := 0; dead < 100; i += width {
		if err := parallel(width, func(k int) error { return taken(i + k) }); errors.Is(err, backend.ErrExpired) {
			dead++
		} else if err != nil && !errors.Is(err, ErrConnection) {
			return err
		} else if err == nil && dead > 0 {
			return errors.New("a session has come back to life")
		}
	}
	fmt.Println("dead")
	bufio.NewReader(os.Stdin).ReadString('\n')
	return nil
}

// The session of a process expires while the process is stopped in the middle of its work. When it goes
// on, nothing that it was about to do is done, in this session or another.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	cmd := exec.Command(os.Args[0], s.tree.root)
	cmd.Env = append(os.Environ(), addressVariable+"="+s.servers[0])
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	lines.Scan()
	session, ok := strings.CutPrefix(lines.Text(), "session ")
	if !ok {
		t.Fatalf("it says %q", lines.Text())
	}
	c := s.byHand()
	sessions := func() []string { return s.nodes(c, s.tree.sessions()) }
	eventually(t, "it has taken some names", func() bool { return len(s.nodes(c, s.tree.leases())) > 3*width })
	cmd.Process.Signal(syscall.SIGSTOP)
	eventually(t, "its session has expired", func() bool { return len(sessions()) == 0 })
	names := s.nodes(c, s.tree.leases())
	cmd.Process.Signal(syscall.SIGCONT)
	if lines.Scan(); lines.Text() != "dead" {
		t.Fatalf("it says %q", lines.Text())
	}
	if ids := sessions(); len(ids) != 0 {
		t.Errorf("there are the sessions %v, after %s", ids, session)
	}
	if after := s.nodes(c, s.tree.leases()); len(after) != len(names) {
		t.Errorf("there are %d names in place of %d", len(after), len(names))
	}
	if held, err := s.Inspect(s.ctx, nil); err != nil || len(held) != 0 {
		t.Errorf("%v is held: %v", held, err)
	}
	in.Close()
}
