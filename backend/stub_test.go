package backend_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// stub is a driver of which every method does the same.
type stub struct {
	// do is called with the name of the method and its arguments. What it returns
	// is the answer, if that is of the method's type.
	do func(ctx context.Context, method string, args ...any) (any, error)
}

func result[T any](v any, err error) (T, error) {
	t, _ := v.(T)
	return t, err
}

func (s *stub) Open(ctx context.Context, lease time.Duration, label string) (backend.Grant, error) {
	return result[backend.Grant](s.do(ctx, "open", lease, label))
}

func (s *stub) Renew(ctx context.Context, session string, known uint64, full bool) (backend.Renewal, error) {
	return result[backend.Renewal](s.do(ctx, "renew", session, known, full))
}

func (s *stub) Acquire(ctx context.Context, session string, names []string, all bool) ([]backend.Outcome, error) {
	return result[[]backend.Outcome](s.do(ctx, "acquire", session, names, all))
}

func (s *stub) Release(ctx context.Context, session string, leases []backend.Lease) error {
	_, err := s.do(ctx, "release", session, leases)
	return err
}

func (s *stub) CloseSession(ctx context.Context, session string) error {
	_, err := s.do(ctx, "close", session)
	return err
}

func (s *stub) Inspect(ctx context.Context, names []string) ([]backend.Holder, error) {
	return result[[]backend.Holder](s.do(ctx, "inspect", names))
}

// noted is what KeepNote returns, in one.
type noted struct {
	note backend.Note
	held bool
}

func (s *stub) KeepNote(ctx context.Context, session string, lease backend.Lease, note backend.Note) (backend.Note, bool, error) {
	n, err := result[noted](s.do(ctx, "note", session, lease, note))
	return n.note, n.held, err
}

// watchStub is a stub that watches.
type watchStub struct {
	stub
	watch func(ctx context.Context, set *backend.NameSet, vacated func(...string)) error
}

func (s *watchStub) Watch(ctx context.Context, set *backend.NameSet, vacated func(...string)) error {
	return s.watch(ctx, set, vacated)
}

// inbox is an address that keeps what it is sent, for tests to wait for.
type inbox chan actor.Message

func newInbox() inbox                  { return make(inbox, 64) }
func (b inbox) Tell(msg actor.Message) { b <- msg }
func (b inbox) String() string         { return "inbox" }

// next waits for the next message of type M.
func next[M any](t *testing.T, b inbox) M {
	t.Helper()
	select {
	case msg := <-b:
		m, ok := msg.(M)
		if !ok {
			t.Fatalf("got %T %+v", msg, msg)
		}
		return m
	case <-time.After(time.Minute):
		t.Fatal("no message came")
		panic("unreachable")
	}
}

// empty checks that nothing else has come.
func (b inbox) empty(t *testing.T) {
	t.Helper()
	select {
	case msg := <-b:
		t.Errorf("got %T %+v: nothing should have come", msg, msg)
	default:
	}
}

// served is a driver behind its actor.
type served struct {
	actor.Ref
	system *actor.System

	mu      sync.Mutex
	reports []error
}

// serve starts the actor of a driver. The test stops it.
func serve(driver backend.Driver, options ...actor.Option) *served {
	s := &served{}
	options = append(options, actor.WithErrors(func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reports = append(s.reports, err)
	}))
	s.system = actor.NewSystem(options...)
	s.Ref = s.system.Spawn("backend", backend.Serve(driver))
	return s
}

func (s *served) reported() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports
}

func (s *served) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.system.Shutdown(ctx); err != nil {
		t.Errorf("the actor does not end: %v", err)
	}
}
