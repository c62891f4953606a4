package actor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// System runs actors on goroutines. Its zero value is not usable; call
// [NewSystem]. All methods are safe for concurrent use.
type System struct {
	clock        Clock
	onDeadLetter func(to Ref, msg Message)
	onError      func(err error)

	dead     atomic.Uint64
	channels channels

	mu      sync.Mutex
	live    map[*process]struct{}
	working int // goroutines that Context.Go started
	closed  bool
	drained chan struct{} // closed once the system is, and nothing runs any more
}

// Option configures a [System].
type Option func(*System)

// WithClock sets the clock that actors read, [SystemClock] by default.
func WithClock(c Clock) Option { return func(s *System) { s.clock = c } }

// WithDeadLetters is told of each message that reached an actor which had ended.
// It is called on the sender's goroutine, or on that of the actor for what was in
// its mailbox: it must be safe for concurrent use, and not block or panic.
func WithDeadLetters(f func(to Ref, msg Message)) Option {
	return func(s *System) { s.onDeadLetter = f }
}

// WithErrors is told of the panics that ended actors (as [*PanicError]) and of
// what behaviours [Context.Report]. It is called on the goroutines of actors: it
// must be safe for concurrent use, and not block or panic.
func WithErrors(f func(err error)) Option { return func(s *System) { s.onError = f } }

// NewSystem returns a system without actors.
func NewSystem(options ...Option) *System {
	s := &System{
		clock:        SystemClock{},
		onDeadLetter: func(Ref, Message) {},
		onError:      func(error) {},
		live:         make(map[*process]struct{}),
		drained:      make(chan struct{}),
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// Clock returns the clock that the actors read.
func (s *System) Clock() Clock { return s.clock }

// DeadLetters counts the messages that reached an actor which had ended.
func (s *System) DeadLetters() uint64 { return s.dead.Load() }

// Spawn starts an actor. The name is for people and need not be unique. After
// Shutdown it starts none, and what is sent to the address that it returns is a
// dead letter.
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
	go p.run()
	return p
}

// Stop tells an actor to end once it has handled what is in its mailbox now. It
// does not wait. An address that is not of this system's actors it leaves alone.
func (s *System) Stop(ref Ref) {
	if p, ok := ref.(*process); ok && p.system == s {
		p.mailbox.put(stop{})
	}
}

// Shutdown stops all actors, as Stop does and in no particular order, and waits
// until they and the work that they started with [Context.Go] have ended, or
// until ctx is done: then it returns an error that says who is still running, and
// that matches the cause of ctx. It may be called again to wait on. An actor must
// not call it, for it would wait for itself.
func (s *System) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.checkDrained()
	}
	for p := range s.live {
		p.mailbox.put(stop{})
	}
	s.mu.Unlock()

	select {
	case <-s.drained:
		return nil
	case <-ctx.Done():
		return s.unfinished(context.Cause(ctx))
	}
}

// unfinished is the error of a Shutdown that did not come to its end.
func (s *System) unfinished(cause error) error {
	const most = 3
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for p := range s.live {
		names = append(names, p.name)
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return fmt.Errorf("actor: shutdown: %d actors %v and the work of %d Go calls still running: %w",
		len(s.live), names, s.working, cause)
}

// work runs f outside of the actor p, and tells p what it returned.
func (s *System) work(p *process, ctx context.Context, f func(context.Context) Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.live[p]; !ok {
		return // a Context that outlived its actor: nobody waits for this
	}
	s.working++
	go func() {
		defer s.worked()
		var answer Message
		returned := false
		defer func() {
			if !returned {
				answer = newPanicError(p.name, recover())
			}
			if answer != nil {
				p.Tell(answer)
			}
		}()
		answer = f(ctx)
		returned = true
	}()
}

func (s *System) worked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working--
	s.checkDrained()
}

func (s *System) exited(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, p)
	s.checkDrained()
}

// checkDrained is called with the lock held after each change that may be the
// last one: nothing is started in a closed system but by an actor that is live.
func (s *System) checkDrained() {
	if s.closed && len(s.live) == 0 && s.working == 0 {
		close(s.drained)
	}
}

// deadLetter accounts for msg. Timers and stops were the dead actor's own.
func (s *System) deadLetter(to *process, msg Message) {
	switch msg.(type) {
	case *timer, stop:
		return
	}
	s.dead.Add(1)
	refuse(to, msg)
	s.onDeadLetter(to, msg)
}
