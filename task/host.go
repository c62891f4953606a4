// Package task runs the user's code for an election: callbacks on an executor,
// one at a time, and the task of a term on a goroutine of its own. It is the only
// part between an election and the user that may block.
package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

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

// Executor runs f, once, now or later, or returns an error and does not run it.
type Executor func(f func()) error

// Go is the default executor: a goroutine for each callback.
func Go(f func()) error {
	go f()
	return nil
}

// Inline runs callbacks on the engine's own loop, which waits for them. They must
// be short, and cannot wait for anything of the client; see [ErrInline].
func Inline(f func()) error {
	f()
	return nil
}

// PanicError is a panic of a callback or a task.
type PanicError struct {
	Name  string // of the election
	What  string // OnElected, OnRevoked or task
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("simba: %s of %q panicked: %v", e.What, e.Name, e.Value)
}

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrHandover is the cause of a task's context that was cancelled because the
// term is about to be handed over.
var ErrHandover = errors.New("simba: the term is being handed over")

// ErrGoexit is the error of a callback or task that ended its goroutine.
var ErrGoexit = errors.New("simba: a callback or task ended its goroutine instead of returning")

// Host runs the code of one election. It is the [actor.Ref] to which the election
// sends what it wants to have run, and answers from other goroutines.
type Host struct {
	HostConfig

	mu     sync.Mutex
	cancel map[*term.Term]context.CancelCauseFunc // of running tasks
}

// HostConfig is what a host needs.
type HostConfig struct {
	Name     string // of the election
	Listener Listener
	Work     Func            // nil if there is no task
	Values   context.Context // whose values the task's context has; nil for none
	Executor Executor        // of the callbacks
	Insiders *Insiders       // know the goroutines that run the user's code
	Running  *sync.WaitGroup // counts them
}

// NewHost returns a host.
func NewHost(c HostConfig) *Host {
	return &Host{HostConfig: c, cancel: make(map[*term.Term]context.CancelCauseFunc)}
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

// String names the host for people.
func (h *Host) String() string { return "host of " + h.Name }

// Tell takes what an election wants to have run. It is called by the election's
// actor, on whose goroutine an inline executor runs the callbacks.
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
		// The user has learnt of the term, and must learn of its end.
		h.spawn(run)
	}
}

// submit hands run to the executor, which may refuse by an error or a panic, and
// must run it at most once. A second run, or one after a refusal, does nothing.
func (h *Host) submit(run func()) (err error) {
	var once sync.Once
	h.Running.Add(1)
	inline := h.Insiders.enterLoop()
	defer inline()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Name: h.Name, What: "executor", Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			refused := false
			once.Do(func() { refused = true; h.Running.Done() })
			if !refused {
				err = nil // it was run nevertheless
			}
		}
	}()
	return h.Executor(func() {
		once.Do(func() {
			defer h.Running.Done()
			run()
		})
	})
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
		err = h.call(what, f)
	}
}

// call runs a callback, and turns its panic into an error.
func (h *Host) call(what string, f func(context.Context)) error {
	ctx, leave := h.Insiders.Enter(context.Background())
	defer leave()
	return Protect(h.Name, what, func() error { f(ctx); return nil })
}

// Protect runs f, and turns its panic into a [*PanicError].
func Protect(name, what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Name: name, What: what, Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// start runs the task on a goroutine of its own.
func (h *Host) start(m election.StartTask) {
	ctx := m.Term.Context()
	if h.Values != nil {
		ctx = withValues{ctx, h.Values}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	h.cancel[m.Term] = cancel
	h.mu.Unlock()
	h.spawn(func() {
		err := ErrGoexit
		defer func() {
			h.mu.Lock()
			delete(h.cancel, m.Term)
			h.mu.Unlock()
			cancel(nil)
			m.ReplyTo.Tell(election.TaskExited{Term: m.Term, Err: err})
		}()
		err = h.runTask(ctx, m.Term)
	})
}

func (h *Host) runTask(ctx context.Context, t *term.Term) error {
	ctx, leave := h.Insiders.Enter(ctx)
	defer leave()
	return Protect(h.Name, "task", func() error { return h.Work(ctx, t) })
}

func (h *Host) cancelTask(m election.CancelTask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	cancel := h.cancel[m.Term]
	if cancel == nil {
		return
	}
	if m.Reason.Voluntary() {
		cancel(ErrHandover)
		return
	}
	cancel(&term.EndedError{Name: m.Term.Name(), Token: m.Term.Token(), Reason: m.Reason})
}
