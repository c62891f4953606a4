package term_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/term"
)

// tickingClock moves with every reading, so that deadlines pass between any two
// steps of readers and extensions. Every few readings it lets others run before it
// returns, who then act on their own readings first.
type tickingClock struct{ now atomic.Int64 }

func (c *tickingClock) Now() actor.Instant {
	now := c.now.Add(1)
	if now%8 == 0 {
		runtime.Gosched()
	}
	return actor.Instant(now)
}

// racingClocks are those to race with.
func racingClocks() map[string]func() actor.Clock {
	return map[string]func() actor.Clock{
		"ticking clock": func() actor.Clock { return &tickingClock{} },
		"system clock":  func() actor.Clock { return actor.SystemClock{} },
	}
}

// readings is about how long n readings of clock take, on that clock.
func readings(clock actor.Clock, n int) time.Duration {
	least := time.Hour
	for range 100 {
		first := clock.Now()
		least = min(least, clock.Now().Sub(first))
	}
	return time.Duration(n) * max(1, least)
}

// afterAWhile reports true after 20 seconds. It bounds loops that end at once unless something
// is broken.
func afterAWhile() func() bool {
	start := time.Now()
	return func() bool { return time.Since(start) > 20*time.Second }
}

// race has readers ask valid, which is true at first, while meddle does its worst
// until it is not. It fails the test if a reader that started after any reader had
// seen false sees true.
func race(t *testing.T, valid func() bool, meddle func()) {
	t.Helper()
	var seenFalse, over atomic.Bool
	var ready, reading sync.WaitGroup
	const readers = 4
	ready.Add(readers)
	for range readers {
		reading.Go(func() {
			if !valid() {
				t.Error("it is not valid to begin with")
			}
			ready.Done()
			for last := 0; last < 8; {
				if over.Load() {
					last++ // a few more looks once nothing meddles any more
				}
				for range 16 {
					after := seenFalse.Load()
					if !valid() {
						seenFalse.Store(true)
					} else if after {
						t.Error("valid after it was seen invalid")
					}
				}
				runtime.Gosched() // there may be more readers than processors
			}
		})
	}
	ready.Wait()
	meddle()
	over.Store(true)
	reading.Wait()
	if !seenFalse.Load() {
		t.Fatal("it is still valid in the end")
	}
}

// The deadline passes while it is being extended and while many look at it.
func TestDeadlineIsLinearizable(t *testing.T) {
	for name, newClock := range racingClocks() {
		t.Run(name, func(t *testing.T) {
			most := int64(readings(newClock(), 12))
			for range 500 {
				clock := newClock()
				d := term.NewDeadline(clock, clock.Now().Add(time.Hour))
				race(t, func() bool { return !d.Passed() }, func() {
					for late, giveUp := 0, afterAWhile(); late < 20 && !giveUp(); {
						if !d.Extend(clock.Now().Add(time.Duration(rand.Int64N(most)))) {
							late++ // and goes on, as a renewal's answer may
						}
						if rand.IntN(4) == 0 {
							runtime.Gosched()
						}
					}
				})
			}
		})
	}
}

// The same for a term, which also ends, is limited, or loses its session, while
// renewals come in.
func TestValidityIsLinearizable(t *testing.T) {
	ends := map[string]func(tm *term.Term, d *term.Deadline, soon actor.Instant){
		"ended":   func(tm *term.Term, _ *term.Deadline, _ actor.Instant) { term.End(tm, term.TakenOver) },
		"limited": func(tm *term.Term, _ *term.Deadline, soon actor.Instant) { term.Limit(tm, soon) },
		"latched": func(_ *term.Term, d *term.Deadline, _ actor.Instant) { d.Latch() },
	}
	for name, newClock := range racingClocks() {
		for how, end := range ends {
			t.Run(name+"/"+how, func(t *testing.T) {
				few := readings(newClock(), 12)
				for range 200 {
					clock := newClock()
					d := term.NewDeadline(clock, clock.Now().Add(time.Hour))
					tm := term.New("billing", "session-1", 7, d)
					race(t, tm.Valid, func() {
						for i := range 20 {
							d.Extend(clock.Now().Add(time.Hour))
							if i == 10 {
								end(tm, d, clock.Now().Add(few))
							}
							runtime.Gosched()
						}
						for giveUp := afterAWhile(); tm.Valid() && !giveUp(); { // a limit is yet to come
						}
					})
				}
			})
		}
	}
}
