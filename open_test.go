package simba_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
)

// openVia opens a client over a way that fails from the start.
func (w *world) openVia(ctx context.Context, way simba.Store, opts ...simba.Option) (*simba.Client, error) {
	return simba.Open(ctx, way, append([]simba.Option{simba.WithClock(w.clock), simba.WithLogger(discard)}, opts...)...)
}

func TestOpenGivesUpAtItsContext(t *testing.T) {
	tests := []struct {
		name string
		// what the error says, and matches besides the context's
		text  string
		match error
		fault func(*way) fault
	}{
		{"error", "no session could be opened: context deadline exceeded (backend: open: " + errCut.Error() + ")", errCut, func(*way) fault { return cut }},
		{"hang", "no session could be opened: context deadline exceeded (", nil, func(*way) fault { return hang }},
		{"deaf", "no session could be opened: context deadline exceeded (", nil, func(w *way) fault { return w.deaf }},
		{"unheard", "context deadline exceeded (backend: open: " + errCut.Error() + ")", errCut, func(*way) fault { return unheard }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				way := newWay(w.store)
				way.set(test.fault(way))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begin := time.Now()
				c, err := w.openVia(ctx, way)
				// A driver that does not heed its context gets a tenth of a second.
				if took := time.Since(begin); took < time.Minute || took > time.Minute+time.Second/10 {
					t.Errorf("Open took %v", took)
				}
				var open *simba.OpenError
				if c != nil || !errors.As(err, &open) || !errors.Is(err, context.DeadlineExceeded) ||
					test.match != nil && !errors.Is(err, test.match) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("Open says %v", err)
				}
				if n := way.count(opOpen); n < 5 && test.name != "deaf" {
					t.Errorf("it was tried %d times in a minute", n)
				}
				way.heal() // and all goroutines end, or the bubble complains
			})
		})
	}
}

func TestOpenWaitsForAStoreThatIsAway(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		way := newWay(w.store)
		way.set(cut)
		time.AfterFunc(time.Hour, way.heal)
		var events recorder
		c, err := w.openVia(t.Context(), way, simba.WithEvents(events.record))
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Snapshot(); s.State != simba.StateLive || s.LastErr != nil {
			t.Errorf("%+v", s)
		}
		failed := of[observe.OpenFailed](&events)
		if n := len(failed); n < 600 || n > 1500 { // up to a renew interval apart
			t.Errorf("%d tries in an hour", n)
		}
		c.Close(t.Context())
	})
}

func TestOpenWithADoneContextAsksNobody(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		way := newWay(w.store)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		cancel(why)
		var open *simba.OpenError
		if _, err := w.openVia(ctx, way); !errors.Is(err, why) || !errors.As(err, &open) {
			t.Errorf("Open says %v", err)
		}
		if n := way.count(opOpen); n != 0 {
			t.Errorf("%d sessions were opened", n)
		}
	})
}

// The context of Open does not bound the client's life.
func TestContextOfOpenBoundsOnlyOpen(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := w.openVia(ctx, newWay(w.store))
		if err != nil {
			t.Fatal(err)
		}
		l := must(c.Lock(ctx, "n"))
		cancel()
		time.Sleep(10 * lease)
		if !l.Valid() {
			t.Errorf("the lock is gone: %v", l.Reason())
		}
		c.Close(t.Context())
	})
}

// storeFunc is a store of just a behaviour.
type storeFunc func() actor.Behavior

func (f storeFunc) Backend() actor.Behavior { return f() }

// A backend that panics is a bug of somebody else. The client says so and ends.
func TestBackendThatPanics(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var broken atomic.Bool
		store := storeFunc(func() actor.Behavior {
			inner := backend.Serve(w.store)
			return actor.BehaviorFunc(func(ctx actor.Context, msg actor.Message) {
				if _, ok := msg.(*backend.RenewRequest); ok && broken.Load() {
					panic("a bug")
				}
				inner.Receive(ctx, msg)
			})
		})
		c, err := w.openVia(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		l := must(c.Lock(t.Context(), "n"))
		broken.Store(true)
		within(t, lease, "the end of the term", l.Done())
		if _, err := c.Lock(t.Context(), "m"); !errors.Is(err, simba.ErrClosed) {
			t.Errorf("Lock says %v", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}

		store = func() actor.Behavior {
			return actor.BehaviorFunc(func(actor.Context, actor.Message) { panic("at once") })
		}
		var open *simba.OpenError
		if _, err := w.openVia(t.Context(), store); !errors.As(err, &open) || !errors.Is(err, simba.ErrClosed) {
			t.Errorf("Open says %v", err)
		}
		store = func() actor.Behavior { return nil }
		if _, err := w.openVia(t.Context(), store); !errors.As(err, &open) {
			t.Errorf("Open says %v", err)
		}
	})
}
