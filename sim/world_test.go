package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is an actor that remembers what it received, and when.
type recorder struct{ got []string }

func (r *recorder) Receive(ctx actor.Context, msg actor.Message) {
	r.got = append(r.got, fmt.Sprintf("%v@%v", msg, time.Duration(ctx.Now())))
}

func (r *recorder) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.got, want) {
		t.Errorf("received %q, want %q", r.got, want)
	}
}

// on returns a behaviour that runs f when it starts, and passes all else to r.
func on(r *recorder, f func(ctx actor.Context)) actor.Behavior {
	return actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if _, ok := msg.(actor.Started); ok {
			f(ctx)
			return
		}
		r.Receive(ctx, msg)
	})
}

func TestTimers(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var r recorder
	n.Spawn("a", on(&r, func(ctx actor.Context) {
		ctx.After(2*time.Second, "two")
		stopped := ctx.After(time.Second, "one")
		ctx.Send(ctx.Self(), "message")
		ctx.After(-time.Second, "at once")
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop does not say whether it stopped the timer")
		}
		ctx.After(0, "never").Stop()
	}))
	w.RunFor(time.Minute)
	r.want(t, "message@0s", "at once@0s", "two@2s")
	if w.Now() != actor.Instant(time.Minute) {
		t.Errorf("it is %v, want 1m", time.Duration(w.Now()))
	}
}

// A paused machine receives nothing, and then everything in order: before what was
// sent later.
func TestPause(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var r recorder
	a := n.Spawn("a", on(&r, func(ctx actor.Context) {
		ctx.After(2*time.Second, "timer")
		ctx.After(9*time.Second, "late timer")
	}))
	w.RunFor(time.Second)
	n.Pause()
	w.In(0, func() { a.Tell("first") })
	w.In(3*time.Second, func() { a.Tell("second") })
	// The third is on its way, for the same instant, when the machine resumes.
	w.In(4*time.Second, func() { n.Resume() })
	w.In(4*time.Second, func() { a.Tell("third") })
	w.RunFor(time.Minute)
	r.want(t, "first@5s", "timer@5s", "second@5s", "third@5s", "late timer@9s")
}

// An actor takes its messages in the order of arrival, whoever sent them, however
// long they wait, and also when the machine was paused meanwhile.
func TestLag(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	w.Lag = func(actor.Ref) time.Duration { return time.Duration(w.Choose("lag", 1000)) }
	var arrived, got []int
	a := n.Spawn("a", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if i, ok := msg.(int); ok {
			got = append(got, i)
		} else {
			ctx.After(500, -1)
		}
	}))
	w.OnSend(func(_, _ actor.Ref, msg actor.Message) { arrived = append(arrived, msg.(int)) })
	for i := range 1000 {
		w.At(actor.Instant(i), func() {
			if i%2 == 0 {
				arrived = append(arrived, i)
				a.Tell(i)
				return
			}
			n.Spawn("b", on(&recorder{}, func(ctx actor.Context) { ctx.Send(a, i) }))
		})
	}
	w.At(300, n.Pause)
	w.At(5000, n.Resume)
	w.RunFor(time.Second)
	if i := slices.Index(got, -1); i < 0 {
		t.Error("the timer was never due")
	} else {
		got = slices.Delete(got, i, i+1)
	}
	if len(got) != 1000 || slices.IsSorted(got) || !slices.Equal(got, arrived) {
		t.Errorf("received %v\nin another order than they arrived: %v", got, arrived)
	}
}

// A panic ends the actor that panics, and only that one, like in production: it is
// reported, its parent is told, and whoever asked is answered.
func TestPanicIsContained(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var reported error
	w.OnReport = func(_ actor.Ref, err error) { reported = err }
	var parent, reply recorder
	boom := errors.New("boom")
	var child actor.Ref
	stopping := false
	n.Spawn("parent", on(&parent, func(ctx actor.Context) {
		child = ctx.Spawn("child", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			switch msg.(type) {
			case *actor.Request:
				ctx.After(time.Second, "a timer ends with its actor")
				panic(boom)
			case actor.Stopping:
				stopping = true
			}
		}))
	}))
	w.RunFor(0)
	answers := n.Spawn("reply", on(&reply, func(actor.Context) {}))
	child.Tell(actor.NewRequest("the cause", answers))
	child.Tell(actor.NewRequest("too late", answers))
	w.RunFor(time.Minute)
	var p *actor.PanicError
	if !errors.As(reported, &p) || !errors.Is(reported, boom) || p.Where != "n/child" || !strings.Contains(string(p.Stack), "TestPanicIsContained") {
		t.Errorf("reported %v, want the panic with its stack", reported)
	}
	if len(parent.got) != 1 || !strings.Contains(parent.got[0], "boom") {
		t.Errorf("the parent received %v, want that its child has exited", parent.got)
	}
	if len(reply.got) != 2 || !strings.Contains(reply.got[0], "{request(string) n/child}") {
		t.Errorf("who asked received %v, want two Unanswered", reply.got)
	}
	if stopping || w.DeadLetters() != 1 {
		t.Errorf("stopping %v, %d dead letters, want false and 1", stopping, w.DeadLetters())
	}
}

func TestStop(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var parent, self recorder
	var child actor.Ref
	n.Spawn("parent", on(&parent, func(ctx actor.Context) {
		child = ctx.Spawn("child", on(&self, func(actor.Context) {}))
	}))
	w.RunFor(0)
	w.NewNode("other", 0, 1).Stop(child) // which is not one of its actors
	n.Stop(&sim.Reply{})                 // nor is this
	w.RunFor(time.Second)
	child.Tell("before")
	n.Stop(child)
	child.Tell("after")
	w.RunFor(time.Second)
	self.want(t, "before@1s", "{}@1s") // Stopping
	if len(parent.got) != 1 || w.DeadLetters() != 1 {
		t.Errorf("the parent received %v, %d dead letters", parent.got, w.DeadLetters())
	}
}

// Work runs at once, and its panic is its answer.
func TestGo(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	var r recorder
	w.NewNode("n", 0, 1).Spawn("a", on(&r, func(ctx actor.Context) {
		ctx.Go(func(ctx2 context.Context) actor.Message { return "answer" })
		ctx.Go(func(ctx2 context.Context) actor.Message { return nil })
		ctx.Go(func(ctx2 context.Context) actor.Message { panic("boom") })
		ctx.Send(ctx.Self(), "message")
	}))
	w.RunFor(time.Second)
	r.want(t, "answer@0s", "actor: n/a panicked: boom@0s", "message@0s")
}

// After a crash nothing of the old processes is left, and the machine can be used
// again.
func TestCrash(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var before, after, reply recorder
	a := n.Spawn("a", on(&before, func(ctx actor.Context) { ctx.After(time.Second, "timer") }))
	other := w.NewNode("m", 0, 1).Spawn("reply", on(&reply, func(actor.Context) {}))
	w.RunFor(0)
	n.Pause()
	a.Tell("waits")
	w.RunFor(0)
	n.Crash()
	n.Spawn("a", &after)
	a.Tell(actor.NewRequest("lost", other))
	w.RunFor(time.Minute)
	before.want(t)
	after.want(t, "{}@0s")
	reply.want(t) // from a machine that is gone comes no answer
}

// Actors report bugs, and a report fails the world, which stands still then.
func TestFail(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	bug := errors.New("a bug")
	var r recorder
	a := w.NewNode("n", 0, 1).Spawn("a", on(&r, func(ctx actor.Context) { ctx.After(time.Second, "x"); ctx.Report(bug) }))
	w.RunFor(time.Minute)
	if !errors.Is(w.Err(), bug) || !strings.Contains(w.Err().Error(), "n/a") {
		t.Errorf("the world's error is %v", w.Err())
	}
	a.Tell("y")
	if w.Step() || w.RunUntil(time.Second, func() bool { return false }) {
		t.Error("a world that has failed goes on")
	}
	r.want(t)
}

// An address outlives the actor behind it.
func TestAddress(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	net := w.NewNet()
	n, m := w.NewNode("n", 0, 1), w.NewNode("m", 0, 1)
	var first, second recorder
	var a sim.Address
	a.Bind(m.Spawn("first", on(&first, func(actor.Context) {})))
	b := n.Spawn("b", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if s, ok := msg.(string); ok {
			ctx.Send(&a, s)
		}
	}))
	b.Tell("one")
	w.RunFor(0)
	m.Crash()
	a.Bind(m.Spawn("second", on(&second, func(actor.Context) {})))
	b.Tell("two")
	w.RunFor(0)
	net.Cut(n, m) // it is no way around the network
	b.Tell("three")
	w.RunFor(0)
	first.want(t, "one@0s")
	second.want(t, "two@0s")
}

// The trace says what happened in a way that people can read.
func TestTrace(t *testing.T) {
	c := sim.NewCluster(sim.Random(1), params)
	var trace bytes.Buffer
	c.TraceTo(&trace)
	c.NewClient("a", 0, 1).Elect("job", sim.Script{Callback: sim.Quick})
	c.RunFor(time.Second)
	for _, want := range []string{
		"0 store/backend open #1 lease 15s\n",
		" for 15s\n",
		"0 a/election job won, candidacy 1: job=1\n",
		"0 a/host of job run OnElected job=1\n",
	} {
		if !strings.Contains(trace.String(), want) {
			t.Errorf("the trace does not contain %q:\n%s", want, &trace)
		}
	}
}

// What is due at one instant happens in the order in which it came about, whatever
// it is.
func TestOrderAtOneInstant(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var r recorder
	a := n.Spawn("a", on(&r, func(ctx actor.Context) { ctx.After(time.Second, "timer") }))
	call := func(msg string) func() { return func() { a.Tell(msg) } }
	w.RunFor(0)
	w.In(time.Second, call("a call")) // whose message comes after all that is due
	n.Spawn("b", on(&recorder{}, func(ctx actor.Context) {
		ctx.After(time.Second, "its own")
		ctx.Send(a, "at once")
	}))
	w.RunFor(0)
	w.In(time.Second, func() { r.got = append(r.got, "another call") })
	w.At(-1, func() { r.got = append(r.got, "overdue") })
	w.RunFor(time.Minute)
	r.want(t, "at once@0s", "overdue", "timer@1s", "another call", "a call@1s")
}

// A timer that was due keeps its handle, and stopping it late stops nothing else: what
// the world uses again is never a timer's.
func TestTimerStoppedLate(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	const messages = 100
	var timers []actor.Timer
	got := 0
	a := n.Spawn("a", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		switch msg {
		case "message":
			for _, timer := range timers {
				if timer.Stop() {
					t.Fatal("a timer was stopped that had been due")
				}
			}
			got++
		case "timer":
		default:
			for i := range 10 {
				timers = append(timers, ctx.After(time.Duration(i), "timer"))
			}
		}
	}))
	w.RunFor(time.Second)
	for i := range messages {
		a.Tell("message")
		if i%3 == 0 {
			w.RunFor(0)
		}
	}
	w.RunFor(time.Second)
	if got != messages {
		t.Errorf("%d messages of %d arrived", got, messages)
	}
}

// A timer that was stopped while its machine was paused does not come.
func TestTimerStoppedWhileHeld(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	var r recorder
	var timer actor.Timer
	n.Spawn("a", on(&r, func(ctx actor.Context) {
		timer = ctx.After(2*time.Second, "stopped")
		ctx.After(3*time.Second, "held")
	}))
	w.RunFor(time.Second)
	n.Pause()
	w.RunFor(4 * time.Second)
	if !timer.Stop() {
		t.Error("a timer that waits could not be stopped")
	}
	n.Resume()
	w.RunFor(time.Second)
	r.want(t, "held@5s")
}

// RunUntil ends when its condition holds, and not before; RunFor at the instant that
// was asked for, with all that is due then.
func TestRun(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	var r recorder
	w.NewNode("n", 0, 1).Spawn("a", on(&r, func(ctx actor.Context) {
		for i := range 5 {
			ctx.After(time.Duration(i+1)*time.Second, i)
		}
	}))
	if !w.RunUntil(time.Minute, func() bool { return len(r.got) == 2 }) || w.Now() != actor.Instant(2*time.Second) {
		t.Errorf("it ran until %v", time.Duration(w.Now()))
	}
	w.RunFor(time.Second)
	r.want(t, "0@1s", "1@2s", "2@3s")
	if w.RunUntil(time.Second, func() bool { return false }) || w.Now() != actor.Instant(4*time.Second) {
		t.Errorf("without its condition it ran until %v", time.Duration(w.Now()))
	}
	if steps := w.Steps(); steps != 5 {
		t.Errorf("%d steps, want 5: a start and four timers", steps)
	}
	for w.Step() {
	}
	if w.RunFor(time.Hour); w.Now() != actor.Instant(5*time.Second+time.Hour) || w.Step() {
		t.Errorf("with nothing to do it ran until %v", time.Duration(w.Now()))
	}
}
