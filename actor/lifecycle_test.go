package actor_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/simba-go/simba/actor"
)

func TestExitedComesBehindAllThatTheChildSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var child actor.Ref
		parent := &journal{}
		parent.do = func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) {
				self := ctx.Self()
				child = ctx.Spawn("child", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
					ctx.Send(self, fmt.Sprintf("the child received %v", msg))
				}))
				ctx.Send(child, 1)
			}
		}
		s.Spawn("parent", parent)
		synctest.Wait()
		s.Stop(child)
		synctest.Wait()
		equal(t, "the parent received", parent.seen, messages(
			actor.Started{}, "the child received {}", "the child received 1", "the child received {}",
			actor.Exited{Ref: child}))
	})
}

// Whoever is told Exited may rely on it that nothing of the actor is left. The
// hooks take their time here, so that an early Exited would be handled meanwhile.
func TestExitedComesBehindItsDeadLettersAndItsReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *actor.System
		reported, exited := false, false
		s = actor.NewSystem(
			actor.WithDeadLetters(func(actor.Ref, actor.Message) { time.Sleep(time.Second) }),
			actor.WithErrors(func(error) { time.Sleep(time.Second); reported = true }))
		s.Spawn("parent", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			switch msg.(type) {
			case actor.Started:
				child := ctx.Spawn("child", actor.BehaviorFunc(func(actor.Context, actor.Message) {
					time.Sleep(time.Second) // until the mailbox is full
					panic("boom")
				}))
				for i := range 3 {
					ctx.Send(child, i)
				}
			case actor.Exited:
				exited = true
				if letters := s.DeadLetters(); letters != 3 || !reported {
					t.Errorf("when Exited came there were %d dead letters of 3, and the panic was reported: %t", letters, reported)
				}
			}
		}))
		sleep(time.Minute)
		if err := s.Shutdown(t.Context()); err != nil || !exited {
			t.Errorf("Shutdown: %v; Exited came: %t", err, exited)
		}
	})
}

func TestParentAndChildAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{}
		var child actor.Ref
		parent := s.Spawn("parent", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) {
				child = ctx.Spawn("child", j)
			}
		}))
		s.Stop(parent)
		synctest.Wait()
		child.Tell("orphan")
		s.shutdown()
		equal(t, "the child received", j.seen, messages(actor.Started{}, "orphan", actor.Stopping{}))
		equal(t, "dead letters", s.deadLetters(), messages(actor.Exited{Ref: child}))
	})
}

func TestGoAnswersUnlessNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) {
				ctx.Go(func(context.Context) actor.Message { time.Sleep(2 * time.Second); return "slow" })
				ctx.Go(func(context.Context) actor.Message { time.Sleep(time.Second); return "quick" })
				ctx.Go(func(context.Context) actor.Message { return nil })
			}
		}}
		s.Spawn("worker", j)
		sleep(time.Minute)
		equal(t, "received", j.seen, messages(actor.Started{}, "quick", "slow"))
	})
}

func TestGoEndsWithItsActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		start := time.Now()
		work := func(ctx context.Context) actor.Message {
			<-ctx.Done()
			ended := time.Since(start)
			time.Sleep(time.Second)
			return ended
		}
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) || msg == (actor.Stopping{}) {
				ctx.Go(work)
				time.Sleep(time.Second)
			}
		}}
		ref := s.Spawn("worker", j)
		sleep(time.Minute)
		s.Stop(ref)
		s.shutdown() // waits for the work
		equal(t, "received", j.seen, messages(actor.Started{}, actor.Stopping{}))
		end := time.Minute + time.Second // of Stopping
		equal(t, "dead letters", s.deadLetters(), messages(end, end))
		if got := time.Since(start); got != end+time.Second {
			t.Errorf("Shutdown waited until %v, want %v", got, end+time.Second)
		}
	})
}

// A Context must not be used after its actor has ended. Who does it anyway must
// not break the system.
func TestGoAfterTheEndDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		var kept actor.Context
		s.Spawn("careless", actor.BehaviorFunc(func(ctx actor.Context, _ actor.Message) { kept = ctx }))
		s.shutdown()
		kept.Go(func(context.Context) actor.Message { t.Error("the work ran"); return 1 })
		synctest.Wait()
		s.shutdown()
	})
}

// holder holds on to what a test wants to see freed.
type holder struct{ timed *[1 << 10]byte }

func (h *holder) Receive(ctx actor.Context, msg actor.Message) {
	if msg == (actor.Started{}) {
		ctx.After(time.Hour, h.timed)
	}
}

// awaitFreed collects garbage until all that freed looks at has gone.
func awaitFreed(t *testing.T, freed func() bool) {
	t.Helper()
	for range 100 {
		runtime.GC()
		if freed() {
			return
		}
	}
	t.Error("it is still alive")
}

// The address of an actor that has ended does not keep alive what the actor had,
// nor does a timer that was to fire much later.
func TestEndedActorsHoldOnToNothing(t *testing.T) {
	s := newSystem(t)
	h := &holder{new([1 << 10]byte)}
	behavior, timed := weak.Make(h), weak.Make(h.timed)
	ref := s.Spawn("holder", h)
	s.shutdown()
	awaitFreed(t, func() bool { return behavior.Value() == nil && timed.Value() == nil })
	runtime.KeepAlive(ref)
}

// The timer does not keep the actor itself alive either, and with it the system.
func TestTimersOfEndedActorsHoldOnToNothing(t *testing.T) {
	clock := new(handClock)
	freed := weak.Make(clock)
	s := actor.NewSystem(actor.WithClock(clock))
	s.Spawn("holder", &holder{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitFreed(t, func() bool { return freed.Value() == nil })
}

// handClock is a clock with an address of its own.
type handClock struct{ now actor.Instant }

func (c *handClock) Now() actor.Instant { return c.now }
