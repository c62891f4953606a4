package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/simba-go/simba/cmd/simba/internal/control"
	"go.uber.org/goleak"
)

// bound is how long a test waits for what must happen before it gives up. No test
// depends on it being short.
const bound = 60 * time.Second

// binary is the command, built with the race detector.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	folder, err := os.MkdirTemp("", "simba-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	binary = filepath.Join(folder, "simba.exe")
	if out, err := exec.Command("go", "build", "-race", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	hearSignals()
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// hearSignals has the processes of the tests start with signals that end them, also if the tests were started by nohup
// or in the background, which ignores some, and what is ignored is inherited.
func hearSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// world is what the processes of one test share.
type world struct {
	t       *testing.T
	home    string // a folder of their own
	sockDir string // another one, for sockets
	env     []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{t: t, home: home, sockDir: shortDir(t)}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SIMBA_") && !strings.HasPrefix(v, "XDG_") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "HOME="+home, "LocalAppData="+home, "TMPDIR="+home,
		"SIMBA_BACKEND=sqlite:"+w.path("leases.db"), control.FolderVar+"="+w.sockDir,
		// A race is exit code 66, and exiting does not take the second that the detector would like.
		"GORACE=atexit_sleep_ms=0 halt_on_error=1")
	return w
}

// shortDir is a folder whose path leaves room for the name of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (w *world) path(name string) string { return filepath.Join(w.home, name) }

// process is a simba that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File // of simba and everything that it has started
	lines  *bufio.Reader
	stderr *buffer
	ended  chan struct{}
}

// start starts simba with these arguments.
func (w *world) start(args ...string) *process {
	w.t.Helper()
	return w.startCommand(exec.Command(binary, args...))
}

// startCommand starts something that becomes simba.
func (w *world) startCommand(cmd *exec.Cmd) *process {
	t := w.t
	t.Helper()
	cmd.Env, cmd.Dir = w.env, w.home
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = theirs, stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	p := &process{
		t: t, cmd: cmd, in: in, out: out, lines: bufio.NewReader(out),
		stderr: &buffer{file: stderr}, ended: make(chan struct{}),
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	t.Cleanup(p.cleanUp)
	return p
}

func (p *process) cleanUp() {
	p.cmd.Process.Kill() // fails if it has ended
	<-p.ended
	p.in.Close()
	p.out.Close()
	p.stderr.file.Close()
	if p.t.Failed() {
		p.t.Logf("stderr of %q:\n%s", p.cmd.Args[1:], p.stderr)
	}
}

// line returns the next line of the output.
func (p *process) line() string {
	p.t.Helper()
	p.out.SetReadDeadline(time.Now().Add(bound))
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%q: no line after %q: %v; stderr: %s", p.cmd.Args[1:], line, err, p.stderr)
	}
	return strings.TrimSuffix(line, "\n")
}

// expect waits for a line, which must be the next.
func (p *process) expect(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Fatalf("got the line %q, want %q; stderr: %s", got, want, p.stderr)
	}
}

// rest returns the output up to its end, which is when nobody lives that could
// write: neither simba nor what it has started.
func (p *process) rest() string {
	p.t.Helper()
	p.out.SetReadDeadline(time.Now().Add(bound))
	rest, err := io.ReadAll(p.lines)
	if err != nil {
		p.t.Fatalf("%q: somebody still lives after %q: %v; stderr: %s", p.cmd.Args[1:], rest, err, p.stderr)
	}
	return string(rest)
}

// wait returns the exit code, as a shell would report it.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(bound):
		p.t.Fatalf("%q does not end; stderr: %s", p.cmd.Args[1:], p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// exits waits for an exit code.
func (p *process) exits(want int) {
	p.t.Helper()
	if got := p.wait(); got != want {
		p.t.Errorf("%q ended with %d, want %d; stderr: %s", p.cmd.Args[1:], got, want, p.stderr)
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// say writes a line to the input of CMD.
func (p *process) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// run runs simba to its end.
func (w *world) run(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	p := w.start(args...)
	p.in.Close()
	stdout = p.rest()
	return p.wait(), stdout, p.stderr.String()
}

// mustRun is run of something that must succeed and has nothing to complain about.
func (w *world) mustRun(args ...string) (stdout string) {
	w.t.Helper()
	code, stdout, stderr := w.run(args...)
	if code != 0 || stderr != "" {
		w.t.Fatalf("%q: exit code %d, stderr %q", args, code, stderr)
	}
	return stdout
}

// until waits for a condition.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	end := time.Now().Add(bound)
	for !ok() {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// buffer reads a file that others write.
type buffer struct {
	mu   sync.Mutex
	file *os.File
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := os.ReadFile(b.file.Name())
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text))
}
