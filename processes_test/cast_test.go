//go:build unix

package processes_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/simba-go/simba/fence/fencefile"
)

// bound is for how long a test waits for what must happen before it gives up.
const bound = 60 * time.Second

// cast is all processes of a play.
type cast struct {
	t       *testing.T
	dir     string
	lease   time.Duration
	players []*player
	done    []*player // that have ended
}

func newCast(t *testing.T, size int, lease time.Duration) *cast {
	t.Helper()
	c := &cast{t: t, dir: t.TempDir(), lease: lease}
	for range size {
		c.enter()
	}
	return c
}

// player is one process.
type player struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	errs  strings.Builder
	ended chan struct{}

	mu   sync.Mutex
	said []string
}

// enter starts a process that is gone when the test ends.
func (c *cast) enter() {
	c.t.Helper()
	p := &player{cmd: exec.Command(os.Args[0], c.lease.String()), ended: make(chan struct{})}
	// A process that ends does not take the second that the race detector would like.
	p.cmd.Env = append(os.Environ(), roleVariable+"="+c.dir, "GORACE=atexit_sleep_ms=0 halt_on_error=1")
	p.cmd.Stderr = &p.errs
	in, err := p.cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	p.in = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.listen(out)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	c.t.Cleanup(func() {
		p.in.Close()
		p.cmd.Process.Kill() // fails if it has ended
		<-p.ended
	})
	c.players = append(c.players, p)
}

func (p *player) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.said = append(p.said, lines.Text())
		p.mu.Unlock()
	}
}

func (p *player) says(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.said, line)
}

// count is how many lines begin with a text.
func (p *player) count(begin string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.said {
		if strings.HasPrefix(line, begin) {
			n++
		}
	}
	return n
}

func (c *cast) count(begin string) (n int) {
	for _, p := range append(slices.Clone(c.players), c.done...) {
		n += p.count(begin)
	}
	return n
}

func (c *cast) signal(p *player, s syscall.Signal) {
	c.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits until a process has ended.
func (c *cast) exit(p *player, wantSuccess bool) {
	c.t.Helper()
	c.until("a process to end", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if p.cmd.ProcessState.Success() != wantSuccess {
		c.t.Fatalf("a process ended with %v: %s", p.cmd.ProcessState, p.errs.String())
	}
	c.done = append(c.done, p)
	c.players = slices.DeleteFunc(c.players, func(other *player) bool { return other == p })
}

// until waits for a condition.
func (c *cast) until(what string, ok func() bool) {
	c.t.Helper()
	if !c.within(bound, ok) {
		c.t.Fatalf("waited in vain for %s", what)
	}
}

func (c *cast) within(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// reign is a token under which somebody has written, and who.
type reign struct {
	token uint64
	pid   int
}

// latest is the last line of the fenced file.
func (c *cast) latest() (r reign) {
	c.t.Helper()
	const most = 100 // more than two lines have
	f, err := os.Open(fenced(c.dir))
	if os.IsNotExist(err) {
		return reign{}
	}
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		c.t.Fatal(err)
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, end-most), most))
	if err != nil {
		c.t.Fatal(err)
	}
	lines := strings.Split(string(tail), "\n") // the last of which is empty, or half a line
	if len(lines) < 2 {
		return reign{}
	}
	if _, err := fmt.Sscan(lines[len(lines)-2], &r.token, &r.pid); err != nil {
		c.t.Fatalf("the last line is %q: %v", lines[len(lines)-2], err)
	}
	return r
}

// next waits until somebody has written under a higher token, and returns who.
func (c *cast) next(last reign) (reign, *player) {
	c.t.Helper()
	var r reign
	c.until(fmt.Sprintf("a leader after %+v", last), func() bool { r = c.latest(); return r.token > last.token })
	return r, c.who(r)
}

func (c *cast) who(r reign) *player {
	c.t.Helper()
	i := slices.IndexFunc(c.players, func(p *player) bool { return p.cmd.Process.Pid == r.pid })
	if i < 0 {
		c.t.Fatalf("nobody here is %+v", r)
	}
	return c.players[i]
}

// finish ends all processes in good order, and judges what they have left.
func (c *cast) finish() verdict {
	c.t.Helper()
	for _, p := range slices.Clone(c.players) {
		p.in.Close()
		c.exit(p, true)
	}
	v, err := judge(c.read(journal(c.dir)))
	if err != nil {
		c.t.Errorf("the journal: %v", err)
	}
	lines, last, err := judgeFenced(c.read(fenced(c.dir)))
	if err != nil {
		c.t.Errorf("the fenced file: %v", err)
	}
	if highest, err := fencefile.New(fenced(c.dir)).Highest(); err != nil || highest != last {
		c.t.Errorf("the fenced file ends with the token %d, and the highest is %d, %v", last, highest, err)
	}
	c.t.Logf("%d terms, of which %d ended in time; %d fenced writes in the order of their tokens, %d refused",
		v.begins, v.inTime, lines, c.count("refused"))
	for _, wrong := range []string{"valid and refused", "failed"} {
		if n := c.count(wrong); n > 0 {
			c.t.Errorf("%d times: %s", n, wrong)
		}
	}
	return v
}

func (c *cast) read(path string) string {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}
