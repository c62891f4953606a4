package actor_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
)

// explosions are the ways in which Go code leaves without returning.
var explosions = []struct {
	name  string
	do    func()
	check func(*actor.PanicError) bool
}{
	{"value", func() { panic("boom") }, func(e *actor.PanicError) bool {
		return e.Value == "boom" && errors.Unwrap(e) == nil && strings.Contains(e.Error(), "mine panicked: boom")
	}},
	{"error", func() { panic(io.ErrUnexpectedEOF) }, func(e *actor.PanicError) bool {
		return errors.Is(e, io.ErrUnexpectedEOF)
	}},
	{"nil", func() { panic(nil) }, func(e *actor.PanicError) bool {
		var none *runtime.PanicNilError
		return errors.As(e, &none)
	}},
	{"runtime error", func() { var nobody actor.Behavior; nobody.Receive(nil, nil) }, func(e *actor.PanicError) bool {
		var re runtime.Error
		return errors.As(e, &re)
	}},
	{"Goexit", runtime.Goexit, func(e *actor.PanicError) bool {
		return strings.Contains(e.Error(), "runtime.Goexit was called")
	}},
}

func checkPanic(t *testing.T, e *actor.PanicError, check func(*actor.PanicError) bool) {
	t.Helper()
	if e.Where != "mine" || !check(e) || !strings.Contains(string(e.Stack), "_test.go") {
		t.Errorf("got %v of %q at\n%s", e, e.Where, e.Stack)
	}
}

func TestPanicEndsThatActorOnly(t *testing.T) {
	places := []struct {
		name string
		at   actor.Message // what the actor explodes over
		seen []actor.Message
		dead []actor.Message
	}{
		{"Started", actor.Started{}, messages(actor.Started{}), messages(1, 2, 3)},
		{"message", 2, messages(actor.Started{}, 1, 2), messages(3)},
		{"timer", "timer", messages(actor.Started{}, 1, 2, 3, "timer"), nil},
		{"Stopping", actor.Stopping{}, messages(actor.Started{}, 1, 2, 3, "timer", actor.Stopping{}), nil},
	}
	for _, place := range places {
		for _, explosion := range explosions {
			t.Run(place.name+"/"+explosion.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSystem(t)
					j := &journal{do: func(ctx actor.Context, msg actor.Message) {
						if msg == (actor.Started{}) {
							ctx.After(time.Second, "timer")
							time.Sleep(time.Millisecond) // until the mailbox is full
						}
						if msg == place.at {
							explosion.do()
						}
					}}
					var mine actor.Ref
					parent := &journal{do: func(ctx actor.Context, msg actor.Message) {
						if msg == (actor.Started{}) {
							mine = ctx.Spawn("mine", j)
							for i := range 3 {
								ctx.Send(mine, i+1)
							}
						}
					}}
					parentRef := s.Spawn("parent", parent)
					sleep(time.Minute)
					s.Stop(mine)
					synctest.Wait()
					parentRef.Tell("still here")
					s.shutdown()

					err := s.onePanic()
					checkPanic(t, err, explosion.check)
					equal(t, "received", j.seen, place.seen)
					equal(t, "dead letters", s.deadLetters(), place.dead)
					equal(t, "the parent received", parent.seen, messages(
						actor.Started{}, actor.Exited{Ref: mine, Err: err}, "still here", actor.Stopping{}))
				})
			})
		}
	}
}

func TestPanicOfGoWorkIsItsAnswer(t *testing.T) {
	for _, explosion := range explosions {
		t.Run(explosion.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t) // which must hear nothing
				j := &journal{do: func(ctx actor.Context, msg actor.Message) {
					if msg == (actor.Started{}) {
						ctx.Go(func(context.Context) actor.Message { explosion.do(); return nil })
					}
				}}
				s.Spawn("mine", j)
				s.Spawn("other", &journal{}).Tell(1)
				synctest.Wait()
				s.shutdown()
				if len(j.seen) != 3 {
					t.Fatalf("received %v", j.seen)
				}
				err, ok := j.seen[1].(*actor.PanicError)
				if !ok {
					t.Fatalf("received %v, want a *PanicError", j.seen[1])
				}
				checkPanic(t, err, explosion.check)
			})
		})
	}
}

// A test's hook may call t.Fatal. Everything else must happen all the same.
func TestHooksMayLeaveByGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters := 0
		s := actor.NewSystem(
			actor.WithErrors(func(error) { runtime.Goexit() }),
			actor.WithDeadLetters(func(actor.Ref, actor.Message) { letters++; runtime.Goexit() }))
		parent := &journal{}
		parent.do = func(ctx actor.Context, msg actor.Message) {
			if msg != (actor.Started{}) {
				return
			}
			child := ctx.Spawn("child", &journal{do: func(_ actor.Context, msg actor.Message) {
				if msg == (actor.Started{}) {
					time.Sleep(time.Millisecond)
					panic("boom")
				}
			}})
			for i := range 3 {
				ctx.Send(child, i)
			}
		}
		s.Spawn("parent", parent)
		sleep(time.Second)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if letters != 3 {
			t.Errorf("the hook was told of %d dead letters, want 3", letters)
		}
		if len(parent.seen) != 3 {
			t.Errorf("the parent received %v, want Started, Exited and Stopping", parent.seen)
		}
	})
}
