package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// A client can be closed, crash and start again, each process with a session of its
// own.
func TestLives(t *testing.T) {
	c, cls := story(t, sim.Script{}, "a")
	a := cls[0]
	within(t, c, time.Second, "a leads", c.Led("job"))
	first, started := a.View().Session, a.Life()
	done := false
	closed := a.Close(func() { done = true })
	if !a.Closing() {
		t.Error("a does not say that it closes")
	}
	within(t, c, time.Second, "a is closed", closed.Done)
	if !done || closed.Err() != nil || a.View().State != session.Closed {
		t.Errorf("then was called: %v; the error is %v, and the session %v", done, closed.Err(), a.View().State)
	}
	a.Crash()
	if a.Elections != nil || c.Leader("job") != nil {
		t.Error("after a crash there are elections")
	}
	a.Start()
	if a.Life() != started+1 || a.Closing() || a.View() != nil || a.Live() {
		t.Errorf("a starts its life %d, and closes already: %v", a.Life(), a.Closing())
	}
	within(t, c, time.Second, "a has a session", a.Live)
	if next := a.View().Session; next == first {
		t.Errorf("a has session %s again", next)
	}
}

// What is asked of an actor that has ended has an answer too.
func TestRepliesOfTheDead(t *testing.T) {
	c, cls := story(t, sim.Script{}, "a")
	within(t, c, time.Second, "a leads", c.Led("job"))
	e := cls[0].Elections["job"]
	if err := e.StepDown(-1).Err(); err != nil {
		t.Errorf("before there is an answer, the error is %v", err)
	}
	refused := e.StepDown(-1)
	within(t, c, time.Second, "it is refused", refused.Done)
	if cooldown := (*election.CooldownError)(nil); !errors.As(refused.Err(), &cooldown) {
		t.Errorf("a negative cooldown yields %v", refused.Err())
	}
	stopped := e.Stop()
	within(t, c, time.Second, "it stops", stopped.Done)
	again := e.Stop()
	within(t, c, time.Second, "it is answered", again.Done)
	if stopped.Err() != nil || again.Err() == nil {
		t.Errorf("Stop yields %v, and again %v", stopped.Err(), again.Err())
	}
}

// An election can be asked where it stands.
func TestElectionStands(t *testing.T) {
	deaf := sim.Script{Task: func(*term.Term) sim.Work { return sim.Work{Deaf: true} }}
	c, cls := story(t, deaf, "a", "b")
	within(t, c, time.Second, "a leads", c.LedBy("job", cls[0]))
	a, b := cls[0].Elections["job"], cls[1].Elections["job"]
	within(t, c, time.Second, "b is ready", b.Ready)
	if !a.Leads() || a.Ready() || b.Leads() || b.Term() != nil {
		t.Errorf("a leads: %v, is ready: %v; b leads: %v", a.Leads(), a.Ready(), b.Leads())
	}
	within(t, c, time.Second, "a's task runs", a.Deaf)
	if !cls[0].WorksForEver() || cls[1].WorksForEver() || b.Deaf() {
		t.Errorf("a works for ever: %v; b: %v", cls[0].WorksForEver(), cls[1].WorksForEver())
	}
	a.StepDown(time.Hour)
	c.RunFor(time.Millisecond)
	if a.Status() != election.SteppingDown || c.Leader("job") != cls[0] {
		t.Errorf("a is %v, and %v leads", a.Status(), c.Leader("job"))
	}
	within(t, c, params.Lease, "b leads", c.LedBy("job", cls[1]))
	if a.Ready() {
		t.Error("a is ready while its task runs on, in its cooldown")
	}
}

// A lock that tries once is told who holds it, and one whose client is closed is told
// that.
func TestLocks(t *testing.T) {
	c := sim.NewCluster(sim.Random(1), params)
	a, b := c.NewClient("a", 0, 1), c.NewClient("b", 0, 1)
	var events []observe.Event
	a.Sink = func(e observe.Event) { events = append(events, e) }
	mine := a.Lock(true, "x")
	if mine.Terms() != nil {
		t.Error("a lock has terms before it is acquired")
	}
	within(t, c, time.Second, "a has x", func() bool { return len(mine.Terms()) == 1 })
	if len(events) == 0 {
		t.Error("the sink is told nothing")
	}
	theirs := b.Lock(true, "x")
	within(t, c, time.Second, "b is answered", theirs.Acquired.Done)
	if held := (*lock.HeldError)(nil); !errors.As(theirs.Acquired.Err(), &held) || c.Monitor.Met[sim.LockHeld] != 1 {
		t.Errorf("b is answered %v, and %d locks were held", theirs.Acquired.Err(), c.Monitor.Met[sim.LockHeld])
	}
	twice := a.Lock(false, "x")
	within(t, c, time.Second, "a is answered", twice.Acquired.Done)
	if inUse := (*session.InUseError)(nil); !errors.As(twice.Acquired.Err(), &inUse) {
		t.Errorf("a second lock of x is answered %v", twice.Acquired.Err())
	}
	released := mine.Release()
	within(t, c, time.Second, "x is released", released.Done)
	next := b.Lock(true, "x")
	within(t, c, time.Second, "b has x", func() bool { return len(next.Terms()) == 1 })
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}

// A cluster without parameters that make sense is refused.
func TestClusterNeedsParams(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a cluster without a lease was accepted")
		}
	}()
	sim.NewCluster(sim.Calm(), session.Params{})
}

// With many terms on a node, the monitor does not look at each of them at each step,
// and sees all the same when their session is wrong.
func TestMonitorWatchesManyTerms(t *testing.T) {
	l := newInsider()
	for i := range 100 {
		l.client.Elect(string(rune('A'+i)), sim.Script{})
	}
	l.RunUntil(time.Second, func() bool { return l.client.View().Leases == 100 })
	l.Net.Cut(l.client.Node, l.Store)
	l.RunFor(params.Bound().Local(params.Lease) - time.Second)
	if err := l.Err(); err != nil || l.client.View().Leases != 100 {
		t.Fatalf("%d leases: %v", l.client.View().Leases, err)
	}
	at, _ := l.Model.Expires(l.id())
	*l.client.View().Deadline = *term.NewDeadline(l.client, at+1)
	l.hear("look", nil)
	wantViolation(t, l.Err(), sim.DeadlineFirst)
}
