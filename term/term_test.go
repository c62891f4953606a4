package term_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/term"
)

func checkTerm(t *testing.T, tm *term.Term, want time.Duration) {
	t.Helper()
	if got, valid := tm.Remaining(), tm.Valid(); got != want || valid != (want > 0) {
		t.Errorf("%v remain, valid: %t; want %v", got, valid, want)
	}
}

func TestTermSaysWhatWasWon(t *testing.T) {
	tm, _, _ := newTerm()
	if tm.Name() != "billing" || tm.Session() != "session-1" || tm.Token() != 7 || tm.Reason() != term.None {
		t.Errorf("%q, %q, %d, %s", tm.Name(), tm.Session(), tm.Token(), tm.Reason())
	}
}

// Nothing runs between the readings but the clock.
func TestFirstReadAfterALongPauseIsFalse(t *testing.T) {
	tm, d, clock := newTerm()
	checkTerm(t, tm, 10*time.Second)
	clock.advance(10*time.Second - 1)
	checkTerm(t, tm, 1)
	clock.advance(time.Hour)
	checkTerm(t, tm, 0)
	if d.Extend(actor.MaxInstant) {
		t.Error("the deadline was extended after its term was seen invalid")
	}
	checkTerm(t, tm, 0)
}

func TestTermFollowsTheDeadlineOfItsSession(t *testing.T) {
	tm, d, clock := newTerm()
	clock.advance(9 * time.Second)
	d.Extend(actor.Instant(24 * time.Second))
	checkTerm(t, tm, 15*time.Second)
	d.Extend(actor.Instant(11 * time.Second))
	checkTerm(t, tm, 2*time.Second)
	d.Latch()
	checkTerm(t, tm, 0)
}

func TestEndedTermStaysAtZero(t *testing.T) {
	for _, reason := range reasons {
		tm, d, clock := newTerm()
		next := term.New("billing", "session-1", 8, d)
		if !term.End(tm, reason) {
			t.Fatalf("End(%s) did nothing", reason)
		}
		checkTerm(t, tm, 0)
		d.Extend(actor.Instant(time.Hour))
		clock.advance(time.Second)
		checkTerm(t, tm, 0)
		if tm.Reason() != reason {
			t.Errorf("the reason is %s, want %s", tm.Reason(), reason)
		}
		// A term that the same session wins later is another one.
		checkTerm(t, next, time.Hour-time.Second)
		if tm.Token() != 7 || next.Token() != 8 {
			t.Errorf("the tokens are %d and %d", tm.Token(), next.Token())
		}
	}
}

var reasons = []term.Reason{term.Stopped, term.SteppedDown, term.DeadlinePassed, term.SessionExpired, term.TakenOver}

func TestReasons(t *testing.T) {
	names := map[term.Reason]string{
		term.None: "NONE", term.Stopped: "STOPPED", term.SteppedDown: "STEPPED_DOWN", term.DeadlinePassed: "DEADLINE_PASSED",
		term.SessionExpired: "SESSION_EXPIRED", term.TakenOver: "TAKEN_OVER", 99: "Reason(99)",
	}
	for reason, name := range names {
		if reason.String() != name {
			t.Errorf("%d is called %s, want %s", reason, reason, name)
		}
		if want := reason == term.Stopped || reason == term.SteppedDown; reason.Voluntary() != want {
			t.Errorf("%s is voluntary: %t", reason, reason.Voluntary())
		}
	}
}

func TestTermEndsOnceForOneReason(t *testing.T) {
	for range 500 {
		tm, _, _ := newTerm()
		ctx := tm.Context()
		var winner atomic.Uint32
		var ending sync.WaitGroup
		for _, reason := range reasons {
			ending.Go(func() {
				if term.End(tm, reason) && !winner.CompareAndSwap(0, uint32(reason)) {
					t.Error("it ended twice")
				}
			})
		}
		ending.Wait()
		won := term.Reason(winner.Load())
		if won == term.None || tm.Reason() != won {
			t.Fatalf("%s ended it, and its reason is %s", won, tm.Reason())
		}
		checkCause(t, ctx, won)
	}
}

func TestTermDoesNotEndForNoReason(t *testing.T) {
	tm, _, _ := newTerm()
	defer func() {
		if recover() == nil {
			t.Error("End(None) did not panic")
		}
		checkTerm(t, tm, 10*time.Second)
	}()
	term.End(tm, term.None)
}

func checkCause(t *testing.T, ctx context.Context, want term.Reason) {
	t.Helper()
	var ended *term.EndedError
	if ctx.Err() != context.Canceled || !errors.As(context.Cause(ctx), &ended) {
		t.Fatalf("the context says %v because of %v", ctx.Err(), context.Cause(ctx))
	}
	if *ended != (term.EndedError{Name: "billing", Token: 7, Reason: want}) {
		t.Errorf("the cause is %+v, want reason %s", *ended, want)
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestContextEndsWithItsTerm(t *testing.T) {
	for _, reason := range reasons {
		tm, _, _ := newTerm()
		ctx, done := tm.Context(), tm.Done()
		if ctx.Err() != nil || context.Cause(ctx) != nil || isDone(done) {
			t.Fatalf("before the end: %v", ctx.Err())
		}
		term.End(tm, reason)
		checkCause(t, ctx, reason)
		if !isDone(done) || !isDone(tm.Done()) || tm.Context() != ctx {
			t.Error("there is more than one context, or Done is not closed")
		}
		// Later ends change nothing.
		if term.End(tm, term.Stopped) || term.End(tm, term.TakenOver) {
			t.Error("it ended twice")
		}
		checkCause(t, tm.Context(), reason)
	}
}

func TestContextOfATermThatHasEnded(t *testing.T) {
	tm, _, _ := newTerm()
	term.End(tm, term.TakenOver)
	checkCause(t, tm.Context(), term.TakenOver)
	if !isDone(tm.Done()) {
		t.Error("Done is not closed")
	}
}

// Whether the context or the end comes first, nobody waits for ever.
func TestContextIsMadeWhileTheTermEnds(t *testing.T) {
	for range 2000 {
		tm, _, _ := newTerm()
		var made [3]context.Context
		var making sync.WaitGroup
		for i := range made {
			making.Go(func() { made[i] = tm.Context() })
		}
		making.Go(func() { term.End(tm, term.SteppedDown) })
		making.Wait()
		for _, ctx := range made {
			checkCause(t, ctx, term.SteppedDown)
			if ctx != made[0] {
				t.Fatal("there is more than one context")
			}
		}
	}
}

// The session notices and ends the term; until then the term is invalid, and
// nothing has been cancelled.
func TestContextDoesNotWatchTheDeadline(t *testing.T) {
	tm, _, clock := newTerm()
	ctx := tm.Context()
	clock.advance(time.Minute)
	checkTerm(t, tm, 0)
	if ctx.Err() != nil || tm.Reason() != term.None {
		t.Errorf("the context says %v, the reason is %s", ctx.Err(), tm.Reason())
	}
	if !term.End(tm, term.DeadlinePassed) {
		t.Error("it could not be ended")
	}
	checkCause(t, ctx, term.DeadlinePassed)
}

func TestEnsureValid(t *testing.T) {
	tm, _, clock := newTerm()
	for _, least := range []time.Duration{-time.Hour, -1, 0, 1, 10*time.Second - 1} {
		if err := tm.EnsureValid(least); err != nil {
			t.Errorf("EnsureValid(%v) with 10s left: %v", least, err)
		}
	}
	for _, least := range []time.Duration{10 * time.Second, 10*time.Second + 1, time.Hour} {
		err := tm.EnsureValid(least)
		var short *term.ShortError
		if !errors.As(err, &short) ||
			*short != (term.ShortError{Name: "billing", Token: 7, Remaining: 10 * time.Second, Least: least}) {
			t.Errorf("EnsureValid(%v) with 10s left: %v", least, err)
		}
	}
	const short = `simba: the term of "billing" with token 7 has 10s left, and more than 10s is needed`
	if err := tm.EnsureValid(10 * time.Second); err.Error() != short {
		t.Errorf("the error reads %q", err)
	}

	checkInvalid := func(want term.Reason, text string) {
		t.Helper()
		for _, least := range []time.Duration{-time.Hour, -1, 0, 1, time.Hour} {
			err := tm.EnsureValid(least)
			var ended *term.EndedError
			if !errors.As(err, &ended) || *ended != (term.EndedError{Name: "billing", Token: 7, Reason: want}) {
				t.Errorf("EnsureValid(%v) of an invalid term: %v", least, err)
			} else if err.Error() != `simba: the term of "billing" with token 7 has ended: `+text {
				t.Errorf("the error reads %q", err)
			}
		}
	}
	clock.advance(10 * time.Second)
	checkInvalid(term.None, "DEADLINE_PASSED")
	term.End(tm, term.SessionExpired)
	checkInvalid(term.SessionExpired, "SESSION_EXPIRED")
}

func TestLimitHoldsAgainstRenewals(t *testing.T) {
	tm, d, clock := newTerm()
	clock.advance(4 * time.Second)
	term.Limit(tm, actor.Instant(10*time.Second)) // a handover begins
	checkTerm(t, tm, 6*time.Second)
	d.Extend(actor.Instant(time.Hour))
	checkTerm(t, tm, 6*time.Second)
	if d.Remaining() != time.Hour-4*time.Second {
		t.Errorf("the limit of a term moved the deadline of its session: %v left", d.Remaining())
	}
	clock.advance(6*time.Second - 1)
	checkTerm(t, tm, 1)
	clock.advance(1)
	checkTerm(t, tm, 0)
	var ended *term.EndedError
	if err := tm.EnsureValid(0); !errors.As(err, &ended) || ended.Reason != term.None {
		t.Errorf("EnsureValid: %v", err)
	}
	if d.Passed() {
		t.Error("the session's deadline has passed as well")
	}
	// It has a reason once its election ends it.
	if !term.End(tm, term.SteppedDown) || tm.Reason() != term.SteppedDown {
		t.Errorf("the reason is %s", tm.Reason())
	}
}

func TestLimitDoesNotOutliveTheDeadline(t *testing.T) {
	tm, d, clock := newTerm()
	term.Limit(tm, actor.Instant(10*time.Second))
	d.Extend(actor.Instant(5 * time.Second))
	checkTerm(t, tm, 5*time.Second)
	clock.advance(5 * time.Second)
	checkTerm(t, tm, 0)
}

func TestTheEarliestLimitHolds(t *testing.T) {
	tm, _, clock := newTerm()
	term.Limit(tm, actor.Instant(6*time.Second))
	term.Limit(tm, actor.Instant(8*time.Second))
	checkTerm(t, tm, 6*time.Second)
	term.Limit(tm, actor.Instant(4*time.Second))
	checkTerm(t, tm, 4*time.Second)
	clock.advance(4 * time.Second)
	checkTerm(t, tm, 0)
	// Seen invalid once, invalid for ever: whatever the clock and the limit do.
	term.Limit(tm, actor.MaxInstant)
	clock.advance(-3 * time.Second)
	checkTerm(t, tm, 0)

	tm, _, _ = newTerm()
	term.Limit(tm, 0) // which is now
	checkTerm(t, tm, 0)
}

func TestReadingsAllocateNothing(t *testing.T) {
	clock := actor.SystemClock{}
	tm := term.New("billing", "session-1", 7, term.NewDeadline(clock, clock.Now().Add(time.Hour)))
	for name, read := range map[string]func(){
		"Valid":       func() { tm.Valid() },
		"Remaining":   func() { tm.Remaining() },
		"EnsureValid": func() { tm.EnsureValid(time.Second) },
		"Reason":      func() { tm.Reason() },
	} {
		if n := testing.AllocsPerRun(1000, read); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if !tm.Valid() {
		t.Error("what was measured is an invalid term")
	}
}
