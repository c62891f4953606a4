package task_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/task"
	"github.com/simba-go/simba/term"
)

// callers are the ways in which code of a callback or task may make a call.
var callers = map[string]func(ctx context.Context, call func(context.Context)){
	"with the context":          func(ctx context.Context, call func(context.Context)) { call(ctx) },
	"with a context of its own": func(_ context.Context, call func(context.Context)) { call(context.Background()) },
	"on a goroutine with the context": func(ctx context.Context, call func(context.Context)) {
		done := make(chan struct{})
		go func() { defer close(done); call(ctx) }()
		<-done
	},
	"with a child of the context": func(ctx context.Context, call func(context.Context)) {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		call(ctx)
	},
}

// TestCallsFromInside (R40): whatever a callback or a task asks of its own client, it
// is not made to wait for itself, and what it asked for happens.
func TestCallsFromInside(t *testing.T) {
	calls := map[string]func(t *testing.T, h *handle) func(context.Context){
		"stop": func(t *testing.T, h *handle) func(context.Context) {
			return func(ctx context.Context) {
				if err := h.stop(ctx); err != nil {
					t.Error(err)
				}
			}
		},
		"step down": func(t *testing.T, h *handle) func(context.Context) {
			return func(ctx context.Context) {
				if err := h.stepDown(ctx, time.Hour); err != nil {
					t.Error(err)
				}
			}
		},
		"close": func(_ *testing.T, h *handle) func(context.Context) { return h.client.close },
	}
	for where := range map[string]bool{"OnElected": true, "OnRevoked": true, "task": true} {
		for what, call := range calls {
			for how, by := range callers {
				for kind, executor := range map[string]task.Executor{"": task.Go, ", inline": task.Inline} {
					t.Run(what+" in "+where+" "+how+kind, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { testCallFromInside(t, where, call, by, executor) })
					})
				}
			}
		}
	}
}

func testCallFromInside(t *testing.T, where string, call func(*testing.T, *handle) func(context.Context),
	by func(context.Context, func(context.Context)), executor task.Executor) {
	clock := actor.NewGoClock()
	c := open(t, clock, memory.New(memory.WithClock(clock)))
	c.executor = executor
	var h *handle
	ready := make(chan struct{})
	began := time.Now()
	called := false
	act := func(ctx context.Context, here string) {
		if here == where && !called {
			called = true
			<-ready
			by(ctx, call(t, h))
		}
	}
	revoked := make(chan term.Reason, 1)
	listener := &task.Listener{
		OnElected: func(ctx context.Context, _ *term.Term) { act(ctx, "OnElected") },
		OnRevoked: func(ctx context.Context, _ *term.Term, r term.Reason) { act(ctx, "OnRevoked"); revoked <- r },
	}
	h = c.elect("billing", listener, func(ctx context.Context, _ *term.Term) error {
		act(ctx, "task")
		<-ctx.Done()
		return ctx.Err()
	})
	close(ready)
	if where == "OnRevoked" {
		time.Sleep(time.Second)
		h.ref.Tell(actor.NewRequest(election.StepDown{Cooldown: time.Hour}, nobody{}))
	}
	if r := <-revoked; !r.Voluntary() {
		t.Errorf("the term ended for %v", r)
	}
	c.close(context.Background())
	// Nobody has waited for a handover to time out.
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestGoroutineThatCannotBeKnown: one that a task has started without its context
// waits for the task, and so a task that waits for it waits for itself. The handover
// bounds that: it ends when the term would have ended.
func TestGoroutineThatCannotBeKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		c := open(t, clock, memory.New(memory.WithClock(clock)))
		var h *handle
		ready, result := make(chan struct{}), make(chan error)
		h = c.elect("billing", nil, func(context.Context, *term.Term) error {
			<-ready
			done := make(chan error)
			go func() { done <- h.stepDown(context.Background(), time.Hour) }()
			result <- <-done
			return nil
		})
		began := time.Now()
		close(ready)
		if err := <-result; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < lease/2 || took > lease {
			t.Errorf("the wait took %v", took)
		}
		c.close(context.Background())
	})
}

// TestCallOfAnotherClient: code inside of one client is outside of another, and
// waits for what it asks there.
func TestCallOfAnotherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		store := memory.New(memory.WithClock(clock))
		a, b := open(t, clock, store), open(t, clock, store)
		quiet := make(chan struct{})
		other := b.elect("reports", nil, func(ctx context.Context, _ *term.Term) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			close(quiet)
			return nil
		})
		time.Sleep(time.Second)
		done := make(chan struct{})
		a.elect("billing", nil, func(ctx context.Context, _ *term.Term) error {
			defer close(done)
			if err := other.stop(ctx); err != nil {
				t.Error(err)
			}
			select {
			case <-quiet:
			default:
				t.Error("the other client's Stop did not wait")
			}
			b.close(ctx)
			return nil
		})
		<-done
		a.close(context.Background())
	})
}

// TestInlineCallbackHoldsNobodyElse: while it blocks, the session lives on and ends
// the term when it must, and other elections go on.
func TestInlineCallbackHoldsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		store := &flaky{Store: memory.New(memory.WithClock(clock))}
		c := open(t, clock, store)
		c.executor = task.Inline
		terms := make(chan *term.Term, 1)
		goOn := make(chan struct{})
		c.elect("billing", &task.Listener{OnElected: func(_ context.Context, tm *term.Term) {
			select {
			case terms <- tm:
				<-goOn
			default: // the next term
			}
		}}, nil)
		tm := <-terms
		other := make(chan struct{}, 1)
		h := c.elect("reports", &task.Listener{OnElected: func(context.Context, *term.Term) { other <- struct{}{} }}, nil)
		<-other
		if err := h.stop(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * lease)
		if !tm.Valid() {
			t.Error("the term was not renewed")
		}
		store.cut.Store(true)
		<-tm.Done()
		store.cut.Store(false)
		close(goOn)
		c.close(context.Background())
	})
}

// TestStopGivesUpWaiting when its context is done, while the handover goes on.
func TestStopGivesUpWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := actor.NewGoClock()
		c := open(t, clock, memory.New(memory.WithClock(clock)))
		exited := false
		h := c.elect("billing", nil, func(ctx context.Context, _ *term.Term) error {
			<-ctx.Done()
			time.Sleep(3 * time.Second)
			exited = true
			return nil
		})
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := h.stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if err := h.stop(context.Background()); err != nil {
			t.Error(err)
		}
		if !exited {
			t.Error("the second Stop did not join the first")
		}
		c.close(context.Background())
	})
}
