// Package task runs the user's code for an election: callbacks on an executor,
// one at a time, and the task of a term on a goroutine of its own. It is the only
// part between an election and the user that may block.
package task

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/term"
)

// Listener is told of an election's terms. Each OnElected is followed by exactly
// one OnRevoked for the same term, and they run one at a time and in order. Either
// may be nil. The context marks calls of the client as coming from here: hand it
// on to them.
type Listener struct {
	OnElected func(ctx context.Context, t *term.Term)
	OnRevoked func(ctx context.Context, t *term.Term, reason term.Reason)
}

// Func is work that runs only during a term. Its context is cancelled when the
// term ends or is about to be handed over; the function should return soon then.
// In a handover the term stays valid meanwhile, for at most t.Remaining().
type Func func(ctx context.Context, t *term.Term) error

// Executor runs f, once, now or later, or returns an error and does not run it. The
// engine waits for it, so it must return soon, also if its workers are busy. One
// that takes f and never runs it leaves Stop and Close waiting.
type Executor func(f func()) error

// Go is the default executor: a goroutine for each callback.
func Go(f func()) error {
	go f()
	return nil
}

// Inline runs callbacks while the engine's loop waits for them. They must be short,
// and cannot wait for anything of the client; see [ErrInline].
func Inline(f func()) error {
	f()
	return nil
}

// Host runs the code of one election. It is the [actor.Ref] to which the election
// sends what it wants to have run, and answers from other goroutines.
type Host struct {
	HostConfig

	mu     sync.Mutex
	term   *term.Term // of the task that runs, nil if none does
	cancel context.CancelCauseFunc
}

// HostConfig is what a host needs.
type HostConfig struct {
	Name     string          // of the election
	Listener Listener        // without functions if nobody listens
	Work     Func            // nil if there is no task
	Values   context.Context // whose values the task's context has; nil for none
	Executor Executor        // of the callbacks
	Insiders *Insiders       // know the goroutines that run the user's code
	Running  *sync.WaitGroup // counts them
}

// NewHost returns a host.
func NewHost(c HostConfig) *Host { return &Host{HostConfig: c} }

// String names the host for people.
func (h *Host) String() string { return "host of " + h.Name }

// Tell takes what an election wants to have run. It returns at once, but for the
// executor, for which it waits.
func (h *Host) Tell(msg actor.Message) {
	switch m := msg.(type) {
	case election.RunElected:
		h.elected(m)
	case election.RunRevoked:
		h.revoked(m)
	case election.StartTask:
		h.start(m)
	case election.CancelTask:
		h.cancelTask(m)
	}
}

func (h *Host) elected(m election.RunElected) {
	run := h.callback("OnElected", m.ReplyTo, m.Term, func(ctx context.Context) {
		if h.Listener.OnElected != nil {
			h.Listener.OnElected(ctx, m.Term)
		}
	})
	if err := h.submit(run); err != nil {
		m.ReplyTo.Tell(election.CallbackRefused{Term: m.Term, Err: err})
	}
}

func (h *Host) revoked(m election.RunRevoked) {
	run := h.callback("OnRevoked", m.ReplyTo, m.Term, func(ctx context.Context) {
		if h.Listener.OnRevoked != nil {
			h.Listener.OnRevoked(ctx, m.Term, m.Reason)
		}
	})
	if err := h.submit(run); err != nil {
		// The user has learnt of the term, and must learn of its end (R42).
		h.spawn(run)
	}
}

// submit hands run to the executor. Whichever of the two comes first, its begin or
// a refusal, makes the other one void: what an executor runs a second time, or
// after it has refused it, does nothing, and what it has begun it has not refused.
func (h *Host) submit(run func()) error {
	var settled atomic.Bool
	h.Running.Add(1)
	err := h.execute(func() {
		if settled.CompareAndSwap(false, true) {
			defer h.Running.Done()
			run()
		}
	})
	if err == nil || !settled.CompareAndSwap(false, true) {
		return nil
	}
	h.Running.Done()
	return err
}

// execute calls the executor and waits for it. That is the user's code, which may
// end its goroutine (t.FailNow does, in a callback that runs inline), and so it has
// one of its own instead of the engine's.
func (h *Host) execute(f func()) error {
	err := ErrGoexit
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer h.Insiders.enterLoop()()
		err = Protect(h.Name, "executor", func() error { return h.Executor(f) })
	}()
	<-done
	return err
}

func (h *Host) spawn(run func()) {
	h.Running.Add(1)
	go func() {
		defer h.Running.Done()
		run()
	}()
}

// callback returns what an executor runs: f, and then the election's answer,
// whichever way f ends.
func (h *Host) callback(what string, replyTo actor.Ref, t *term.Term, f func(context.Context)) func() {
	return func() {
		err := ErrGoexit
		defer func() { replyTo.Tell(election.CallbackDone{Term: t, Err: err}) }()
		ctx, leave := h.Insiders.Enter(context.Background())
		defer leave()
		err = Protect(h.Name, what, func() error { f(ctx); return nil })
	}
}

// start runs the task on a goroutine of its own.
func (h *Host) start(m election.StartTask) {
	ctx := m.Term.Context()
	if h.Values != nil {
		ctx = withValues{ctx, h.Values}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	h.term, h.cancel = m.Term, cancel
	h.mu.Unlock()
	h.spawn(func() {
		err := ErrGoexit
		defer func() {
			h.mu.Lock()
			h.term, h.cancel = nil, nil
			h.mu.Unlock()
			cancel(nil)
			// Last: the election may start the next task now.
			m.ReplyTo.Tell(election.TaskExited{Term: m.Term, Err: err})
		}()
		ctx, leave := h.Insiders.Enter(ctx)
		defer leave()
		err = Protect(h.Name, "task", func() error { return h.Work(ctx, m.Term) })
	})
}

func (h *Host) cancelTask(m election.CancelTask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.term != m.Term:
	case m.Reason.Voluntary():
		h.cancel(ErrHandover)
	default:
		h.cancel(&term.EndedError{Name: m.Term.Name(), Token: m.Term.Token(), Reason: m.Reason})
	}
}

// withValues is a context with the values of another one as well.
type withValues struct {
	context.Context
	values context.Context
}

func (c withValues) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
