package actor_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
)

func TestTellAllocatesNothing(t *testing.T) {
	s := newSystem(t)
	received := make(chan struct{})
	ref := s.Spawn("receiver", actor.BehaviorFunc(func(_ actor.Context, msg actor.Message) {
		if _, ok := msg.(*tick); ok {
			received <- struct{}{}
		}
	}))
	var msg actor.Message = &tick{}
	if n := testing.AllocsPerRun(1000, func() { ref.Tell(msg); <-received }); n > 0 {
		t.Errorf("a Tell that wakes its receiver allocates %v times", n)
	}
	const burst = 16
	if n := testing.AllocsPerRun(1000, func() {
		for range burst {
			ref.Tell(msg)
		}
		for range burst {
			<-received
		}
	}); n > 0 {
		t.Errorf("a burst of %d allocates %v times", burst, n)
	}
}

func TestAskAllocatesItsRequestOnly(t *testing.T) {
	s := newSystem(t)
	ref := s.Spawn("echo", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
		if r, ok := msg.(*actor.Request); ok {
			ctx.Send(r.ReplyTo(), r.Message)
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var msg actor.Message = &tick{}
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := actor.Ask(ctx, ref, msg); err != nil {
			t.Error(err)
		}
	}); n > 1 {
		t.Errorf("Ask allocates %v times", n)
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	m := actor.NewMachine(doorTable)
	if n := testing.AllocsPerRun(1000, func() {
		if m.Step(turnKey) != nil {
			t.Error("the key does not turn")
		}
	}); n > 0 {
		t.Errorf("a step of a machine allocates %v times", n)
	}
}

func TestClocksAllocateNothing(t *testing.T) {
	for _, clock := range []actor.Clock{actor.SystemClock{}, actor.NewGoClock()} {
		if n := testing.AllocsPerRun(1000, func() { clock.Now() }); n > 0 {
			t.Errorf("%T allocates %v times", clock, n)
		}
	}
}

// The buffer of a burst goes once it is over, wherever it is by then: the idle
// actor has just handled what was in it, or it has become the queue since.
func TestIdleActorsKeepNoBurst(t *testing.T) {
	const burst = 1 << 18 // whose buffer is 4 MiB
	for name, last := range map[string]actor.Message{"handled": "last", "queue": "send the last"} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t)
			over := make(chan struct{})
			ref := s.Spawn("receiver", actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
				waitAtGates(ctx, msg)
				switch msg {
				case "send the last":
					ctx.Send(ctx.Self(), "last")
				case "last":
					close(over)
				}
			}))
			before := memory()
			busy := make(gate)
			ref.Tell(busy)
			for range burst {
				ref.Tell(nil)
			}
			ref.Tell(last)
			close(busy)
			<-over
			// It is about to wait. Once it does, nothing is left.
			const most = 1 << 20
			kept := int64(most)
			for n := 0; n < 100 && kept >= most; n++ {
				runtime.Gosched()
				kept = int64(memory()) - int64(before)
			}
			if kept >= most {
				t.Errorf("an idle actor keeps %d bytes after a burst", kept)
			}
		})
	}
}
