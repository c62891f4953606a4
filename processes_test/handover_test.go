//go:build unix

package processes_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// stepDown tells a leader to let somebody else have it, who may be the same one.
func (c *cast) stepDown(p *player) {
	c.t.Helper()
	if _, err := fmt.Fprintf(p.in, "step down for %v\n", rand.N(40*time.Millisecond)); err != nil {
		c.t.Fatal(err)
	}
}

// stop lets a process end in good order, and another one begin.
func (c *cast) stop(p *player) {
	c.t.Helper()
	p.in.Close()
	c.enter()
	c.exit(p, true)
}

// TestHandovers: while leaders end and step down in good order, no piece of work begins before the previous one has ended,
// and nobody is refused.
func TestHandovers(t *testing.T) {
	const handovers = 200
	// Nobody waits for a lease to run out, so it may be long, and no busy machine can make it do so.
	c := newCast(t, 4, time.Minute)
	began := time.Now()
	var last reign
	var steps, stops int
	for range handovers {
		r, leader := c.next(last)
		if rand.N(4) == 0 {
			c.stop(leader)
			stops++
		} else {
			c.stepDown(leader)
			steps++
		}
		last = r
	}
	c.next(last)
	t.Logf("%d handovers in %v: %d leaders stepped down, %d ended", handovers, time.Since(began).Round(time.Millisecond), steps, stops)
	v := c.finish()
	if v.begins <= handovers || v.late > 0 || v.overlaps > 0 || c.count("refused") > 0 || steps == 0 || stops == 0 {
		t.Errorf("%+v, %d refused", v, c.count("refused"))
	}
}

// kill ends a leader without a word.
func (c *cast) kill(p *player) {
	c.t.Helper()
	c.signal(p, syscall.SIGKILL)
	c.exit(p, false)
	c.enter()
}

// freeze stops a leader until somebody else has written, and wakes it then. It reports whether the leader was woken in the
// middle of its work, and has been refused; it may have lost its term before.
func (c *cast) freeze(r reign, p *player) (refused bool) {
	c.t.Helper()
	c.signal(p, syscall.SIGSTOP)
	other := func() bool { return c.latest().token > r.token }
	for tries := 0; !c.within(4*c.lease, other); tries++ {
		if tries > 10 {
			c.t.Fatal("nobody takes over from a leader that is stopped")
		}
		// It was stopped in the middle of a renewal or a write, and the file that it was at with it.
		c.signal(p, syscall.SIGCONT)
		time.Sleep(c.lease / 50)
		c.signal(p, syscall.SIGSTOP)
	}
	c.signal(p, syscall.SIGCONT)
	over := fmt.Sprint("over ", r.token)
	c.until("the work to end that was stopped", func() bool { return p.says(over) })
	return p.says(fmt.Sprint("refused ", r.token))
}

// TestKilledAndStopped: whatever happens to leaders, the fenced file has no token out of order, nobody is refused whose term is
// valid, work that ends in time ends before the next begins, and who is woken too late is refused.
func TestKilledAndStopped(t *testing.T) {
	const each = 12
	c := newCast(t, 4, time.Second)
	began := time.Now()
	happened := map[string]int{"stepped down": 0, "ended": 0, "killed": 0, "stopped, woken and refused": 0, "stopped between two terms": 0}
	var last reign
	for round := 0; ; round++ {
		r, leader := c.next(last)
		var missing []string
		for what, times := range happened {
			if times < each && what != "stopped between two terms" {
				missing = append(missing, what)
			}
		}
		if len(missing) == 0 {
			break
		}
		if _, _, err := judgeFenced(c.read(fenced(c.dir))); err != nil {
			t.Fatalf("the fenced file: %v", err)
		}
		if round > 10*each {
			t.Fatalf("after %d rounds: %v", round, happened)
		}
		what := missing[rand.N(len(missing))]
		switch what {
		case "stepped down":
			c.stepDown(leader)
		case "ended":
			c.stop(leader)
		case "killed":
			c.kill(leader)
		case "stopped, woken and refused":
			if !c.freeze(r, leader) {
				what = "stopped between two terms"
			}
		}
		happened[what]++
		last = r
	}
	t.Logf("in %v, of the leaders: %v", time.Since(began).Round(time.Millisecond), happened)
	// Those that were killed have no end at all.
	if v := c.finish(); v.inTime == 0 || v.late < each {
		t.Errorf("%+v", v)
	}
}
