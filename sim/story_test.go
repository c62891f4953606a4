package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

var params = session.Defaults(15 * time.Second)

// story is a cluster with a few clients that all contend for "job".
func story(t *testing.T, script sim.Script, names ...string) (*sim.Cluster, []*sim.Client) {
	t.Helper()
	c := sim.NewCluster(sim.Random(1), params)
	for _, name := range names {
		cl := c.NewClient(name, 0, 1)
		cl.Elect("job", script)
		if !c.RunUntil(time.Second, cl.Live) {
			t.Fatalf("%s has no session: %v", name, c.Err())
		}
	}
	t.Cleanup(func() {
		if err := c.Err(); err != nil {
			t.Error(err)
		}
	})
	return c, c.Clients
}

// within fails the test unless cond holds soon enough, and returns after how long.
func within(t *testing.T, c *sim.Cluster, limit time.Duration, what string, cond func() bool) time.Duration {
	t.Helper()
	from := c.Now()
	if !c.RunUntil(limit, cond) {
		t.Fatalf("not within %v: %s (%v)", limit, what, c.Err())
	}
	return c.Now().Sub(from)
}

func TestElect(t *testing.T) {
	c, cls := story(t, sim.Script{Callback: sim.Quick, Task: sim.Diligent}, "a", "b", "c")
	within(t, c, time.Second, "the first client leads", c.LedBy("job", cls[0]))
	c.RunFor(time.Hour)
	if c.Leader("job") != cls[0] {
		t.Errorf("after a quiet hour %v leads, want %v", c.Leader("job"), cls[0])
	}
	if got := c.Monitor.Met[sim.TermBegun]; got != 1 {
		t.Errorf("%d terms in a quiet hour, want 1", got)
	}
}

func TestFailOver(t *testing.T) {
	c, cls := story(t, sim.Script{Task: sim.Diligent}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	token := cls[0].Elections["job"].Term().Token()
	cls[0].Crash()
	took := within(t, c, params.Lease+c.AttemptPeriod(), "b leads", c.LedBy("job", cls[1]))
	if took < params.Lease/2 {
		t.Errorf("b leads %v after a crashed, before its lease can have run out", took)
	}
	if next := cls[1].Elections["job"].Term().Token(); next <= token {
		t.Errorf("the token goes from %d to %d", token, next)
	}
}

func TestHandOver(t *testing.T) {
	c, cls := story(t, sim.Script{Task: func(*term.Term) sim.Work { return sim.Work{Tidies: time.Second} }}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	stopped := cls[0].Elections["job"].Stop()
	c.RunFor(999 * time.Millisecond)
	if c.Leader("job") != cls[0] {
		t.Fatalf("%v leads while the task of a still tidies up", c.Leader("job"))
	}
	// The backend tells b at once that the name is free: no poll, no expiry.
	within(t, c, time.Millisecond, "b leads", c.LedBy("job", cls[1]))
	if !stopped.Done() {
		t.Error("Stop has not come back")
	}
}

func TestStepDown(t *testing.T) {
	c, cls := story(t, sim.Script{Callback: sim.Quick}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	cls[0].Elections["job"].StepDown(time.Minute)
	within(t, c, time.Millisecond, "b leads", c.LedBy("job", cls[1]))
	cls[1].Crash()
	c.RunFor(time.Minute - time.Second)
	if c.Leader("job") != nil {
		t.Fatal("a leads during its cooldown")
	}
	within(t, c, time.Second, "a leads again", c.LedBy("job", cls[0]))
}

func TestPausePastTheLease(t *testing.T) {
	c, cls := story(t, sim.Script{Callback: sim.Quick, Task: sim.Diligent}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	old := cls[0].Elections["job"].Term()
	cls[0].Pause()
	within(t, c, params.Lease+c.AttemptPeriod(), "b leads", c.LedBy("job", cls[1]))
	// Nothing of a has run since: the first look is right all the same.
	if old.Valid() || old.Reason() != term.None {
		t.Errorf("after the pause a's term is valid: %v, its reason %v", old.Valid(), old.Reason())
	}
	cls[0].Resume()
	within(t, c, time.Second, "a notices", func() bool { return old.Reason() == term.DeadlinePassed })
	c.RunFor(time.Minute)
	if got := cls[0].Elections["job"].Status(); got != election.Candidate {
		t.Errorf("a is %v, want %v", got, election.Candidate)
	}
}

func TestCutAndHeal(t *testing.T) {
	c, cls := story(t, sim.Script{Callback: sim.Quick, Task: sim.Diligent}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	old := cls[0].Elections["job"].Term()
	c.Net.Cut(cls[0].Node, c.Store)
	gone := within(t, c, params.Lease, "a's term ends", func() bool { return !old.Valid() })
	if least := params.Bound().Local(params.Lease) - params.RenewInterval; gone < least {
		t.Errorf("a's term ends %v after the cut, want at least %v", gone, least)
	}
	within(t, c, params.Lease+c.AttemptPeriod()-gone, "b leads", c.LedBy("job", cls[1]))
	c.Net.Heal(cls[0].Node, c.Store)
	within(t, c, params.Lease, "a has a session again", cls[0].Live)
	cls[1].Close()
	within(t, c, time.Millisecond, "a leads again", c.LedBy("job", cls[0]))
}

func TestBackendRestarts(t *testing.T) {
	c, cls := story(t, sim.Script{Callback: sim.Quick}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	c.Store.Crash()
	c.RunFor(params.RenewInterval + time.Second)
	if v := cls[0].View(); c.Leader("job") != cls[0] {
		t.Fatalf("one lost renewal costs the term: %+v", v)
	}
	c.StartStore()
	c.RunFor(params.Lease)
	if c.Leader("job") != cls[0] || c.Monitor.Met[sim.TermBegun] != 1 {
		t.Error("a short outage of the backend costs the term")
	}
	if c.Monitor.Met[sim.RenewalUnknown] == 0 || c.Monitor.Met[sim.SuspendedAndRecovered] == 0 {
		t.Errorf("%d renewals failed, and the session resumed %d times", c.Monitor.Met[sim.RenewalUnknown], c.Monitor.Met[sim.SuspendedAndRecovered])
	}
}

func TestClose(t *testing.T) {
	c, cls := story(t, sim.Script{Callback: sim.Quick, Task: sim.Diligent}, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	closed := cls[0].Close()
	within(t, c, time.Millisecond, "b leads", c.LedBy("job", cls[1]))
	within(t, c, time.Millisecond, "a is closed", closed.Done)
	if v := cls[0].View(); v.State != session.Closed || v.Session != "" || v.Leases != 0 {
		t.Errorf("a closed session shows %+v", v)
	}
}

func TestLockSet(t *testing.T) {
	c := sim.NewCluster(sim.Random(1), params)
	a, b := c.NewClient("a", 0, 1), c.NewClient("b", 0, 1)
	both := a.Lock(false, "x", "y")
	within(t, c, time.Second, "a has both", both.Acquired.Done)
	one := b.Lock(false, "y", "z")
	c.RunFor(time.Minute)
	if one.Acquired.Done() {
		t.Fatalf("b was answered %v while a holds y", one.Acquired.Answer)
	}
	both.Release()
	within(t, c, time.Second, "b has both", func() bool { return len(one.Terms()) == 2 })
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}
