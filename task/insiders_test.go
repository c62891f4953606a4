package task_test

import (
	"context"
	"sync"
	"testing"

	"github.com/simba-go/simba/task"
	"github.com/simba-go/simba/term"
)

// on runs f on a goroutine of its own, and waits for it.
func on[T any](f func() T) T {
	result := make(chan T)
	go func() { result <- f() }()
	return <-result
}

// TestInsiders (R40): how a call knows that it is made from inside.
func TestInsiders(t *testing.T) {
	outside := context.Background()
	in, other := task.NewInsiders(), task.NewInsiders()
	if in.Inside(outside) {
		t.Error("inside before anything was entered")
	}
	ctx, leave := in.Enter(outside)
	child, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	checks := []struct {
		what string
		got  bool
		want bool
	}{
		{"with the context", in.Inside(ctx), true},
		{"with a context of its own", in.Inside(outside), true},
		{"another goroutine with the context", on(func() bool { return in.Inside(ctx) }), true},
		{"another goroutine with a child of the context", on(func() bool { return in.Inside(child) }), true},
		// This one cannot be known; see the documentation.
		{"another goroutine with a context of its own", on(func() bool { return in.Inside(outside) }), false},
		{"of another client", other.Inside(ctx), false},
		{"on a loop", in.Inline(), false},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s: inside is %v, want %v", c.what, c.got, c.want)
		}
	}

	nested, leaveNested := other.Enter(ctx)
	if !in.Inside(nested) || !other.Inside(nested) || !on(func() bool { return in.Inside(nested) && other.Inside(nested) }) {
		t.Error("a callback of one client within one of another is inside of both")
	}
	leaveNested()
	if other.Inside(ctx) {
		t.Error("inside of the other client after it was left")
	}
	_, again := in.Enter(ctx)
	again()
	if !in.Inside(outside) {
		t.Error("the inner of two has ended both")
	}
	leave()
	if in.Inside(outside) {
		t.Error("inside after it was left")
	}
	if !on(func() bool { return in.Inside(ctx) }) {
		t.Error("whoever has the context may be waited for by a later callback, and so must not wait")
	}
}

// TestInsidersAreManyGoroutines at once.
func TestInsidersAreManyGoroutines(t *testing.T) {
	in := task.NewInsiders()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				if in.Inside(context.Background()) {
					t.Error("inside although only others have entered")
				}
				_, leave := in.Enter(context.Background())
				if !in.Inside(context.Background()) {
					t.Error("not inside")
				}
				leave()
			}
		})
	}
	all.Wait()
}

// TestCallbacksAreInside, and the task; also when they were entered in the ways that
// leave abruptly.
func TestCallbacksAreInside(t *testing.T) {
	type answer struct{ byContext, byGoroutine, inline bool }
	for name, executor := range map[string]task.Executor{"goroutine": task.Go, "inline": task.Inline} {
		t.Run(name, func(t *testing.T) {
			var s *stage
			got := make(chan answer, 3)
			look := func(ctx context.Context) {
				in := s.host.Insiders
				got <- answer{
					byContext:   on(func() bool { return in.Inside(ctx) }),
					byGoroutine: in.Inside(context.Background()),
					inline:      in.Inline(),
				}
			}
			s = newStage(t, task.HostConfig{
				Executor: executor,
				Listener: task.Listener{
					OnElected: func(ctx context.Context, _ *term.Term) { look(ctx) },
					OnRevoked: func(ctx context.Context, _ *term.Term, _ term.Reason) { look(ctx); panic("leaves abruptly") },
				},
				Work: func(ctx context.Context, _ *term.Term) error { look(ctx); return nil },
			})
			want := answer{true, true, name == "inline"}
			s.elected()
			s.revoked(term.Stopped)
			for range 2 {
				s.done()
				if a := <-got; a != want {
					t.Errorf("in a callback: %+v, want %+v", a, want)
				}
			}
			s.start()
			s.exited()
			if a, want := <-got, (answer{true, true, false}); a != want {
				t.Errorf("in the task: %+v, want %+v", a, want)
			}
			s.atRest()
			if s.host.Insiders.Inside(context.Background()) || s.host.Insiders.Inline() {
				t.Error("the goroutine that told the host is still inside")
			}
		})
	}
}

// TestWorkerIsInsideOnlyMeanwhile: a goroutine of the user's pool that has run a
// callback is outside again, also if that has panicked.
func TestWorkerIsInsideOnlyMeanwhile(t *testing.T) {
	var s *stage
	work, after := make(chan func()), make(chan bool)
	go func() {
		for f := range work {
			f()
			after <- s.host.Insiders.Inside(context.Background())
		}
	}()
	defer close(work)
	s = newStage(t, task.HostConfig{
		Executor: func(f func()) error { work <- f; return nil },
		Listener: task.Listener{OnRevoked: func(context.Context, *term.Term, term.Reason) { panic("leaves abruptly") }},
	})
	s.elected()
	if <-after {
		t.Error("inside after OnElected has returned")
	}
	s.revoked(term.Stopped)
	if <-after {
		t.Error("inside after OnRevoked has panicked")
	}
	s.running.Wait()
}

// TestExecutorIsInside, because the engine's loop waits for it.
func TestExecutorIsInside(t *testing.T) {
	var s *stage
	var inside, inline bool
	s = newStage(t, task.HostConfig{Executor: func(f func()) error {
		inside, inline = s.host.Insiders.Inside(context.Background()), s.host.Insiders.Inline()
		go f()
		return nil
	}})
	s.elected()
	s.done()
	if !inside || !inline {
		t.Errorf("inside is %v, inline is %v", inside, inline)
	}
	s.atRest()
}
