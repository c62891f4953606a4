package simba_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
)

// Each test of this file is a way in which users of lease libraries were hurt.

// leading runs a task that returns when its context ends, and waits until it runs.
// The channel then has when its first context ended.
func leading(t *testing.T, p *process, name string) (*simba.Election, *simba.Term, <-chan time.Time) {
	t.Helper()
	began, cancelled := make(chan *simba.Term, 1), make(chan time.Time, 1)
	e, err := p.Run(name, func(ctx context.Context, term *simba.Term) error {
		select {
		case began <- term:
		default: // it is not the first term
		}
		<-ctx.Done()
		select {
		case cancelled <- time.Now():
		default:
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, <-began, cancelled
}

// The store hangs, and the work goes on for longer than the lease.
func TestWorkIsCancelledByTheDeadlineWhenTheStoreHangs(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		_, term, cancelled := leading(t, p, "n")
		p.way.set(hang)
		deadline := time.Now().Add(term.Remaining())
		if at := <-cancelled; at.After(deadline) {
			t.Errorf("the work was cancelled %v after the deadline", at.Sub(deadline))
		}
		if term.Valid() || term.Reason() != simba.DeadlinePassed {
			t.Errorf("valid %v, reason %v", term.Valid(), term.Reason())
		}
		if n := p.way.count(opRelease); n != 0 {
			t.Errorf("a lost lease was released %d times", n)
		}
	})
}

// The store hangs, and the owner wants to stop.
func TestStopWhileTheStoreHangs(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		e, term, cancelled := leading(t, p, "n")
		var valid atomic.Bool
		p.way.set(func(ctx context.Context, do func() error) error {
			valid.Store(valid.Load() || term.Valid())
			return hang(ctx, do)
		}, opRelease)
		p.way.set(hang, opRenew)
		begin := time.Now()
		deadline := begin.Add(term.Remaining())
		stopped := async(func() error { return e.Stop(t.Context()) })
		if at := <-cancelled; at != begin {
			t.Errorf("the work was cancelled after %v", at.Sub(begin))
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		// The release is tried until nobody holds the lease anyway.
		if now := time.Now(); now.After(deadline) {
			t.Errorf("Stop took until %v after the deadline", now.Sub(deadline))
		}
		if p.way.count(opRelease) == 0 || valid.Load() {
			t.Errorf("%d releases; term valid at one: %v", p.way.count(opRelease), valid.Load())
		}
		if term.Reason() != simba.Stopped {
			t.Errorf("reason %v", term.Reason())
		}
	})
}

// A was cut off, B took over, and A's release arrives late.
func TestLateReleaseDoesNotFreeTheNextOwnersLease(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		la := must(a.Lock(t.Context(), "n"))
		arrived := make(chan error, 1)
		a.way.set(hang, opRenew)
		a.way.set(func(ctx context.Context, _ func() error) error {
			time.Sleep(2 * lease) // in a queue somewhere, long after A has given up
			err := w.store.Release(context.Background(), la.Session(), leasesOf(la.Term))
			select {
			case arrived <- err:
			default: // it was sent more than once
			}
			return errCut
		}, opRelease)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := la.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Release says %v", err)
		}
		lb := must(b.Lock(t.Context(), "n"))
		if err := <-arrived; err != nil {
			t.Error(err)
		}
		if h := w.holder("n"); !lb.Valid() || h.Token != lb.Token() {
			t.Errorf("B valid: %v; the store says %+v", lb.Valid(), h)
		}
		if lb.Token() <= la.Token() {
			t.Errorf("token %d after %d", lb.Token(), la.Token())
		}
	})
}

// The same within one session: a copy of the release arrives when the name was won
// again.
func TestRepeatedReleaseDoesNotFreeTheNextTermsLease(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		first := must(p.Lock(t.Context(), "n"))
		first.Release(t.Context())
		second := must(p.Lock(t.Context(), "n"))
		if err := w.store.Release(t.Context(), first.Session(), leasesOf(first.Term)); err != nil {
			t.Error(err)
		}
		if h := w.holder("n"); h.Token != second.Token() || first.Session() != second.Session() {
			t.Errorf("%+v, want token %d", h, second.Token())
		}
		time.Sleep(lease)
		if !second.Valid() {
			t.Errorf("the second term has ended: %v", second.Reason())
		}
	})
}

// The timeout of a renewal is longer than the lease, so one that hangs costs the
// lease.
func TestHungRenewalIsGivenUpInTimeForAnother(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		l := must(p.Lock(t.Context(), "n"))
		n := p.way.count(opRenew)
		p.way.set(hang, opRenew)
		time.Sleep(2*interval + time.Second) // the one that was sent after an interval has hung for another
		if tries := p.way.count(opRenew) - n; tries != 1 {
			t.Errorf("%d renewals were sent while one hung", tries)
		}
		p.way.heal()
		time.Sleep(10 * lease)
		if !l.Valid() {
			t.Errorf("the term ended although a renewal could have succeeded: %v", l.Reason())
		}
	})
}

// The leader is asked to go, and its lease is free while its work still drains.
func TestNextLeaderWaitsForTheWorkToDrain(t *testing.T) {
	for _, how := range []string{"Stop", "StepDown", "Close", "Lead"} {
		t.Run(how, func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				a, b := w.start(), w.start()
				const drain = 3 * time.Second
				began := make(chan struct{})
				var drained atomic.Bool
				work := func(ctx context.Context, term *simba.Term) error {
					close(began)
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), simba.ErrHandover) {
						t.Errorf("cancelled because of %v", context.Cause(ctx))
					}
					time.Sleep(drain)
					if err := term.EnsureValid(0); err != nil {
						t.Errorf("while draining: %v", err)
					}
					drained.Store(true)
					return nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var e *simba.Election
				if how == "Lead" {
					done := async(func() error { return a.Lead(ctx, "n", work) })
					defer func() {
						if err := <-done; err != nil {
							t.Error(err)
						}
					}()
				} else {
					e = must(a.Run("n", work))
				}
				<-began
				begin := time.Now()
				lb := async(func() *simba.Lock { return must(b.Lock(t.Context(), "n")) })
				switch how {
				case "Stop":
					e.Stop(ctx)
				case "StepDown":
					e.StepDown(ctx, time.Hour)
				case "Close":
					a.Close(ctx)
				case "Lead":
					cancel()
				}
				<-lb
				if took := time.Since(begin); !drained.Load() || took != drain {
					t.Errorf("the next leader came after %v; drained: %v", took, drained.Load())
				}
			})
		})
	}
}

// A task that does not heed its context cannot hold the lease beyond the deadline
// as it stood when it was asked, although renewals go on.
func TestDeafTaskLosesTheLeaseAtTheDeadline(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		began, release := make(chan *simba.Term), make(chan struct{})
		e := must(a.Run("n", func(_ context.Context, term *simba.Term) error {
			began <- term
			<-release
			return nil
		}))
		term := <-began
		time.Sleep(interval + time.Second) // one renewal
		begin, left := time.Now(), term.Remaining()
		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != left {
			t.Errorf("Stop took %v, and %v of the term were left", took, left)
		}
		must(b.TryLock(t.Context(), "n"))
		select {
		case <-e.Done():
			t.Error("the election is done, and its task still runs")
		default:
		}
		time.Sleep(time.Second)
		close(release)
		<-e.Done()
		if of[observe.HandoverTimedOut](a.events) == nil || of[observe.TaskOverrunning](a.events) == nil {
			t.Error("nobody was told that the task overran")
		}
	})
}

// A process that never led hears that it stopped leading.
func TestWhoNeverLedIsNeverRevoked(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		must(a.Lock(t.Context(), "n"))
		called := func(context.Context, *simba.Term) { t.Error("elected") }
		e := must(b.Elect("n", simba.Listener{
			OnElected: called,
			OnRevoked: func(context.Context, *simba.Term, simba.Reason) { t.Error("revoked") },
		}))
		time.Sleep(10 * lease)
		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		must(b.Elect("n", simba.Listener{OnElected: called}))
		time.Sleep(lease)
		b.Close(t.Context())
	})
}

// Whether we lead is asked from many goroutines while it changes.
func TestTermIsReadFromManyGoroutines(t *testing.T) {
	w := real(t)
	a, b := w.start(), w.start()
	ea := must(a.Elect("n", simba.Listener{}))
	eb := must(b.Elect("n", simba.Listener{}))
	valid := func(e *simba.Election) bool { t := e.Term(); return t != nil && t.Valid() }
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
				// B is read between two reads of A: had A the same term at both, then
				// so it had at the time of the read of B.
				was := ea.Term()
				if was == nil || !was.Valid() {
					continue
				}
				if valid(eb) && was.Valid() {
					t.Error("both lead")
					return
				}
				ea.Snapshot()
				a.Snapshot()
			}
		})
	}
	for i := range 20 {
		e := []*simba.Election{ea, eb}[i%2]
		other := []*simba.Election{eb, ea}[i%2]
		eventually(t, "somebody to lead", func() bool { return valid(ea) || valid(eb) })
		if err := e.StepDown(t.Context(), time.Millisecond); err != nil {
			t.Error(err)
		}
		if valid(e) && e.Term() == other.Term() {
			t.Error("one term, two elections")
		}
	}
	close(stop)
	readers.Wait()
}

// main returns before the release has run, and the next leader waits for a lease.
func TestCloseWaitsForReleases(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		leading(t, a, "led")
		must(a.Lock(t.Context(), "locked"))
		must(a.Elect("elected", simba.Listener{}))
		synctest.Wait()
		a.way.set(late(time.Second), opRelease, opClose)
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"led", "locked", "elected"} {
			if h := w.holder(name); h.Held {
				t.Errorf("after Close: %+v", h)
			}
			must(b.TryLock(t.Context(), name))
		}
	})
}

// A keep-alive is answered late, and its time counted from then.
func TestDeadlineCountsFromTheRequest(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		const delay = 4 * time.Second
		p := w.start()
		l := must(p.Lock(t.Context(), "n"))
		p.way.set(late(delay), opRenew)
		time.Sleep(interval + delay)
		synctest.Wait() // just answered
		if left := l.Remaining(); left != local-delay {
			t.Errorf("%v left of %v after an answer that took %v", left, local, delay)
		}
		if h := w.holder("n"); l.Remaining() >= h.Remaining {
			t.Errorf("we believe in %v, the store in %v", l.Remaining(), h.Remaining)
		}
	})
}

// One session holds thousands of leases and dies: the store must not stall, and
// others take them in few calls.
func TestThousandsOfLeasesOfADeadSession(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		const n = 1100 // more than one call takes
		a, b := w.start(), w.start()
		name := func(i int) string { return fmt.Sprint("n", i) }
		for i := range n {
			must(a.Elect(name(i), simba.Listener{}))
		}
		synctest.Wait()
		if s := a.Snapshot(); s.Leases != n {
			t.Fatalf("A holds %d leases", s.Leases)
		}
		for i := range n {
			must(b.Elect(name(i), simba.Listener{}))
		}
		synctest.Wait()
		a.way.set(cut)
		calls := b.way.count(opAcquire)
		time.Sleep(lease + time.Second) // from the last renewal
		synctest.Wait()
		if s := b.Snapshot(); s.Leases != n {
			t.Errorf("B holds %d leases", s.Leases)
		}
		// The poll goes on until then, one call for each thousand names.
		if calls := b.way.count(opAcquire) - calls; calls > 10*(n/backend.MaxBatch+2) {
			t.Errorf("B made %d calls", calls)
		}
		b.way.set(late(100*time.Millisecond), opRelease, opClose) // what comes meanwhile gathers
		b.Close(t.Context())
		if calls := b.way.count(opRelease) + b.way.count(opClose); calls > n/backend.MaxBatch+3 {
			t.Errorf("closing took %d calls", calls)
		}
	})
}

// Packets vanish, and the driver does not even notice that its context is done.
func TestDeadlineDependsOnNoIO(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		_, term, cancelled := leading(t, p, "n")
		p.way.set(p.way.deaf)
		deadline := time.Now().Add(term.Remaining())
		if at := <-cancelled; at != deadline {
			t.Errorf("cancelled %v after the deadline", at.Sub(deadline))
		}
		<-term.Done()
		if s := p.Snapshot(); s.State != simba.StateOpening || s.Remaining != 0 {
			t.Errorf("the session is %v with %v left", s.State, s.Remaining)
		}
	})
}

// The term of a lock is lost; taking the lock again fails because "it is held".
func TestLockAgainAfterLosingIt(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		first := must(p.Lock(t.Context(), "n"))
		p.way.set(expired, opRenew)
		<-first.Done()
		p.way.heal()
		if first.Reason() != simba.SessionExpired {
			t.Errorf("reason %v", first.Reason())
		}
		// The store still believes in the old session, which is another one.
		second := must(p.Lock(t.Context(), "n"))
		if second.Token() <= first.Token() || first.Valid() || !second.Valid() {
			t.Errorf("first %d %v, second %d %v", first.Token(), first.Valid(), second.Token(), second.Valid())
		}
		// Also a late release of the first one does not concern the second.
		if err := first.Release(t.Context()); err != nil || !second.Valid() || w.holder("n").Token != second.Token() {
			t.Errorf("%v; second valid: %v; %+v", err, second.Valid(), w.holder("n"))
		}
	})
}

// Many short holders: waiters sleep whole polls in between.
func TestWaitersWakeOnRelease(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		const clients, rounds = 5, 20
		var all sync.WaitGroup
		begin := time.Now()
		for range clients {
			p := w.start()
			all.Go(func() {
				for range rounds {
					must(p.Lock(t.Context(), "n")).Release(t.Context())
				}
			})
		}
		all.Wait()
		if took := time.Since(begin); took > time.Millisecond {
			t.Errorf("%d locks that were held for no time took %v", clients*rounds, took)
		}
	})
}

// Two processes are configured with one id.
func TestTwoProcessesWithOneLabel(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(simba.WithLabel("same")), w.start(simba.WithLabel("same"))
		l := must(a.Lock(t.Context(), "n"))
		_, err := b.TryLock(t.Context(), "n")
		var held *simba.HeldError
		if !errors.As(err, &held) || held.Holder.Label != "same" || held.Holder.Token != l.Token() {
			t.Errorf("the second one got %v", err)
		}
		if a.Snapshot().Session == b.Snapshot().Session {
			t.Error("they have one session")
		}
	})
}

// The lease's record expires, and takes its counter with it.
func TestTokensGrowAcrossReleaseExpiryAndRestart(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var last uint64
		check := func(l *simba.Lock) {
			t.Helper()
			if l.Token() <= last {
				t.Errorf("token %d after %d", l.Token(), last)
			}
			last = l.Token()
		}
		p := w.start()
		for range 3 {
			l := must(p.Lock(t.Context(), "n"))
			check(l)
			l.Release(t.Context())
		}
		check(must(p.Lock(t.Context(), "n")))
		p.way.set(cut)
		time.Sleep(2 * lease) // everything has expired
		p.way.heal()
		check(must(p.Lock(t.Context(), "n")))
		p.Close(t.Context())
		check(must(w.start().Lock(t.Context(), "n")))
	})
}

// A renewal fails, which is logged, and the work goes on.
func TestTermEndsWhenRenewalsFail(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		_, term, cancelled := leading(t, p, "n")
		p.way.set(cut, opRenew, opOpen)
		time.Sleep(interval + time.Second)
		if s := p.Snapshot(); s.State != simba.StateSuspended || !errors.Is(s.LastErr, errCut) || !term.Valid() {
			t.Errorf("after a failure: %v, %v, valid %v", s.State, s.LastErr, term.Valid())
		}
		within(t, lease, "the end of the work", cancelled)
		<-term.Done()
		if term.Reason() != simba.DeadlinePassed {
			t.Errorf("reason %v", term.Reason())
		}
		var ended *simba.EndedError
		if err := context.Cause(term.Context()); !errors.As(err, &ended) || ended.Reason != simba.DeadlinePassed {
			t.Errorf("cause %v", err)
		}
	})
}

// One dropped renewal costs nothing.
func TestOneDroppedRenewalCostsNothing(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		for _, f := range []fault{cut, hang, unheard} {
			p := w.start()
			name := "n" + p.Snapshot().Session
			l := must(p.Lock(t.Context(), name))
			var once atomic.Bool
			p.way.set(func(ctx context.Context, do func() error) error {
				if once.Swap(true) {
					return do()
				}
				return f(ctx, do)
			}, opRenew)
			time.Sleep(4 * lease)
			if !l.Valid() || !once.Load() {
				t.Errorf("valid %v (%v); dropped: %v", l.Valid(), l.Reason(), once.Load())
			}
		}
	})
}

// Many locks, each with a renewal of its own: a pass takes longer than the lease.
func TestOneRenewalPerIntervalHoweverManyLocks(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		var locks []*simba.Lock
		for i := range 1000 {
			locks = append(locks, must(p.Lock(t.Context(), fmt.Sprint("n", i))))
		}
		p.way.set(late(time.Second)) // which is what one call takes here
		n := p.way.count(opRenew)
		const intervals = 100
		time.Sleep(intervals * interval)
		if calls := p.way.count(opRenew) - n; calls > intervals+1 {
			t.Errorf("%d renewals in %d intervals", calls, intervals)
		}
		// Nor is one that is held ever given up for another.
		for _, l := range locks {
			if !l.Valid() {
				t.Fatalf("lost %s: %v", l.Name(), l.Reason())
			}
		}
	})
}

// The time to live equals the renew interval, and a healthy leader flaps.
func TestLeaseThatCannotBeRenewedInTimeIsRefused(t *testing.T) {
	w := real(t)
	_, err := simba.Open(t.Context(), w.store, simba.WithLease(10*time.Second), simba.WithRenewInterval(10*time.Second))
	var params *simba.ParamsError
	if !errors.As(err, &params) {
		t.Fatalf("Open says %v", err)
	}
}

// The store is told before the local work is stopped.
func TestLocalEndComesBeforeTheRelease(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		var terms sync.Map
		p.way.set(func(_ context.Context, do func() error) error {
			terms.Range(func(k, _ any) bool {
				if term := k.(*simba.Term); term.Valid() || term.Reason() == simba.NotEnded {
					t.Errorf("%s is released and valid", term.Name())
				}
				return true
			})
			return do()
		}, opRelease, opClose)
		e, term, _ := leading(t, p, "led")
		terms.Store(term, 0)
		e.Stop(t.Context())
		l := must(p.Lock(t.Context(), "locked"))
		terms.Store(l.Term, 0)
		l.Release(t.Context())
		l = must(p.Lock(t.Context(), "closed"))
		terms.Store(l.Term, 0)
		p.Close(t.Context())
		if p.way.count(opRelease) < 2 || p.way.count(opClose) != 1 {
			t.Errorf("%d releases, %d closes", p.way.count(opRelease), p.way.count(opClose))
		}
	})
}

// A reset of the session and Close meet.
func TestCloseMeetsALostSession(t *testing.T) {
	for _, f := range []fault{expired, cut, hang, unheard} {
		virtual(t, func(t *testing.T, w *world) {
			for offset := range 40 {
				p := w.start()
				leading(t, p, fmt.Sprint("n", offset))
				p.way.set(f)
				time.Sleep(time.Duration(offset) * lease / 30)
				begin := time.Now()
				if err := p.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took > lease {
					t.Errorf("Close took %v", took)
				}
			}
		})
	}
}

// The client is closed, and those who led never hear of it.
func TestCloseRevokes(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		var mu sync.Mutex
		var got []string
		note := func(s string) { mu.Lock(); got = append(got, s); mu.Unlock() }
		must(p.Elect("n", simba.Listener{
			OnElected: func(context.Context, *simba.Term) { time.Sleep(2 * lease); note("elected") },
			OnRevoked: func(_ context.Context, _ *simba.Term, r simba.Reason) { time.Sleep(lease); note(r.String()) },
		}))
		time.Sleep(time.Second)
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprint(got); s != "[elected STOPPED]" {
			t.Errorf("when Close returned the listener had heard %s", s)
		}
	})
}

// The heartbeat ends when nothing is held, and what is acquired next is not
// renewed.
func TestLockAfterALongIdleTimeIsRenewed(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		must(p.Lock(t.Context(), "n")).Release(t.Context())
		time.Sleep(time.Hour)
		l := must(p.Lock(t.Context(), "n"))
		time.Sleep(time.Hour)
		if !l.Valid() || w.holder("n").Token != l.Token() {
			t.Errorf("valid %v (%v), %+v", l.Valid(), l.Reason(), w.holder("n"))
		}
	})
}

// Somebody removes the lease by hand.
func TestLeaseRemovedByHandIsTakenOver(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		l := must(a.Lock(t.Context(), "n"))
		w.store.Release(t.Context(), l.Session(), leasesOf(l.Term))
		must(b.Lock(t.Context(), "n"))
		within(t, interval+time.Second, "the end of the term", l.Done())
		if l.Reason() != simba.TakenOver {
			t.Errorf("reason %v", l.Reason())
		}
	})
}
