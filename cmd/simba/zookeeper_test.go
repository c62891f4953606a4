//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/simba-go/simba/internal/servers"
)

// The servers allow less than the lease that is asked for. That is said once, and everything works: a
// takeover after a crash, which comes sooner than the lease, and one after a clean end.
func TestZooKeeperGrantsLess(t *testing.T) {
	t.Parallel()
	server, err := servers.ZooKeeper("maxSessionTimeout=6000")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	w := newWorld(t)
	w.env = append(w.env, "SIMBA_BACKEND="+server.URL)
	node := func(label string) *process {
		return w.start("run", "job", "--lease", "1m", "--id", label, "--", "sh", "-c", "echo "+label+"; exec cat")
	}
	a := node("a")
	a.expect("a")
	b := node("b")
	w.until("b waits", func() bool { return strings.Contains(b.stderr.String(), "grants less") })
	a.signal(syscall.SIGKILL)
	b.expect("b")
	c := node("c")
	w.until("c waits", func() bool { return strings.Contains(c.stderr.String(), "grants less") })
	b.signal(syscall.SIGTERM)
	c.expect("c")
	b.exits(143)
	c.signal(syscall.SIGTERM)
	c.exits(143)
	for _, p := range []*process{b, c} {
		said := p.stderr.String()
		if strings.Count(said, "\n") > 0 || !strings.Contains(said, "asked=1m0s granted=2.5s") {
			t.Errorf("it says %s", said)
		}
	}
	if said := w.mustRun("status", "--log-level", "error"); said != "No lease is held.\n" {
		t.Errorf("status says %q", said)
	}
}

// The demonstration over a real server: a crash, a handover, and never two leaders.
func TestZooKeeperDemo(t *testing.T) {
	t.Parallel()
	server, err := servers.ZooKeeper()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	w := newWorld(t)
	if said := w.mustRun("demo", "--log-level", "error", "--backend", server.URL); !strings.Contains(said, "never two leaders at once") {
		t.Errorf("it says %s", said)
	}
}
