package simba_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
)

// hesitant is a clock whose reader may be held up between reading it and acting on
// it, like any goroutine may. It makes rare interleavings common.
type hesitant struct{ actor.Clock }

func (h hesitant) Now() actor.Instant {
	now := h.Clock.Now()
	if rand.IntN(3) == 0 {
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	}
	return now
}

// R10: real goroutines read a term while its deadline passes and late answers to
// renewals arrive. After any of them has seen it invalid, none sees it valid.
func TestNoReaderSeesATermComeBack(t *testing.T) {
	w := real(t)
	w.clock = hesitant{w.clock}
	p := w.start(
		simba.WithLease(20*time.Millisecond), simba.WithRenewInterval(5*time.Millisecond),
		simba.WithMargin(0), simba.WithMinBackoff(time.Millisecond), simba.WithRetryJitter(0),
	)
	// Most renewals fail, so that they are tried again and again up to the deadline;
	// those that succeed are answered about when it passes.
	var current atomic.Pointer[simba.Term]
	p.way.set(func(_ context.Context, do func() error) error {
		term := current.Load()
		if term == nil || term.Remaining() > 5*time.Millisecond && rand.IntN(8) > 0 {
			return errCut
		}
		err := do()
		least := time.Duration(rand.IntN(1500)) * time.Microsecond
		for term.Remaining() > least {
			runtime.Gosched()
		}
		return err
	}, opRenew)

	type seen struct {
		term *simba.Term
		gone atomic.Bool // somebody has seen the term invalid
	}
	var look atomic.Pointer[seen]
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := look.Load()
				if s == nil {
					runtime.Gosched()
					continue
				}
				gone := s.gone.Load() // before the read, so that it counts for it
				switch valid := s.term.Valid(); {
				case valid && gone:
					t.Errorf("the term with token %d came back", s.term.Token())
					return
				case !valid:
					s.gone.Store(true)
					runtime.Gosched()
				}
			}
		})
	}

	// Extensions at the last moment are rare, and without them this tests nothing.
	extensions := func() int { return len(of[observe.SessionResumed](p.events)) }
	terms, begin := 0, time.Now()
	for ; terms < 100 || extensions() < 5; terms++ {
		if time.Since(begin) > long {
			t.Fatalf("only %d extensions in %d terms", extensions(), terms)
		}
		l, err := p.Lock(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		current.Store(l.Term)
		look.Store(&seen{term: l.Term})
		within(t, long, "the end of the term", l.Done())
		current.Store(nil)
	}
	close(stop)
	readers.Wait()
	t.Logf("%d terms, %d extensions after a failure", terms, extensions())
}
