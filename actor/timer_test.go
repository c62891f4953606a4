package actor_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
)

func TestAfterDeliversToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var waited time.Duration
		var asked actor.Instant
		s.Spawn("timed", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			switch msg {
			case actor.Started{}:
				asked = ctx.Now()
				ctx.After(math.MaxInt64, "never")
				ctx.After(1_234_567_891, "now")
			case "now":
				waited = ctx.Now().Sub(asked)
			case "never":
				t.Error("the longest timer fired")
			}
		}))
		sleep(24 * time.Hour)
		if waited != 1_234_567_891 {
			t.Errorf("delivered after %d ns, want 1234567891", waited)
		}
	})
}

func TestAfterZeroGoesBehindTheMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			waitAtGates(ctx, msg)
			if msg == "go" {
				ctx.After(0, "zero")
				ctx.Send(ctx.Self(), "sent")
				ctx.After(-time.Second, "negative")
			}
		}}
		ref := s.Spawn("timed", j)
		busy := make(gate)
		ref.Tell(busy)
		ref.Tell("go")
		ref.Tell("queued")
		close(busy)
		synctest.Wait()
		equal(t, "received", j.seen, messages(actor.Started{}, busy, "go", "queued", "zero", "sent", "negative"))
	})
}

func TestStopKeepsATimerFromBeingDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var pending, zero, fired actor.Timer
		var stopped []bool
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			switch msg {
			case actor.Started{}:
				pending = ctx.After(time.Hour, "pending")
				zero = ctx.After(0, "zero")
				stopped = append(stopped, zero.Stop(), pending.Stop(), pending.Stop(), zero.Stop())
				fired = ctx.After(time.Second, "fired")
			case "fired":
				stopped = append(stopped, fired.Stop())
			}
		}}
		s.Spawn("timed", j)
		sleep(24 * time.Hour)
		equal(t, "received", j.seen, messages(actor.Started{}, "fired"))
		if want := []bool{true, true, false, false, false}; !slices.Equal(stopped, want) {
			t.Errorf("Stop reported %v, want %v", stopped, want)
		}
	})
}

func TestStopReachesATimerInTheMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var timer actor.Timer
		stopped := false
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			switch msg {
			case actor.Started{}:
				timer = ctx.After(time.Second, "too late")
			case "busy":
				time.Sleep(time.Minute) // the timer fires meanwhile
			case "stop":
				stopped = timer.Stop()
			}
		}}
		ref := s.Spawn("timed", j)
		ref.Tell("busy")
		ref.Tell("stop")
		sleep(time.Hour)
		equal(t, "received", j.seen, messages(actor.Started{}, "busy", "stop"))
		if !stopped {
			t.Error("Stop reported false")
		}
	})
}

func TestTimersEndWithTheirActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			switch msg {
			case actor.Started{}:
				ctx.After(time.Second, "later")
			case "end":
				ctx.After(0, "in the mailbox")
				ctx.Stop()
			}
		}}
		ref := s.Spawn("timed", j)
		ref.Tell("end")
		sleep(time.Hour)
		equal(t, "received", j.seen, messages(actor.Started{}, "end", actor.Stopping{}))
		equal(t, "dead letters", s.deadLetters(), nil)
	})
}

// timerOp is a step of the property below: a timer is started, the one that was
// started as the n-th is stopped, or time passes.
type timerOp struct {
	Op   string
	N    int
	Time time.Duration
}

// Any mix of timers that are started, stopped and due does what a list of
// instants says.
func TestTimersDoWhatAListOfInstantsSays(t *testing.T) {
	op := rapid.Custom(func(rt *rapid.T) timerOp {
		return timerOp{
			Op:   rapid.SampledFrom([]string{"start", "stop", "wait"}).Draw(rt, "op"),
			N:    rapid.IntRange(0, 9).Draw(rt, "n"),
			Time: time.Duration(rapid.IntRange(0, 5).Draw(rt, "time")),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(op, 1, 40).Draw(rt, "ops")
		var got, want map[int]string
		synctest.Test(t, func(t *testing.T) { got, want = runTimers(t, ops), wantTimers(ops) })
		if !maps.Equal(got, want) {
			rt.Fatalf("the timers became %v, want %v", got, want)
		}
	})
}

// runTimers lets an actor do ops, and returns what became of each timer.
func runTimers(t *testing.T, ops []timerOp) map[int]string {
	s := newSystem(t)
	became := make(map[int]string)
	var timers []actor.Timer
	ref := s.Spawn("timed", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		switch m := msg.(type) {
		case timerOp:
			switch {
			case m.Op == "start":
				timers = append(timers, ctx.After(m.Time, len(timers)))
			case m.N < len(timers) && timers[m.N].Stop():
				became[m.N] += "stopped"
			}
		case int:
			became[m] += "delivered"
		}
	}))
	for _, op := range ops {
		if op.Op == "wait" {
			sleep(op.Time)
		} else {
			ref.Tell(op)
			synctest.Wait()
		}
	}
	s.shutdown()
	if dead := s.deadLetters(); len(dead) > 0 {
		t.Errorf("dead letters: %v", dead)
	}
	return became
}

// wantTimers is what should become of them.
func wantTimers(ops []timerOp) map[int]string {
	became := make(map[int]string)
	var now time.Duration
	var due []time.Duration
	for _, op := range ops {
		switch {
		case op.Op == "start":
			due = append(due, now+op.Time)
		case op.Op == "wait":
			now += op.Time
		case op.N < len(due) && became[op.N] == "":
			became[op.N] = "stopped"
		}
		for n, at := range due {
			if at <= now && became[n] == "" {
				became[n] = "delivered"
			}
		}
	}
	return became
}
