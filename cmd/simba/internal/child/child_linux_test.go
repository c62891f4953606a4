package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The guard is dead, so only the parent-death signal is left. It reaches the command itself.
func TestParentAndGuardKilled(t *testing.T) {
	p := startParent(t, "", `trap "" TERM HUP; echo ready; exec sleep 1000`)
	_, guard := p.started()
	p.out.expect("ready")
	p.signal(p.cmd.Process.Pid, syscall.SIGSTOP) // it must not notice and stop the command itself
	p.signal(guard, syscall.SIGKILL)
	p.kill()
	p.out.gone()
}

// The parent-death signal belongs to the thread that created the command. That of the caller may end at any time.
func TestCallersThreadEnds(t *testing.T) {
	const commands = 16
	var all sync.WaitGroup
	for range commands {
		all.Go(func() {
			in, typed := newPipe(t)
			out, w := newPipe(t)
			p := startOnDyingThread(t, Config{Args: []string{"cat"}, Stdin: in.f, Stdout: w})
			if p == nil {
				return
			}
			w.Close()
			fmt.Fprintln(typed, "still there?")
			if line, err := bufio.NewReader(out.f).ReadString('\n'); err != nil || line != "still there?\n" {
				t.Errorf("the command said %q: %v", line, err)
			}
			typed.Close()
			if exit, err := p.Wait(); err != nil || exit.Code != 0 {
				t.Error(exit, err)
			}
		})
	}
	all.Wait()
}

func startOnDyingThread(t *testing.T, cfg Config) *Process {
	var p *Process
	var err error
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		defer func() { thread <- unix.Gettid() }()
		p, err = Start(t.Context(), cfg)
	}()
	tid := <-thread
	if err != nil {
		t.Error(err)
		return nil
	}
	if tid != os.Getpid() { // the main thread, which may be one of them, never ends
		eventually(t, "the thread ends", func() bool {
			_, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid))
			return os.IsNotExist(err)
		})
	}
	return p
}

// Neither starting, failing to start nor ending leaves a descriptor behind.
func TestNoDescriptorLeaks(t *testing.T) {
	use := func() {
		p, err := Start(t.Context(), Config{Args: []string{"/bin/sh", "-c", "exit 0"}})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, p)
		if _, err := Start(t.Context(), Config{Args: []string{"/proc/version"}}); err == nil {
			t.Fatal("started /proc/version")
		}
	}
	use()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files that were forgotten
	before := descriptors(t)
	for range 10 {
		use()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, before it were %d", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Killing all processes of our name must leave the guard, which then ends the command.
func TestGuardHasItsOwnName(t *testing.T) {
	p, out := start(t, Config{}, "echo ready; read never")
	out.expect("ready")
	for _, file := range []string{"comm", "cmdline"} {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.group.id, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(name), guardName) {
			t.Errorf("%s: %q", file, name)
		}
	}
}

func TestGroupProcs(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & read line")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are seen", func() bool { return len(groupProcs(cmd.Process.Pid)) == 2 })
	in.Close() // the shell becomes a zombie, which does not count
	eventually(t, "only sleep is seen", func() bool {
		procs := groupProcs(cmd.Process.Pid)
		return len(procs) == 1 && procs[0].pid != cmd.Process.Pid
	})
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
}
