package simba_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
)

func TestLockWaitsForItsTurn(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		la := must(a.Lock(t.Context(), "n"))
		time.AfterFunc(time.Hour, func() { la.Release(context.Background()) })
		begin := time.Now()
		lb := must(b.Lock(t.Context(), "n"))
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("it took %v", took)
		}
		if la.Valid() || !lb.Valid() || lb.Token() <= la.Token() || lb.Name() != "n" || la.Reason() != simba.Stopped {
			t.Errorf("a: %v %d %v; b: %v %d", la.Valid(), la.Token(), la.Reason(), lb.Valid(), lb.Token())
		}
	})
}

// The context of Lock bounds the call, and never the lease.
func TestContextOfLock(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(simba.WithLabel("web-3:4711")), w.start()
		ctx, cancel := context.WithCancel(t.Context())
		l := must(a.Lock(ctx, "n"))
		cancel()
		time.Sleep(10 * lease)
		if !l.Valid() {
			t.Errorf("the lock ended with the context that it was taken with: %v", l.Reason())
		}
		if _, err := a.Lock(ctx, "m"); !errors.Is(err, context.Canceled) || !errors.Is(err, simba.ErrNotAcquired) {
			t.Errorf("with a context that is done: %v", err)
		}
		why := errors.New("why")
		ctx, cancelCause := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancelCause(why) })
		begin := time.Now()
		_, err := b.Lock(ctx, "n")
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("it gave up after %v", took)
		}
		var not *simba.NotAcquiredError
		var held *simba.HeldError
		if !errors.Is(err, why) || !errors.Is(err, simba.ErrNotAcquired) || !errors.As(err, &not) || !errors.As(err, &held) {
			t.Fatalf("Lock says %v", err)
		}
		if not.Names[0] != "n" || held.Holder.Token != l.Token() || held.Holder.Session != l.Session() {
			t.Errorf("%+v, %+v", not, held)
		}
		if s := err.Error(); !strings.HasPrefix(s, `simba: lock "n" was not acquired: why (lease "n" is held by "web-3:4711" for up to 1`) {
			t.Errorf("Lock says %s", s)
		}
		// Nothing of the attempt is left, here or at the store.
		l.Release(t.Context())
		synctest.Wait()
		if h := w.holder("n"); h.Held {
			t.Errorf("%+v", h)
		}
	})
}

func TestTryLock(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(simba.WithLabel("web-3:4711")), w.start()
		l := must(a.TryLock(t.Context(), "n"))
		time.Sleep(interval + 1800*time.Millisecond)
		begin := time.Now()
		_, err := b.TryLock(t.Context(), "n")
		var held *simba.HeldError
		if !errors.As(err, &held) || !errors.Is(err, simba.ErrNotAcquired) || time.Since(begin) != 0 {
			t.Fatalf("TryLock says %v after %v", err, time.Since(begin))
		}
		if err.Error() != `simba: lease "n" is held by "web-3:4711" for up to 13.2s more` || held.Holder.Token != l.Token() {
			t.Errorf("TryLock says %v", err)
		}
		// It does not contend any more.
		l.Release(t.Context())
		time.Sleep(lease)
		if h := w.holder("n"); h.Held {
			t.Errorf("%+v", h)
		}
		must(b.TryLock(t.Context(), "n"))
		var inUse *simba.InUseError
		if _, err := b.TryLock(t.Context(), "n"); !errors.As(err, &inUse) {
			t.Errorf("TryLock says %v", err)
		}
	})
}

// TryLock comes back also when the store does not.
func TestTryLockWithoutAnAnswer(t *testing.T) {
	for name, cutOff := range map[string]func(*process){
		"no answer":  func(p *process) { p.way.set(hang) },
		"error":      func(p *process) { p.way.set(cut, opAcquire) },
		"unheard":    func(p *process) { p.way.set(unheard, opAcquire) },
		"no session": func(p *process) { p.way.set(cut); time.Sleep(2 * lease) },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				p := w.start()
				cutOff(p)
				begin := time.Now()
				_, err := p.TryLock(t.Context(), "n")
				var not *simba.NotAcquiredError
				if !errors.As(err, &not) || !errors.Is(err, simba.ErrNotAcquired) || time.Since(begin) > interval {
					t.Errorf("TryLock says %v after %v", err, time.Since(begin))
				}
				if name != "no answer" && !errors.Is(err, errCut) {
					t.Errorf("TryLock says %v", err)
				}
				// What may have been won after all is given back.
				p.way.heal()
				time.Sleep(2 * lease)
				if h := w.holder("n"); h.Held {
					t.Errorf("%+v", h)
				}
				must(p.TryLock(t.Context(), "n"))
			})
		})
	}
}

// A name is free for this client as soon as it has let go of it, whatever the store
// does meanwhile.
func TestLockAgainAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p, other := w.start(), w.start()
		lock := func() *simba.Lock {
			t.Helper()
			l, err := p.Lock(t.Context(), "n")
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		var last uint64
		for range 100 {
			l := lock()
			if l.Token() <= last {
				t.Fatalf("token %d after %d", l.Token(), last)
			}
			last = l.Token()
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 { // the release is not waited for
			if err := lock().Release(canceled); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		for range 100 { // released twice
			l := lock()
			go l.Release(t.Context())
			l.Release(t.Context())
		}
		l := must(other.Lock(t.Context(), "n"))
		for i := range 100 { // given up
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Second/7)
			if _, err := p.Lock(ctx, "n"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
		}
		for range 100 { // refused
			var held *simba.HeldError
			if _, err := p.TryLock(t.Context(), "n"); !errors.As(err, &held) {
				t.Fatal(err)
			}
		}
		l.Release(t.Context())
		for range 10 { // lost
			l := lock()
			p.way.set(expired, opRenew)
			<-l.Done()
			p.way.heal()
		}
	})
}

func TestReleaseIsRetriedAndIdempotent(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		l := must(p.Lock(t.Context(), "n"))
		p.way.set(unheard, opRelease)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Release(ctx); !errors.Is(err, context.DeadlineExceeded) || err.Error() != `simba: releasing "n" goes on: context deadline exceeded` {
			t.Errorf("Release says %v", err)
		}
		if l.Valid() {
			t.Error("a lock that is being released is valid")
		}
		time.AfterFunc(time.Second, p.way.heal)
		begin := time.Now()
		if err := l.Release(t.Context()); err != nil || time.Since(begin) < time.Second {
			t.Errorf("Release says %v after %v", err, time.Since(begin))
		}
		n := p.way.count(opRelease)
		next := must(p.Lock(t.Context(), "n"))
		for range 3 {
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if p.way.count(opRelease) != n || !next.Valid() {
			t.Error("releasing the old lock again did something")
		}
	})
}

func TestLockAll(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		ls := must(a.LockAll(t.Context(), "c", "a", "b", "a", "c"))
		var names []string
		for _, term := range ls.Terms() {
			names = append(names, term.Name())
			if !term.Valid() || w.holder(term.Name()).Token != term.Token() {
				t.Errorf("%s: %v", term.Name(), term.Valid())
			}
		}
		if !slices.Equal(names, []string{"c", "a", "b"}) {
			t.Errorf("terms of %v", names)
		}
		if n := a.way.count(opAcquire); n != 1 {
			t.Errorf("%d calls", n)
		}
		// All or none: while one is missing, nothing is taken.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := b.LockAll(ctx, "x", "b", "y")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `simba: lock "x", "b", "y" was not acquired: context deadline exceeded (lease "b" is held by`) {
			t.Errorf("LockAll says %v", err)
		}
		for _, name := range []string{"x", "y"} {
			if h := w.holder(name); h.Held || h.Token != 0 {
				t.Errorf("%+v", h)
			}
		}
		// Part of them in use by another lock of the same client.
		var inUse *simba.InUseError
		if _, err := a.LockAll(t.Context(), "d", "b"); !errors.As(err, &inUse) || inUse.Name != "b" {
			t.Errorf("LockAll says %v", err)
		}
		must(a.TryLock(t.Context(), "d"))
		waiting := async(func() *simba.Locks { return must(b.LockAll(t.Context(), "a", "b", "c")) })
		time.Sleep(lease)
		begin := time.Now()
		ls.Release(t.Context())
		got := <-waiting
		if time.Since(begin) != 0 {
			t.Errorf("the next one waited %v", time.Since(begin))
		}
		// Each may end by itself.
		w.store.Release(t.Context(), got.Terms()[1].Session(), leasesOf(got.Terms()[1]))
		within(t, lease, "the end of one", got.Terms()[1].Done())
		if ts := got.Terms(); !ts[0].Valid() || ts[1].Reason() != simba.TakenOver || !ts[2].Valid() {
			t.Errorf("%v %v %v", ts[0].Reason(), ts[1].Reason(), ts[2].Reason())
		}
		if err := got.Release(t.Context()); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if h := w.holder(name); h.Held {
				t.Errorf("%+v", h)
			}
		}
	})
}

// Two who want the same names in different orders never wait for each other.
func TestLockAllDoesNotDeadlock(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		var inside atomic.Int32
		names := []string{"a", "b", "c", "d"}
		for i := range 4 {
			p := w.start()
			mine := append(slices.Clone(names[i:]), names[:i]...)
			slices.Reverse(mine[:i])
			all.Go(func() {
				for range 10 {
					ls := must(p.LockAll(t.Context(), mine[:3]...)) // any two sets of three meet
					if inside.Add(1) > 1 {
						t.Error("two hold names of which at least two are the same")
					}
					time.Sleep(time.Second)
					inside.Add(-1)
					ls.Release(t.Context())
				}
			})
		}
		all.Wait()
	})
}

func TestNames(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		if _, err := p.LockAll(t.Context()); err == nil || err.Error() != "simba: there are 0 names to lock; there must be 1 to 1000" {
			t.Errorf("LockAll says %v", err)
		}
		many := make([]string, 1001)
		for i := range many {
			many[i] = fmt.Sprint("n", i)
		}
		if _, err := p.LockAll(t.Context(), many...); err == nil || err.Error() != "simba: there are 1001 names to lock; there must be 1 to 1000" {
			t.Errorf("LockAll says %v", err)
		}
		if _, err := p.Holders(t.Context(), many...); err == nil || err.Error() != "simba: there are 1001 names to look at; there must be at most 1000" {
			t.Errorf("Holders says %v", err)
		}
		ls := must(p.LockAll(t.Context(), many[:1000]...))
		if n := len(ls.Terms()); n != 1000 {
			t.Errorf("%d terms", n)
		}
		_, err := p.LockAll(t.Context(), "good", "a b", "", "ü")
		if err == nil || strings.Count(err.Error(), "simba: invalid name") != 3 {
			t.Errorf("LockAll says %v", err)
		}
		for _, name := range []string{"", ".", "..", "a/b", "a\x00", "ü", strings.Repeat("x", 129)} {
			var bad *simba.NameError
			for call, err := range map[string]error{
				"CheckName": simba.CheckName(name),
				"Lock":      second(p.Lock(t.Context(), name)),
				"TryLock":   second(p.TryLock(t.Context(), name)),
				"WithLock":  p.WithLock(t.Context(), name, noTask),
				"Holders":   second(p.Holders(t.Context(), name)),
			} {
				if !errors.As(err, &bad) {
					t.Errorf("%s(%q) says %v", call, name, err)
				}
			}
			for _, err := range p.Observe(t.Context(), name) {
				if !errors.As(err, &bad) {
					t.Errorf("Observe(%q) says %v", name, err)
				}
			}
		}
		for _, name := range []string{"...", "A-z_0:9.", strings.Repeat("x", 128)} {
			if err := simba.CheckName(name); err != nil {
				t.Error(err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// 50 goroutines of several clients increment a counter that only the lock protects.
func TestCounterUnderALock(t *testing.T) {
	const clients, goroutines, each = 5, 10, 10
	w := real(t)
	var all sync.WaitGroup
	var counter int // the race detector watches it as well
	var last uint64
	for range clients {
		p := w.start()
		// A client has one lock of a name at a time, so its goroutines take turns.
		turn := make(chan struct{}, 1)
		for range goroutines {
			all.Go(func() {
				for range each {
					turn <- struct{}{}
					err := p.WithLock(t.Context(), "counter", func(_ context.Context, term *simba.Term) error {
						counter++
						if term.Token() <= last {
							t.Errorf("token %d after %d", term.Token(), last)
						}
						last = term.Token()
						return nil
					})
					<-turn
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if counter != clients*goroutines*each {
		t.Errorf("%d increments were lost", clients*goroutines*each-counter)
	}
}
