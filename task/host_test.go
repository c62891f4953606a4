package task_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/task"
	"github.com/simba-go/simba/term"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replies is where a host's answers go.
type replies chan any

func (r replies) Tell(msg actor.Message) { r <- msg }
func (r replies) String() string         { return "replies" }

// next waits for an answer.
func (r replies) next(t *testing.T) any {
	t.Helper()
	select {
	case msg := <-r:
		return msg
	case <-time.After(10 * time.Second):
		t.Fatal("the host does not answer")
		return nil
	}
}

// stage is a host that a test drives in the place of an election.
type stage struct {
	*testing.T
	host    *task.Host
	replies replies
	running sync.WaitGroup
	term    *term.Term
}

func newStage(t *testing.T, c task.HostConfig) *stage {
	s := &stage{T: t, replies: make(replies, 10)}
	s.term = newTerm(1)
	c.Name, c.Running, c.Insiders = "billing", &s.running, task.NewInsiders()
	if c.Executor == nil {
		c.Executor = task.Go
	}
	s.host = task.NewHost(c)
	return s
}

func newTerm(token uint64) *term.Term {
	clock := actor.NewGoClock()
	return term.New("billing", "s", token, term.NewDeadline(clock, clock.Now().Add(time.Hour)))
}

func (s *stage) elected() {
	s.host.Tell(election.RunElected{ReplyTo: s.replies, Term: s.term})
}

func (s *stage) revoked(reason term.Reason) {
	s.host.Tell(election.RunRevoked{ReplyTo: s.replies, Term: s.term, Reason: reason})
}

func (s *stage) start() { s.host.Tell(election.StartTask{ReplyTo: s.replies, Term: s.term}) }

func (s *stage) cancel(reason term.Reason) {
	s.host.Tell(election.CancelTask{Term: s.term, Reason: reason})
}

// done waits for a callback's end and returns its error.
func (s *stage) done() error {
	s.Helper()
	m, ok := s.replies.next(s.T).(election.CallbackDone)
	if !ok || m.Term != s.term {
		s.Fatalf("the answer is %T %+v", m, m)
	}
	return m.Err
}

// wasRefused waits for the refusal of a callback and returns its error.
func (s *stage) wasRefused() error {
	s.Helper()
	m, ok := s.replies.next(s.T).(election.CallbackRefused)
	if !ok || m.Term != s.term || m.Err == nil {
		s.Fatalf("the answer is %T %+v", m, m)
	}
	return m.Err
}

// exited waits for the task's end and returns its error.
func (s *stage) exited() error {
	s.Helper()
	m, ok := s.replies.next(s.T).(election.TaskExited)
	if !ok || m.Term != s.term {
		s.Fatalf("the answer is %T %+v", m, m)
	}
	return m.Err
}

// atRest waits until nothing of the user runs, and fails if there is another answer.
func (s *stage) atRest() {
	s.Helper()
	s.running.Wait()
	select {
	case msg := <-s.replies:
		s.Fatalf("there is an answer too many: %T %+v", msg, msg)
	default:
	}
}

// TestCallbacks are given their term and reason, on whichever executor.
func TestCallbacks(t *testing.T) {
	later := make(chan func(), 1)
	executors := map[string]task.Executor{
		"goroutine": task.Go,
		"inline":    task.Inline,
		"later":     func(f func()) error { later <- f; go func() { (<-later)() }(); return nil },
		"twice":     func(f func()) error { f(); f(); go f(); return nil },
	}
	for name, executor := range executors {
		t.Run(name, func(t *testing.T) {
			var heard []any
			s := newStage(t, task.HostConfig{Executor: executor, Listener: task.Listener{
				OnElected: func(_ context.Context, t *term.Term) { heard = append(heard, t) },
				OnRevoked: func(_ context.Context, t *term.Term, r term.Reason) { heard = append(heard, t, r) },
			}})
			s.elected()
			if err := s.done(); err != nil {
				t.Error(err)
			}
			s.revoked(term.TakenOver)
			if err := s.done(); err != nil {
				t.Error(err)
			}
			s.atRest()
			if len(heard) != 3 || heard[0] != s.term || heard[1] != s.term || heard[2] != term.TakenOver {
				t.Errorf("the listener has heard %v", heard)
			}
		})
	}
}

// TestNoCallbacks: either may be nil, and counts as one that returns.
func TestNoCallbacks(t *testing.T) {
	s := newStage(t, task.HostConfig{})
	s.elected()
	s.revoked(term.Stopped)
	for range 2 {
		if err := s.done(); err != nil {
			t.Error(err)
		}
	}
	s.atRest()
}

// TestCallbackThatDoesNotReturn but panics or ends its goroutine (R43): it is
// reported, with its stack, and answered; also on the engine's loop.
func TestCallbackThatDoesNotReturn(t *testing.T) {
	for name, executor := range map[string]task.Executor{"goroutine": task.Go, "inline": task.Inline} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("no such table")
			s := newStage(t, task.HostConfig{Executor: executor, Listener: task.Listener{
				OnElected: func(context.Context, *term.Term) { failsBadly(cause) },
				OnRevoked: func(context.Context, *term.Term, term.Reason) { runtime.Goexit() },
			}})
			s.elected()
			err := s.done()
			var p *task.PanicError
			if !errors.As(err, &p) || !errors.Is(err, cause) || p.Value != cause {
				t.Fatalf("the error is %v", err)
			}
			if p.Name != "billing" || p.What != "OnElected" || !strings.Contains(string(p.Stack), "failsBadly") {
				t.Errorf("the error does not tell where it comes from: %+v", p)
			}
			s.revoked(term.Stopped)
			if err := s.done(); err != task.ErrGoexit {
				t.Errorf("the error is %v", err)
			}
			s.atRest()
		})
	}
}

func failsBadly(err error) { panic(err) }

// TestExecutorRefuses, in one way or another (R42): an OnElected is not run, and its
// refusal answered; an OnRevoked is run nevertheless.
func TestExecutorRefuses(t *testing.T) {
	full := errors.New("the pool is full")
	var late []func()
	executors := map[string]task.Executor{
		"error":          func(func()) error { return full },
		"panic":          func(func()) error { panic(full) },
		"Goexit":         func(func()) error { runtime.Goexit(); return nil },
		"and runs later": func(f func()) error { late = append(late, f); return full },
	}
	for name, executor := range executors {
		t.Run(name, func(t *testing.T) {
			late = nil
			elected, revoked := 0, 0
			s := newStage(t, task.HostConfig{Executor: executor, Listener: task.Listener{
				OnElected: func(context.Context, *term.Term) { elected++ },
				OnRevoked: func(context.Context, *term.Term, term.Reason) { revoked++ },
			}})
			s.elected()
			if err := s.wasRefused(); name != "Goexit" && !errors.Is(err, full) {
				t.Errorf("the error is %v", err)
			}
			s.revoked(term.Stopped)
			if err := s.done(); err != nil {
				t.Error(err)
			}
			for _, f := range late {
				f()
			}
			s.atRest()
			if elected != 0 || revoked != 1 {
				t.Errorf("OnElected ran %d times and OnRevoked %d times", elected, revoked)
			}
		})
	}
}

// TestExecutorRunsAndFails: what has begun was not refused.
func TestExecutorRunsAndFails(t *testing.T) {
	executors := map[string]task.Executor{
		"error": func(f func()) error { f(); return errors.New("too late to refuse") },
		"panic": func(f func()) error { f(); panic("too late to refuse") },
	}
	for name, executor := range executors {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, task.HostConfig{Executor: executor})
			s.elected()
			if err := s.done(); err != nil {
				t.Error(err)
			}
			s.revoked(term.Stopped)
			if err := s.done(); err != nil {
				t.Error(err)
			}
			s.atRest()
		})
	}
}

// TestRefusalDoesNotWait for a callback that the executor has begun elsewhere.
func TestRefusalDoesNotWait(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := newStage(t, task.HostConfig{
		Listener: task.Listener{OnElected: func(context.Context, *term.Term) { close(begun); <-goOn }},
		Executor: func(f func()) error { go f(); <-begun; return errors.New("too late to refuse") },
	})
	s.elected() // on the engine's loop, which must not wait for the callback
	close(goOn)
	if err := s.done(); err != nil {
		t.Error(err)
	}
	s.atRest()
}

// TestRefusalMeetsBegin: an executor that refuses while another goroutine begins.
// Whichever comes first, it is one of the two.
func TestRefusalMeetsBegin(t *testing.T) {
	for range 200 {
		ran := false
		s := newStage(t, task.HostConfig{
			Listener: task.Listener{OnElected: func(context.Context, *term.Term) { ran = true }},
			Executor: func(f func()) error { go f(); return errors.New("refused, or not") },
		})
		s.elected()
		_, done := s.replies.next(t).(election.CallbackDone)
		s.atRest()
		if done != ran {
			t.Fatalf("answered as done: %v, ran: %v", done, ran)
		}
	}
}

// TestExecutorThatForgets: what is never run is never answered, and counts as
// running.
func TestExecutorThatForgets(t *testing.T) {
	var f func()
	s := newStage(t, task.HostConfig{Executor: func(g func()) error { f = g; return nil }})
	s.elected()
	rest := make(chan struct{})
	go func() { s.running.Wait(); close(rest) }()
	select {
	case <-rest:
		t.Error("nothing seems to run")
	case <-s.replies:
		t.Error("it was answered")
	case <-time.After(20 * time.Millisecond):
	}
	f()
	if err := s.done(); err != nil {
		t.Error(err)
	}
	<-rest
}

type key struct{}

// TestTask is given its term, the values of the caller's context, and a context that
// ends with an explanation.
func TestTask(t *testing.T) {
	tests := map[string]struct {
		end  func(s *stage)
		want func(error) bool
	}{
		"handover": {
			func(s *stage) { s.cancel(term.SteppedDown) },
			func(err error) bool { return err == task.ErrHandover },
		},
		"loss": {
			func(s *stage) { term.End(s.term, term.TakenOver); s.cancel(term.TakenOver) },
			func(err error) bool {
				var e *term.EndedError
				return errors.As(err, &e) && e.Reason == term.TakenOver && e.Token == 1
			},
		},
		"loss, told first": {
			func(s *stage) { s.cancel(term.TakenOver); term.End(s.term, term.TakenOver) },
			func(err error) bool {
				var e *term.EndedError
				return errors.As(err, &e) && e.Reason == term.TakenOver && e.Name == "billing"
			},
		},
		"loss that nobody tells": {
			func(s *stage) { term.End(s.term, term.SessionExpired) },
			func(err error) bool {
				var e *term.EndedError
				return errors.As(err, &e) && e.Reason == term.SessionExpired
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var cause error
			started := make(chan error, 1)
			values := context.WithValue(t.Context(), key{}, "value")
			values, cancel := context.WithCancel(values)
			cancel() // only the values count
			s := newStage(t, task.HostConfig{Values: values, Work: func(ctx context.Context, tm *term.Term) error {
				if got := ctx.Value(key{}); got != "value" || tm.Token() != 1 {
					t.Errorf("the value is %v, and the token %d", got, tm.Token())
				}
				started <- ctx.Err()
				<-ctx.Done()
				cause = context.Cause(ctx)
				return errors.New("cancelled")
			}})
			s.start()
			s.host.Tell(election.CancelTask{Term: newTerm(1), Reason: term.Stopped}) // another one's
			if err := <-started; err != nil {
				t.Errorf("the context is done already: %v", err)
			}
			test.end(s)
			if err := s.exited(); err == nil || err.Error() != "cancelled" {
				t.Errorf("the error is %v", err)
			}
			s.atRest()
			if !test.want(cause) {
				t.Errorf("the cause is %v", cause)
			}
		})
	}
}

// TestTaskRunsAgain in the same term, with a context of its own.
func TestTaskRunsAgain(t *testing.T) {
	runs, started := 0, make(chan error)
	s := newStage(t, task.HostConfig{Work: func(ctx context.Context, _ *term.Term) error {
		if runs++; runs == 2 {
			started <- ctx.Err()
			<-ctx.Done()
		}
		return nil
	}})
	s.start()
	s.exited()
	s.cancel(term.Stopped) // comes too late for the first run, and must not touch the second
	s.start()
	if err := <-started; err != nil {
		t.Errorf("the second run begins with a context that is done: %v", err)
	}
	s.cancel(term.Stopped)
	s.exited()
	s.atRest()
	if runs != 2 {
		t.Errorf("it ran %d times", runs)
	}
}

// TestTaskThatDoesNotReturn but panics or ends its goroutine (R43).
func TestTaskThatDoesNotReturn(t *testing.T) {
	cause := errors.New("no such table")
	s := newStage(t, task.HostConfig{Work: func(context.Context, *term.Term) error { failsBadly(cause); return nil }})
	s.start()
	err := s.exited()
	var p *task.PanicError
	if !errors.As(err, &p) || !errors.Is(err, cause) || p.What != "task" || !strings.Contains(string(p.Stack), "failsBadly") {
		t.Errorf("the error is %v", err)
	}
	s.atRest()

	s = newStage(t, task.HostConfig{Work: func(context.Context, *term.Term) error { runtime.Goexit(); return nil }})
	s.start()
	if err := s.exited(); err != task.ErrGoexit {
		t.Errorf("the error is %v", err)
	}
	s.atRest()
}

// TestPanicErrorText names what panicked; a value that is no error is not unwrapped.
func TestPanicErrorText(t *testing.T) {
	err := task.Protect("billing", "task", func() error { panic("boom") })
	if got, want := err.Error(), `simba: task of "billing" panicked: boom`; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	if errors.Unwrap(err) != nil {
		t.Errorf("it unwraps to %v", errors.Unwrap(err))
	}
}
