package term_test

import (
	"math"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/term"
)

func checkDeadline(t *testing.T, d *term.Deadline, want time.Duration) {
	t.Helper()
	if got, passed := d.Remaining(), d.Passed(); got != want || passed != (want == 0) {
		t.Errorf("%v remain, passed: %t; want %v", got, passed, want)
	}
}

func TestDeadlinePassesWhenItsInstantIsReached(t *testing.T) {
	clock := &handClock{}
	d := term.NewDeadline(clock, 100)
	checkDeadline(t, d, 100)
	clock.advance(99)
	checkDeadline(t, d, 1)
	clock.advance(1)
	checkDeadline(t, d, 0)
}

func TestDeadlineThatWasSeenPassedStaysSo(t *testing.T) {
	clock := &handClock{}
	d := term.NewDeadline(clock, 100)
	clock.advance(100)
	checkDeadline(t, d, 0)
	clock.advance(-50) // a clock that breaks its promise
	checkDeadline(t, d, 0)
	if d.Extend(1000) {
		t.Error("it was extended")
	}
	checkDeadline(t, d, 0)
	if at, open := d.At(); open {
		t.Errorf("At: %d, open", at)
	}
}

func TestExtendMovesADeadlineBothWays(t *testing.T) {
	clock := &handClock{}
	d := term.NewDeadline(clock, 100)
	for _, at := range []actor.Instant{200, 50, 300, 300, actor.MaxInstant, 1} {
		if !d.Extend(at) {
			t.Fatalf("Extend(%d) failed", at)
		}
		if got, open := d.At(); got != at || !open {
			t.Errorf("At: %d, open: %t; want %d", got, open, at)
		}
		checkDeadline(t, d, time.Duration(at))
	}
	// The newest answer counts, even if it leaves nothing.
	if !d.Extend(0) {
		t.Error("Extend to now failed")
	}
	checkDeadline(t, d, 0)
}

// Nobody has looked, and yet the deadline has passed.
func TestExtendComesTooLateAfterTheDeadline(t *testing.T) {
	clock := &handClock{}
	d := term.NewDeadline(clock, 100)
	clock.advance(100)
	if at, open := d.At(); at != 100 || !open {
		t.Errorf("At: %d, open: %t; want 100 as long as nobody has looked", at, open)
	}
	if d.Extend(1000) {
		t.Error("it was extended")
	}
	clock.advance(-50)
	checkDeadline(t, d, 0)
}

func TestLatchEndsADeadlineAtOnce(t *testing.T) {
	clock := &handClock{}
	d := term.NewDeadline(clock, 100)
	clock.advance(50)
	d.Latch()
	if _, open := d.At(); open || d.Extend(1000) {
		t.Error("it is still open")
	}
	clock.advance(-50)
	checkDeadline(t, d, 0)
}

func TestDeadlineAtTheEndsOfTime(t *testing.T) {
	clock := &handClock{}
	never := term.NewDeadline(clock, actor.MaxInstant)
	checkDeadline(t, never, math.MaxInt64)
	clock.now.Store(math.MinInt64 + 1)
	checkDeadline(t, never, math.MaxInt64)
	always := term.NewDeadline(clock, actor.MinInstant)
	checkDeadline(t, always, 0)
	if always.Extend(100) {
		t.Error("it was extended")
	}
	d := term.NewDeadline(clock, 0)
	if !d.Extend(actor.MinInstant) {
		t.Error("it was not moved")
	}
	checkDeadline(t, d, 0)
}

// meddler is a clock in whose reading something happens: after a reader or an
// extension has loaded the deadline, and before it acts on that.
type meddler struct {
	now    actor.Instant
	meddle func()
}

func (m *meddler) Now() actor.Instant {
	now := m.now
	if f := m.meddle; f != nil {
		m.meddle = nil
		f()
	}
	return now
}

func TestExtensionFailsAgainstALatchInBetween(t *testing.T) {
	clock := &meddler{now: 99}
	d := term.NewDeadline(clock, 100)
	clock.meddle = func() {
		clock.now = 100
		if !d.Passed() {
			t.Error("it has not passed at its own instant")
		}
		clock.now = 99
	}
	if d.Extend(1000) {
		t.Error("it was extended after somebody saw it passed")
	}
	checkDeadline(t, d, 0)

	d = term.NewDeadline(clock, 100)
	clock.meddle = d.Latch
	if d.Extend(1000) {
		t.Error("it was extended after it was latched")
	}
	checkDeadline(t, d, 0)
}

func TestReaderLooksAgainAfterAnExtensionInBetween(t *testing.T) {
	clock := &meddler{now: 50}
	d := term.NewDeadline(clock, 100)
	clock.now = 150
	clock.meddle = func() {
		clock.now = 99
		if !d.Extend(1000) {
			t.Error("it was not extended in time")
		}
		clock.now = 150
	}
	checkDeadline(t, d, 850)
}

func TestExtensionLooksAgainAfterAnotherInBetween(t *testing.T) {
	clock := &meddler{now: 150}
	d := term.NewDeadline(clock, 100)
	clock.meddle = func() {
		clock.now = 99
		if !d.Extend(200) {
			t.Error("the first was not in time")
		}
		clock.now = 150
	}
	if !d.Extend(1000) {
		t.Error("the second was not in time, though the first had moved the deadline")
	}
	checkDeadline(t, d, 850)
}
