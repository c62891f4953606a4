package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// ErrStopped is the answer to a [Request] that reached an actor which has ended,
// and of everything asked of a [System] after its Shutdown.
var ErrStopped = errors.New("actor: stopped")

// PanicError is a panic that was contained: in a behaviour, which ended that
// actor, or in the work of [Context.Go].
type PanicError struct {
	Where string // the actor's name
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string { return fmt.Sprintf("actor: %s panicked: %v", e.Where, e.Value) }

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// System runs actors on goroutines. Its zero value is not usable; call
// [NewSystem]. All methods are safe for concurrent use.
type System struct {
	clock        Clock
	onDeadLetter func(to Ref, msg Message)
	onError      func(err error)

	deadLetters atomic.Uint64
	goroutines  sync.WaitGroup

	mu     sync.Mutex
	live   map[*process]struct{}
	closed bool
}

// Option configures a [System].
type Option func(*System)

// WithClock sets the clock that actors read, [SystemClock] by default.
func WithClock(c Clock) Option { return func(s *System) { s.clock = c } }

// WithDeadLetters is told of each message that reached an actor which had ended.
// It is called on the sender's goroutine and must not block.
func WithDeadLetters(f func(to Ref, msg Message)) Option {
	return func(s *System) { s.onDeadLetter = f }
}

// WithErrors is told of panics (as [*PanicError]) and of what behaviours
// [Context.Report]. It is called on an actor's goroutine and must not block.
func WithErrors(f func(err error)) Option { return func(s *System) { s.onError = f } }

// NewSystem returns a system without actors.
func NewSystem(options ...Option) *System {
	s := &System{
		clock:        SystemClock{},
		onDeadLetter: func(Ref, Message) {},
		onError:      func(error) {},
		live:         make(map[*process]struct{}),
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// Clock returns the clock that the actors read.
func (s *System) Clock() Clock { return s.clock }

// DeadLetters counts the messages that reached an actor which had ended.
func (s *System) DeadLetters() uint64 { return s.deadLetters.Load() }

// Spawn starts an actor. After Shutdown it starts none, and what is sent to the
// address that it returns is a dead letter.
func (s *System) Spawn(name string, b Behavior) Ref { return s.spawn(name, b, nil) }

func (s *System) spawn(name string, b Behavior, parent Ref) *process {
	p := &process{system: s, name: name, behavior: b, parent: parent}
	p.mailbox.init()
	p.mailbox.put(Started{})

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.mailbox.close()
		return p
	}
	s.live[p] = struct{}{}
	s.goroutines.Add(1)
	go p.run()
	return p
}

// Stop tells an actor to end once it has handled what is in its mailbox now. It
// does not wait; what an actor of another system is, Stop leaves alone.
func (s *System) Stop(ref Ref) {
	if p, ok := ref.(*process); ok && p.system == s {
		p.mailbox.put(stop{})
	}
}

// Shutdown stops all actors, and waits until they and the work that they started
// with [Context.Go] have ended, or until ctx is done.
func (s *System) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for p := range s.live {
		p.mailbox.put(stop{})
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		s.goroutines.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actor: shutting down: %w", context.Cause(ctx))
	}
}

// work runs f outside of the actor p, and tells p what it returned.
func (s *System) work(p *process, ctx context.Context, f func(context.Context) Message) {
	s.goroutines.Add(1)
	go func() {
		defer s.goroutines.Done()
		if answer := contain(p.name, ctx, f); answer != nil {
			p.Tell(answer)
		}
	}()
}

// contain turns a panic of f into its answer.
func contain(where string, ctx context.Context, f func(context.Context) Message) (answer Message) {
	defer func() {
		if v := recover(); v != nil {
			answer = &PanicError{Where: where, Value: v, Stack: debug.Stack()}
		}
	}()
	return f(ctx)
}

func (s *System) exited(p *process) {
	s.mu.Lock()
	delete(s.live, p)
	s.mu.Unlock()
	s.goroutines.Done()
}

func (s *System) report(err error) { s.onError(err) }

// deadLetter accounts for msg. Timers and stops were the dead actor's own.
func (s *System) deadLetter(to Ref, msg Message) {
	switch m := msg.(type) {
	case *timer, stop:
		return
	case *Request:
		m.Tell(stoppedAnswer{})
	}
	s.deadLetters.Add(1)
	s.onDeadLetter(to, msg)
}
