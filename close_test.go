package simba_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba"
)

func TestCloseBeforeAnythingAndTwice(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		for range 3 {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := p.way.count(opClose); n != 1 {
			t.Errorf("the session was closed %d times", n)
		}
		if s := p.Snapshot(); s.State != simba.StateClosed || s.Session != "" || s.Remaining != 0 {
			t.Errorf("%+v", s)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Close(done); err != nil {
			t.Errorf("closed, and Close says %v", err)
		}
	})
}

func TestCloseFromManyGoroutines(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		e, _, _ := leading(t, p, "n")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				select {
				case <-e.Done():
				default:
					t.Error("Close returned before the election was done")
				}
			})
		}
		all.Wait()
	})
}

func TestCallsAfterClose(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		e := must(p.Elect("e", simba.Listener{}))
		l := must(p.Lock(t.Context(), "l"))
		term := l.Term
		p.Close(t.Context())
		calls := map[string]func() error{
			"Elect":    func() error { _, err := p.Elect("n", simba.Listener{}); return err },
			"Run":      func() error { _, err := p.Run("n", noTask); return err },
			"Lead":     func() error { return p.Lead(t.Context(), "n", noTask) },
			"Lock":     func() error { _, err := p.Lock(t.Context(), "n"); return err },
			"TryLock":  func() error { _, err := p.TryLock(t.Context(), "n"); return err },
			"LockAll":  func() error { _, err := p.LockAll(t.Context(), "n", "m"); return err },
			"WithLock": func() error { return p.WithLock(t.Context(), "n", noTask) },
			"Holders":  func() error { _, err := p.Holders(t.Context(), "n"); return err },
			"Observe": func() error {
				var last error
				for _, err := range p.Observe(t.Context(), "n") {
					last = err
				}
				return last
			},
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, simba.ErrClosed) {
				t.Errorf("%s says %v", name, err)
			}
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop says %v", err)
		}
		var stopped *simba.StoppedError
		if err := e.StepDown(t.Context(), 0); !errors.As(err, &stopped) {
			t.Errorf("StepDown says %v", err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("Release says %v", err)
		}
		if term.Valid() || term.Reason() != simba.Stopped || e.Term() != nil {
			t.Errorf("term: %v %v; election's: %v", term.Valid(), term.Reason(), e.Term())
		}
		if s := e.Snapshot(); s.Status != simba.StatusStopped {
			t.Errorf("%+v", s)
		}
	})
}

func noTask(context.Context, *simba.Term) error { return nil }

// All that waits when the client is closed comes back.
func TestCloseWhileOthersWait(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		must(a.LockAll(t.Context(), "1", "2", "3", "4", "5"))
		ctx := t.Context()
		calls := map[string]<-chan error{
			"Lock":     async(func() error { _, err := b.Lock(ctx, "1"); return err }),
			"LockAll":  async(func() error { _, err := b.LockAll(ctx, "2", "x"); return err }),
			"WithLock": async(func() error { return b.WithLock(ctx, "3", noTask) }),
			"Lead":     async(func() error { return b.Lead(ctx, "4", noTask) }),
			"Observe": async(func() error {
				var last error
				for _, err := range b.Observe(ctx, "5") {
					last = err
				}
				return last
			}),
		}
		time.Sleep(lease)
		b.way.set(hang, opInspect, opAcquire)
		calls["Holders"] = async(func() error { _, err := b.Holders(ctx, "5"); return err })
		calls["TryLock"] = async(func() error { _, err := b.TryLock(ctx, "6"); return err })
		time.Sleep(time.Second)
		begin := time.Now()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		for name, call := range calls {
			if err := within(t, time.Second, name, call); !errors.Is(err, simba.ErrClosed) {
				t.Errorf("%s says %v", name, err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

func TestCloseWithATaskThatIsDeaf(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		began, release := make(chan *simba.Term), make(chan struct{})
		e := must(a.Run("n", func(_ context.Context, term *simba.Term) error {
			began <- term
			<-release
			return nil
		}))
		term := <-began
		left := term.Remaining()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "simba: closing the client goes on: context deadline exceeded" {
			t.Errorf("Close says %v", err)
		}
		if !term.Valid() {
			t.Error("the lease was taken from a task that still counts on it")
		}
		if _, err := a.Lock(t.Context(), "m"); !errors.Is(err, simba.ErrClosed) {
			t.Errorf("while it closes, Lock says %v", err)
		}
		a.way.set(hang, opInspect)
		if _, err := a.Holders(t.Context(), "m"); !errors.Is(err, simba.ErrClosed) {
			t.Errorf("while it closes, Holders says %v", err)
		}
		begin := time.Now()
		must(b.Lock(t.Context(), "n"))
		if took := time.Since(begin); took != left-time.Second {
			t.Errorf("the lease was free after %v, and the term had %v left", took, left-time.Second)
		}
		time.AfterFunc(time.Hour, func() { close(release) })
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if time.Since(begin) < time.Hour {
			t.Error("Close returned while a task still ran")
		}
		<-e.Done()
	})
}

// The store hangs, and Close comes back nevertheless.
func TestCloseWhileTheStoreHangs(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		leading(t, p, "led")
		must(p.Lock(t.Context(), "locked"))
		must(p.Elect("elected", simba.Listener{}))
		p.way.set(hang)
		begin := time.Now()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > lease {
			t.Errorf("Close took %v", took)
		}
	})
}

// A driver that does not heed its context holds nobody up whose context is done.
func TestCloseWhileTheDriverIsDeaf(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		l := must(p.Lock(t.Context(), "n"))
		p.way.set(p.way.deaf)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("Close says %v after %v", err, time.Since(begin))
		}
		if l.Valid() {
			t.Error("the lock is valid")
		}
		p.way.heal()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Closing is a race with everything that begins at the same time.
func TestCloseMeetsBeginnings(t *testing.T) {
	for round := range 20 {
		w := real(t)
		p := w.start()
		var all sync.WaitGroup
		for i := range 10 {
			name := fmt.Sprint(round, "-", i)
			ok := func(err error) {
				if err != nil && !errors.Is(err, simba.ErrClosed) {
					t.Error(err)
				}
			}
			all.Go(func() { _, err := p.Elect(name+"e", simba.Listener{}); ok(err) })
			all.Go(func() { _, err := p.Lock(t.Context(), name+"l"); ok(err) })
			all.Go(func() { ok(p.Lead(t.Context(), name+"d", noTask)) })
			all.Go(func() { ok(p.WithLock(t.Context(), name+"w", noTask)) })
			all.Go(func() { _, err := p.Holders(t.Context(), name); ok(err) })
			all.Go(func() {
				for _, err := range p.Observe(t.Context(), name) {
					ok(err)
				}
			})
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		all.Wait()
		if holders, err := w.store.Inspect(t.Context(), nil); err != nil || len(holders) != 0 {
			t.Errorf("left behind: %v %v", holders, err)
		}
	}
}
