package actor_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/simba-go/simba/actor"
)

func TestStartedComesFirstAndStoppingLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{}
		ref := s.Spawn("journal", j)
		ref.Tell(1)
		ref.Tell(2)
		s.Stop(ref)
		s.shutdown()
		equal(t, "received", j.seen, messages(actor.Started{}, 1, 2, actor.Stopping{}))
		if ref.String() != "journal" {
			t.Errorf("the actor is called %q", ref)
		}
	})
}

func TestStopEndsTheActorBehindItsMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{do: waitAtGates}
		ref := s.Spawn("journal", j)
		busy := make(gate)
		ref.Tell(busy)
		ref.Tell(1)
		s.Stop(ref)
		s.Stop(ref)
		ref.Tell(2)
		ref.Tell(3)
		close(busy)
		synctest.Wait()
		ref.Tell(4)
		s.Stop(ref)
		equal(t, "received", j.seen, messages(actor.Started{}, busy, 1, actor.Stopping{}))
		equal(t, "dead letters", s.deadLetters(), messages(2, 3, 4))
	})
}

func TestContextStopLeavesTheRestAsDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		j := &journal{do: func(ctx actor.Context, msg actor.Message) {
			waitAtGates(ctx, msg)
			switch msg {
			case "stop":
				ctx.Send(ctx.Self(), "to myself")
				ctx.Stop()
			case actor.Stopping{}:
				ctx.Send(ctx.Self(), "last words")
			}
		}}
		ref := s.Spawn("journal", j)
		busy := make(gate)
		ref.Tell(busy)
		ref.Tell("stop")
		ref.Tell("too late")
		close(busy)
		synctest.Wait()
		equal(t, "received", j.seen, messages(actor.Started{}, busy, "stop", actor.Stopping{}))
		equal(t, "dead letters", s.deadLetters(), messages("too late", "to myself", "last words"))
	})
}

func TestStopIsForTheActorsOfTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := newSystem(t), newSystem(t)
		ref := s.Spawn("journal", &journal{})
		other.Stop(ref)
		other.Stop(actor.NewRequest("no actor at all", ref))
		ref.Tell(1)
		synctest.Wait()
		if dead := s.deadLetters(); len(dead) > 0 {
			t.Errorf("another system stopped the actor: dead letters %v", dead)
		}
	})
}

func TestSpawnAfterShutdownStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		s.shutdown()
		j := &journal{}
		ref := s.Spawn("late", j)
		ref.Tell(1)
		if _, err := actor.Ask(t.Context(), ref, 2); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("asked: %v; want ErrStopped", err)
		}
		s.Stop(ref)
		s.shutdown()
		equal(t, "received", j.seen, nil)
		if dead := s.deadLetters(); len(dead) != 2 || dead[0] != 1 {
			t.Errorf("dead letters: %v; want 1 and a request", dead)
		}
	})
}

func TestStoppingMaySpawnAndStillEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		child := &journal{}
		s.Spawn("parent", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Stopping{}) {
				ctx.Spawn("child", child)
			}
		}))
		s.shutdown()
		equal(t, "the child of a closed system received", child.seen, nil)
	})
}

func TestShutdownSaysWhoIsStillRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		busy := make(gate)
		for _, name := range []string{"d", "b", "a", "c"} {
			s.Spawn(name, &journal{do: waitAtGates}).Tell(busy)
		}
		s.Spawn("worker", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) {
				ctx.Go(func(context.Context) actor.Message { <-busy; return nil })
			}
		}))
		synctest.Wait()

		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		err := s.Shutdown(ctx)
		if !errors.Is(err, cause) {
			t.Fatalf("Shutdown: %v; want the cause of its context", err)
		}
		// The worker may or may not have ended by now.
		synctest.Wait()
		err = s.Shutdown(ctx)
		const want = "4 actors [a b c ...] and the work of 1 Go calls still running"
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Shutdown: %v; want it to say %q", err, want)
		}
		close(busy)
		s.shutdown()
	})
}

func TestShutdownOfNothing(t *testing.T) {
	s := newSystem(t)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
}

// Whoever spawns while the system shuts down gets either an actor that is waited
// for or one that never starts.
func TestSpawnAndGoRaceWithShutdown(t *testing.T) {
	for range 200 {
		s := actor.NewSystem()
		var started, stopped, worked atomic.Int64
		behavior := func(ctx actor.Context, msg actor.Message) {
			switch msg.(type) {
			case actor.Started:
				started.Add(1)
				ctx.Go(func(context.Context) actor.Message { worked.Add(1); return 1 })
				ctx.Spawn("child", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
					switch msg.(type) {
					case actor.Started:
						started.Add(1)
					case actor.Stopping:
						stopped.Add(1)
					}
				}))
			case actor.Stopping:
				stopped.Add(1)
				ctx.Go(func(context.Context) actor.Message { worked.Add(1); return 1 })
			}
		}
		var spawners sync.WaitGroup
		for range 3 {
			spawners.Go(func() {
				for range 10 {
					s.Spawn("racer", actor.BehaviorFunc(behavior)).Tell(1)
					runtime.Gosched()
				}
			})
		}
		runtime.Gosched()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		b, e, w := started.Load(), stopped.Load(), worked.Load()
		spawners.Wait()
		if b != e {
			t.Fatalf("after Shutdown %d actors had started and %d stopped", b, e)
		}
		if started.Load() != b || worked.Load() != w {
			t.Fatal("something ran after Shutdown")
		}
	}
}

func TestReportReachesTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		problem := errors.New("a problem")
		ref := s.Spawn("reporter", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if err, ok := msg.(error); ok {
				ctx.Report(err)
			}
		}))
		ref.Tell(problem)
		ref.Tell(problem)
		synctest.Wait()
		if errs := s.errors(); len(errs) != 2 || errs[0] != problem || errs[1] != problem {
			t.Errorf("reported: %v", errs)
		}
	})
}

func TestRandomStaysInRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		drawn := make(map[int64]bool)
		s.Spawn("gambler", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
			if msg == (actor.Started{}) {
				for range 1000 {
					drawn[ctx.Random(3)] = true
				}
				ctx.Random(0) // panics
			}
		}))
		synctest.Wait()
		if len(drawn) != 3 || !drawn[0] || !drawn[1] || !drawn[2] {
			t.Errorf("drawn: %v; want 0, 1 and 2", drawn)
		}
		s.onePanic()
	})
}

func TestClockIsWhatActorsRead(t *testing.T) {
	s := actor.NewSystem()
	if _, ok := s.Clock().(actor.SystemClock); !ok {
		t.Errorf("the default clock is a %T", s.Clock())
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, actor.WithClock(fixed(42)))
		var now actor.Instant
		s.Spawn("reader", actor.BehaviorFunc(func(ctx actor.Context, _ actor.Message) { now = ctx.Now() }))
		s.shutdown()
		if now != 42 || s.Clock() != fixed(42) {
			t.Errorf("Now: %d, Clock: %v", now, s.Clock())
		}
	})
}

type fixed actor.Instant

func (f fixed) Now() actor.Instant { return actor.Instant(f) }
