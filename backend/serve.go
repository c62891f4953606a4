package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/simba-go/simba/actor"
)

// Serve turns a blocking driver into the behaviour of one actor that speaks the
// protocol. Each call has a goroutine of its own, so that a slow one never stands
// in the way of a renewal, and a context that ends after the request's timeout or
// with the actor. The answer goes straight from there to the asker.
//
// [ErrExpired] is passed on as it is. Any other error is wrapped with the name of
// the request; a panic of the driver becomes such an error, which matches
// [*actor.PanicError], and so does a result that breaks the driver's contract.
//
// If the driver is a [Watcher], its Watch runs as long as somebody wants to hear
// of a name. When it fails, the error is reported, and Watch is called again after
// a pause that grows from 100 ms to 10 s.
func Serve(driver Driver) actor.Behavior {
	watcher, _ := driver.(Watcher)
	return &server{driver: driver, watch: newLookout(watcher)}
}

// server is the actor of [Serve].
type server struct {
	driver Driver
	watch  *lookout
}

func (s *server) Receive(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case actor.Started, actor.Stopping: // ending the calls is up to the runtime
	case *OpenRequest:
		s.open(ctx, m)
	case *RenewRequest:
		s.renew(ctx, m)
	case *AcquireRequest:
		s.acquire(ctx, m)
	case *ReleaseRequest:
		s.release(ctx, m)
	case *CloseRequest:
		s.close(ctx, m)
	case *InspectRequest:
		s.inspect(ctx, m)
	case *NoteRequest:
		s.note(ctx, m)
	case *WatchRequest:
		s.watch.update(ctx, m)
	case *sighting:
		s.watch.notify(ctx, m)
	case *watchEnded:
		s.watch.ended(ctx, m)
	case watchAgain:
		s.watch.again(ctx)
	default:
		ctx.Report(fmt.Errorf("simba: a backend takes the requests of its protocol, as pointers, and not a %T", msg))
	}
}

func (s *server) open(ctx actor.Context, m *OpenRequest) {
	call(ctx, "open", m.Call, func(ctx context.Context) (Grant, error) {
		grant, err := s.driver.Open(ctx, m.Lease, m.Label)
		if err == nil && grant.Session == "" {
			err = errors.New("the driver granted a session without an id")
		}
		return grant, err
	}, func(grant Grant, err error) actor.Message {
		return &OpenAnswer{ID: m.ID, Err: err, Grant: grant}
	})
}

func (s *server) renew(ctx actor.Context, m *RenewRequest) {
	call(ctx, "renew", m.Call, func(ctx context.Context) (Renewal, error) {
		renewal, err := s.driver.Renew(ctx, m.Session, m.Known, m.Full)
		if err == nil && !renewal.Complete && (m.Full || m.Known == 0 || renewal.Revision != m.Known) {
			err = errors.New("the driver withheld the list of leases from someone who does not know it")
		}
		return renewal, err
	}, func(renewal Renewal, err error) actor.Message {
		return &RenewAnswer{ID: m.ID, Err: err, Renewal: renewal}
	})
}

func (s *server) acquire(ctx actor.Context, m *AcquireRequest) {
	call(ctx, "acquire", m.Call, func(ctx context.Context) ([]Outcome, error) {
		outcomes, err := s.driver.Acquire(ctx, m.Session, m.Names, m.All)
		if err == nil {
			err = checkOutcomes(m.Names, outcomes)
		}
		return outcomes, err
	}, func(outcomes []Outcome, err error) actor.Message {
		return &AcquireAnswer{ID: m.ID, Err: err, Outcomes: outcomes}
	})
}

func (s *server) release(ctx actor.Context, m *ReleaseRequest) {
	call(ctx, "release", m.Call, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.driver.Release(ctx, m.Session, m.Leases)
	}, func(_ struct{}, err error) actor.Message {
		return &ReleaseAnswer{ID: m.ID, Err: err}
	})
}

func (s *server) close(ctx actor.Context, m *CloseRequest) {
	call(ctx, "close", m.Call, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.driver.CloseSession(ctx, m.Session)
	}, func(_ struct{}, err error) actor.Message {
		return &CloseAnswer{ID: m.ID, Err: err}
	})
}

func (s *server) inspect(ctx actor.Context, m *InspectRequest) {
	call(ctx, "inspect", m.Call, func(ctx context.Context) ([]Holder, error) {
		holders, err := s.driver.Inspect(ctx, m.Names)
		if err == nil {
			err = checkHolders(m.Names, holders)
		}
		return holders, err
	}, func(holders []Holder, err error) actor.Message {
		return &InspectAnswer{ID: m.ID, Err: err, Holders: holders}
	})
}

func (s *server) note(ctx actor.Context, m *NoteRequest) {
	noter, ok := s.driver.(Noter)
	call(ctx, "note", m.Call, func(ctx context.Context) (kept, error) {
		if !ok {
			return kept{}, ErrNoNotes
		}
		note, held, err := noter.KeepNote(ctx, m.Session, m.Lease, m.Note)
		if !held {
			note = Note{}
		}
		return kept{note, held}, err
	}, func(k kept, err error) actor.Message {
		return &NoteAnswer{ID: m.ID, Err: err, Held: k.held, Note: k.note}
	})
}

// kept is what a driver says about a note.
type kept struct {
	note Note
	held bool
}

// call carries out one request outside of the actor and answers it, whatever
// happens: an asker that hears nothing has to wait for its timeout.
func call[T any](ctx actor.Context, request string, c Call,
	work func(context.Context) (T, error), answer func(T, error) actor.Message) {
	if err := c.Check(request); err != nil {
		var none T
		ctx.Send(c.ReplyTo, answer(none, err))
		return
	}
	ctx.Go(func(ctx context.Context) actor.Message {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		result, err := contain(ctx, request, work)
		if err != nil && !errors.Is(err, ErrExpired) {
			err = fmt.Errorf("simba: backend: %s: %w", request, err)
		}
		c.ReplyTo.Tell(answer(result, err))
		return nil
	})
}

// contain calls work. The runtime would contain a panic as well, but it does not
// know who waits for an answer.
func contain[T any](ctx context.Context, where string, work func(context.Context) (T, error)) (result T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &actor.PanicError{Where: where, Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			var none T
			result = none // a result beside an error means nothing
		}
	}()
	return work(ctx)
}

// checkOutcomes returns an error unless there is a sensible outcome for each name.
func checkOutcomes(names []string, outcomes []Outcome) error {
	if len(outcomes) != len(names) {
		return fmt.Errorf("the driver returned %d outcomes for %d names", len(outcomes), len(names))
	}
	for i, o := range outcomes {
		switch {
		case o.Name != names[i]:
			return fmt.Errorf("the driver returned the outcome of %q in place of %q", o.Name, names[i])
		case o.Won && o.Token == 0:
			return fmt.Errorf("the driver returned the token 0 for %q", o.Name)
		}
	}
	return nil
}

// checkHolders returns an error unless there is a holder for each name.
func checkHolders(names []string, holders []Holder) error {
	if len(names) == 0 {
		return nil
	}
	if len(holders) != len(names) {
		return fmt.Errorf("the driver returned %d holders for %d names", len(holders), len(names))
	}
	for i, h := range holders {
		if h.Name != names[i] {
			return fmt.Errorf("the driver returned the holder of %q in place of %q", h.Name, names[i])
		}
	}
	return nil
}
