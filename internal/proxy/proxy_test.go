package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bound = 10 * time.Second
	// silence is for how long nothing must come.
	silence = 50 * time.Millisecond
)

// echo is a server that answers each line with the line, and counts them.
type echo struct {
	addr  string
	lines atomic.Int64
}

func startEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{addr: l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					e.lines.Add(1)
					fmt.Fprintln(c, lines.Text())
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return e
}

// begin returns a proxy in front of a server.
func begin(t *testing.T) (*Proxy, *echo) {
	e := startEcho(t)
	p, err := New(e.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, e
}

// client is a connection through the proxy.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		c.t.Fatal(err)
	}
}

// hear reads a line, or for as long as the patience lasts, what there is of one.
func (c *client) hear(patience time.Duration) (string, error) {
	c.SetReadDeadline(time.Now().Add(patience))
	line, err := c.r.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (c *client) hears(want string) {
	c.t.Helper()
	if got, err := c.hear(bound); got != want || err != nil {
		c.t.Fatalf("heard %q, %v in place of %q", got, err, want)
	}
}

// hearsOnly checks that after the text nothing comes, and that the connection stays open.
func (c *client) hearsOnly(want string) {
	c.t.Helper()
	if got, err := c.hear(silence); got != want || !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q, %v in place of %q and silence", got, err, want)
	}
}

func (c *client) isCut() {
	c.t.Helper()
	if got, err := c.hear(bound); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q, %v in place of the end", got, err)
	}
}

// reached waits until the server has read so many lines.
func (e *echo) reached(t *testing.T, lines int64) {
	t.Helper()
	for end := time.Now().Add(bound); e.lines.Load() != lines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the server has read %d lines in place of %d", e.lines.Load(), lines)
		}
	}
}

func TestCut(t *testing.T) {
	p, _ := begin(t)
	a, b := dial(t, p), dial(t, p)
	a.say("a")
	a.hears("a")
	b.say("b")
	b.hears("b")
	p.Cut()
	a.isCut()
	b.isCut()
	c := dial(t, p)
	c.say("c")
	c.hears("c")
}

func TestStall(t *testing.T) {
	p, e := begin(t)
	c := dial(t, p)
	c.say("before")
	c.hears("before")
	p.Stall()
	late := dial(t, p)
	late.say("late")
	c.say("held back")
	c.hearsOnly("")
	late.hearsOnly("")
	e.reached(t, 1)
	p.Pass()
	c.hears("held back")
	late.hears("late")
}

func TestDropAnswers(t *testing.T) {
	p, e := begin(t)
	c := dial(t, p)
	p.DropAnswers(3)
	c.say("12345")
	c.hearsOnly("123")
	c.say("lost")
	e.reached(t, 2)
	c.hearsOnly("")
	p.Pass()
	c.say("again")
	c.hears("again")
}

func TestCutAnswers(t *testing.T) {
	p, e := begin(t)
	c := dial(t, p)
	p.CutAnswers(len("12\n") + 1)
	c.say("12")
	c.hears("12")
	c.say("34")
	c.isCut() // whether "3" arrives before the reset is up to the kernel
	e.reached(t, 2)
	p.Pass()
	c = dial(t, p)
	c.say("56")
	c.hears("56")
}

// Whatever it is doing, the proxy comes to an end; goleak sees what would be left.
func TestClose(t *testing.T) {
	p, e := begin(t)
	c := dial(t, p)
	c.say("1")
	c.hears("1")
	p.Stall()
	c.say("2")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	c.isCut()
	e.reached(t, 1)
	if c, err := net.Dial("tcp", p.Addr); err == nil {
		c.Close()
		t.Error("it still accepts connections")
	}
	if err := p.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// A server that is not there ends the connection.
func TestNoServer(t *testing.T) {
	p, err := New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dial(t, p).isCut()
}
