package actor_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/simba-go/simba/actor"
)

// ask asks in the background.
func ask(t *testing.T, to actor.Ref, msg actor.Message) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := actor.Ask(t.Context(), to, msg)
		result <- err
	}()
	synctest.Wait()
	return result
}

func TestAskOfAnActorThatEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(s *observed, ref actor.Ref)
		do   func(ctx actor.Context, msg actor.Message)
	}{
		{"stopped", func(s *observed, ref actor.Ref) { s.Stop(ref) }, nil},
		{"stops itself", func(_ *observed, ref actor.Ref) { ref.Tell("end") },
			func(ctx actor.Context, _ actor.Message) { ctx.Stop() }},
		{"panics", func(_ *observed, ref actor.Ref) { ref.Tell("end") },
			func(actor.Context, actor.Message) { panic("boom") }},
		{"exits", func(_ *observed, ref actor.Ref) { ref.Tell("end") },
			func(actor.Context, actor.Message) { runtime.Goexit() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t)
				ref := s.Spawn("mortal", &journal{do: func(ctx actor.Context, msg actor.Message) {
					waitAtGates(ctx, msg)
					if msg == "end" {
						test.do(ctx, msg)
					}
				}})
				busy := make(gate)
				ref.Tell(busy)
				test.end(s, ref)
				waiting := ask(t, ref, "in the mailbox")
				close(busy)
				if err := <-waiting; !errors.Is(err, actor.ErrStopped) || !strings.Contains(err.Error(), "mortal") {
					t.Errorf("asked before the end: %v; want ErrStopped of mortal", err)
				}
				if _, err := actor.Ask(t.Context(), ref, "after the end"); !errors.Is(err, actor.ErrStopped) {
					t.Errorf("asked after the end: %v; want ErrStopped", err)
				}
				s.shutdown()
				s.errors()
				if n := len(s.deadLetters()); n != 2 {
					t.Errorf("%d dead letters, want 2", n)
				}
			})
		})
	}
}

func TestAskIsAnsweredWhenItsReceiverPanicsOverIt(t *testing.T) {
	for _, explosion := range explosions {
		t.Run(explosion.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t)
				ref := s.Spawn("mine", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
					if _, ok := msg.(*actor.Request); ok {
						explosion.do()
					}
				}))
				if _, err := actor.Ask(t.Context(), ref, 1); !errors.Is(err, actor.ErrStopped) {
					t.Errorf("asked: %v; want ErrStopped", err)
				}
				s.shutdown()
				checkPanic(t, s.onePanic(), explosion.check)
				if dead := s.deadLetters(); len(dead) > 0 {
					t.Errorf("dead letters %v, though the request did arrive", dead)
				}
			})
		})
	}
}
