package simba_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
)

// observed is what an observer has yielded.
type observed struct {
	holder simba.Holder
	err    error
	at     time.Time
}

// watch runs an observer until ctx is done. The channel is closed then.
func watch(ctx context.Context, p *process, name string) <-chan observed {
	c := make(chan observed, 1000)
	go func() {
		defer close(c)
		for h, err := range p.Observe(ctx, name) {
			c <- observed{h, err, time.Now()}
		}
	}()
	return c
}

func TestObserveSeesEveryChange(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b, watcher := w.start(simba.WithLabel("a")), w.start(simba.WithLabel("b")), w.start()
		seen := watch(t.Context(), watcher, "n")
		if o := <-seen; o.err != nil || o.holder.Held || o.holder.Name != "n" {
			t.Errorf("first: %+v", o)
		}
		for range 5 {
			for _, p := range []*process{a, b} {
				time.Sleep(time.Minute)
				l := must(p.Lock(t.Context(), "n"))
				begin := time.Now()
				o := <-seen
				if o.holder.Token != l.Token() || o.holder.Session != l.Session() || !o.holder.Held || o.holder.Label == "" || o.holder.Remaining <= 0 {
					t.Errorf("%+v, want token %d", o, l.Token())
				}
				if late := o.at.Sub(begin); late > interval/2 {
					t.Errorf("a new holder was seen after %v", late)
				}
				time.Sleep(time.Minute) // renewals are no change
				l.Release(t.Context())
				begin = time.Now()
				if o := <-seen; o.holder.Held || o.holder.Token != 0 || o.at != begin {
					t.Errorf("vacancy: %+v after %v", o, o.at.Sub(begin))
				}
			}
		}
		// Right after a vacancy, which is when the next one comes, it looks often.
		time.Sleep(50 * time.Millisecond)
		l := must(b.Lock(t.Context(), "n"))
		begin := time.Now()
		if o := <-seen; o.holder.Token != l.Token() || o.at.Sub(begin) > 100*time.Millisecond {
			t.Errorf("%+v, %v after it was taken", o, o.at.Sub(begin))
		}
		l.Release(t.Context())
		<-seen
		// By expiry it is vacant as well.
		must(a.Lock(t.Context(), "n"))
		<-seen
		a.way.set(cut)
		if o := <-seen; o.holder.Held || o.err != nil {
			t.Errorf("after the expiry: %+v", o)
		}
		if h := w.holder("n"); h.Held {
			t.Errorf("it was too early: %+v", h)
		}
		if n := watcher.way.count(opAcquire); n != 0 {
			t.Errorf("the watcher contends: %d attempts", n)
		}
	})
}

// A holder that goes and another that comes while nobody looks: the next look tells.
func TestObserveWithoutNotices(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, watcher := w.start(), w.start()
		l := must(a.Lock(t.Context(), "n"))
		seen := watch(t.Context(), watcher, "n")
		<-seen
		watcher.way.set(hang, opInspect) // while all of it happens
		synctest.Wait()
		l.Release(t.Context())
		l = must(a.Lock(t.Context(), "n"))
		watcher.way.heal()
		begin := time.Now()
		for {
			o := <-seen
			if o.holder.Token == l.Token() {
				if late := o.at.Sub(begin); late > 2*interval {
					t.Errorf("seen after %v", late)
				}
				return
			}
		}
	})
}

func TestObserveYieldsAnErrorOnce(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, watcher := w.start(), w.start()
		l := must(a.Lock(t.Context(), "n"))
		seen := watch(t.Context(), watcher, "n")
		<-seen
		for _, f := range []fault{cut, hang} {
			watcher.way.set(f, opInspect)
			if o := <-seen; o.err == nil || o.holder.Name != "n" || o.holder.Held {
				t.Errorf("%+v", o)
			}
			time.Sleep(5 * time.Minute)
			if len(seen) != 0 {
				t.Errorf("%d more in minutes of errors: %+v", len(seen), <-seen)
			}
			watcher.way.heal()
			begin := time.Now()
			if o := <-seen; o.err != nil || o.holder.Token != l.Token() || o.at.Sub(begin) > 2*interval {
				t.Errorf("when it is well again: %+v after %v", o, o.at.Sub(begin))
			}
		}
	})
}

func TestObserveEnds(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		// By its context, without a word.
		ctx, cancel := context.WithCancel(t.Context())
		seen := watch(ctx, p, "n")
		<-seen
		begin := time.Now()
		cancel()
		if o, more := <-seen; more || time.Since(begin) != 0 {
			t.Errorf("after the context is done: %+v, %v later", o, time.Since(begin))
		}
		for h, err := range p.Observe(canceled, "n") {
			t.Errorf("with a context that is done: %+v, %v", h, err)
		}
		p.way.set(hang, opInspect)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		for h, err := range p.Observe(ctx, "n") {
			t.Errorf("while the store hangs: %+v, %v", h, err)
		}
		cancel()
		p.way.heal()
		// By leaving the loop, also by a panic in it.
		for range p.Observe(t.Context(), "n") {
			break
		}
		func() {
			defer func() { recover() }()
			for range p.Observe(t.Context(), "n") {
				panic("out")
			}
		}()
		// By Close, with an error, even after another error.
		p.way.set(cut, opInspect)
		seen = watch(t.Context(), p, "n")
		if o := <-seen; !errors.Is(o.err, errCut) {
			t.Errorf("%+v", o)
		}
		begin = time.Now()
		p.Close(t.Context())
		if o := <-seen; o.err != simba.ErrClosed || o.at != begin {
			t.Errorf("%+v, %v after Close", o, o.at.Sub(begin))
		}
		if o, more := <-seen; more {
			t.Errorf("after the last: %+v", o)
		}
	})
}

func TestHolders(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(simba.WithLabel("a")), w.start(simba.WithLabel("b"))
		la, lb := must(a.Lock(t.Context(), "2")), must(b.Lock(t.Context(), "1"))
		show := func(hs []simba.Holder, err error) string {
			var s []string
			for _, h := range hs {
				s = append(s, fmt.Sprintf("%s %v %s", h.Name, h.Held, h.Label))
			}
			return fmt.Sprintf("%s %v", strings.Join(s, ", "), err)
		}
		if s := show(a.Holders(t.Context(), "1", "3", "2")); s != "1 true b, 3 false , 2 true a <nil>" {
			t.Error(s)
		}
		if s := show(a.Holders(t.Context())); s != "1 true b, 2 true a <nil>" {
			t.Error(s)
		}
		hs := must(b.Holders(t.Context()))
		if hs[0].Token != lb.Token() || hs[1].Token != la.Token() || hs[1].Session != la.Session() || hs[1].Remaining != lease {
			t.Errorf("%+v", hs)
		}
		a.way.set(cut)
		if _, err := a.Holders(t.Context(), "1"); !errors.Is(err, errCut) {
			t.Errorf("Holders says %v", err)
		}
		a.way.set(hang)
		begin := time.Now()
		if _, err := a.Holders(t.Context(), "1"); err == nil || time.Since(begin) != interval {
			t.Errorf("Holders says %v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Holders(ctx, "1"); !errors.Is(err, context.DeadlineExceeded) ||
			err.Error() != "simba: asking the store who holds what: context deadline exceeded" {
			t.Errorf("Holders says %v", err)
		}
	})
}
