package simba_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba"
)

func TestWithLock(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		why := errors.New("why")
		ctx := context.WithValue(t.Context(), key{}, "value")
		for _, want := range []error{nil, why} {
			err := p.WithLock(ctx, "n", func(ctx context.Context, term *simba.Term) error {
				if h := w.holder("n"); h.Token != term.Token() || !term.Valid() || ctx.Err() != nil || ctx.Value(key{}) != "value" {
					t.Errorf("%+v, valid %v, %v, %v", h, term.Valid(), ctx.Err(), ctx.Value(key{}))
				}
				return want
			})
			if err != want {
				t.Errorf("WithLock says %v", err)
			}
			if h := w.holder("n"); h.Held {
				t.Errorf("%+v", h)
			}
		}
		if err := p.WithLock(ctx, "n", nil); err == nil || err.Error() != `simba: the function to run under "n" is nil` {
			t.Errorf("WithLock says %v", err)
		}
	})
}

func TestWithLockIsNotAcquired(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		must(a.Lock(t.Context(), "n"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := b.WithLock(ctx, "n", func(context.Context, *simba.Term) error { t.Error("it ran"); return nil })
		if !errors.Is(err, simba.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WithLock says %v", err)
		}
	})
}

func TestWithLockWhoseTermIsLost(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		why := errors.New("why")
		for _, result := range []error{nil, why} {
			err := p.WithLock(t.Context(), "n", func(ctx context.Context, term *simba.Term) error {
				p.way.set(expired, opRenew)
				defer p.way.heal()
				<-ctx.Done()
				var ended *simba.EndedError
				if !errors.As(context.Cause(ctx), &ended) || ended.Reason != simba.SessionExpired || term.Valid() {
					t.Errorf("cause %v, valid %v", context.Cause(ctx), term.Valid())
				}
				return result
			})
			var ended *simba.EndedError
			if !errors.As(err, &ended) || ended.Reason != simba.SessionExpired || result != nil && !errors.Is(err, result) {
				t.Errorf("WithLock says %v", err)
			}
		}
	})
}

// The function's context ends with that of the call, and the lease is held until
// the function has returned.
func TestWithLockWhoseContextEnds(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := p.WithLock(ctx, "n", func(ctx context.Context, term *simba.Term) error {
			cancel(why)
			<-ctx.Done()
			time.Sleep(2 * lease)
			if !term.Valid() || !w.holder("n").Held {
				t.Error("the lock is gone")
			}
			return context.Cause(ctx)
		})
		if err != why {
			t.Errorf("WithLock says %v", err)
		}
		if h := w.holder("n"); h.Held {
			t.Errorf("%+v", h)
		}
	})
}

func TestWithLockWhoseFunctionPanics(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		defer func() {
			if v := recover(); v != "oh" {
				t.Errorf("recovered %v", v)
			}
			if h := w.holder("n"); h.Held {
				t.Errorf("%+v", h)
			}
			must(p.TryLock(t.Context(), "n"))
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		p.WithLock(t.Context(), "n", func(context.Context, *simba.Term) error { panic("oh") })
	})
}

// That the release takes long is no failure of what was done under the lock.
func TestWithLockWhoseReleaseHangs(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		begin := time.Now()
		err := p.WithLock(t.Context(), "n", func(context.Context, *simba.Term) error {
			p.way.set(hang, opRelease)
			return nil
		})
		if took := time.Since(begin); err != nil || took != interval {
			t.Errorf("WithLock says %v after %v", err, took)
		}
		p.way.heal()
		time.Sleep(2 * interval)
		if h := w.holder("n"); h.Held {
			t.Errorf("%+v", h)
		}
	})
}

// A function that does not heed its context holds Close up, but not the lease.
func TestWithLockWhoseFunctionIsDeafToClose(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		began := make(chan struct{})
		done := async(func() error {
			return a.WithLock(t.Context(), "n", func(context.Context, *simba.Term) error {
				close(began)
				time.Sleep(time.Hour)
				return nil
			})
		})
		<-began
		begin := time.Now()
		closed := async(func() error { return a.Close(t.Context()) })
		must(b.Lock(t.Context(), "n"))
		if took := time.Since(begin); took != lease {
			t.Errorf("the lease was free after %v", took)
		}
		if err := <-closed; err != nil || time.Since(begin) != time.Hour {
			t.Errorf("Close says %v after %v", err, time.Since(begin))
		}
		var ended *simba.EndedError
		if err := <-done; !errors.As(err, &ended) || ended.Reason != simba.Stopped {
			t.Errorf("WithLock says %v", err)
		}
	})
}
