package schedule

import (
	"math"
	"time"

	"github.com/simba-go/simba/actor"
)

// ticks is when the next run is due. Those of Every and Rate are instants of the
// actor's clock, which counts time asleep and never jumps; those of Cron are moments
// of the wall clock.
type ticks struct {
	armed  uint64        // the number of the last look; those of before mean nothing
	jitter time.Duration // of the next tick

	at actor.Instant // the next tick of Every and Rate

	from  actor.Instant // nothing runs before, in a term of a durable schedule
	fresh bool          // nothing is known of earlier ticks
	after Moment        // ticks of Cron up to here are done with
	drawn Moment        // for which jitter was drawn
}

// lookNow is the timer. It is not stopped: another look makes it void.
type lookNow struct{ number uint64 }

// lookEvery is how long it sleeps at most. Timers do not count time asleep, and the
// wall clock may be set: both are noticed at the next look.
const lookEvery = 30 * time.Second

// byTheWall reports whether ticks are moments of the wall clock. Those of a durable
// rate are, because leaders on several machines share no other clock.
func (p *Plan) byTheWall() bool { return p.when.kind == cron || p.Durable }

// begin is the first tick of a term.
func (s *schedule) begin(ctx actor.Context) {
	now := ctx.Now()
	s.ticks.from, s.ticks.fresh, s.ticks.drawn = now, true, math.MinInt64
	if s.Plan.Durable {
		s.ticks.from = now.Add(s.Plan.Delay)
		s.recall(ctx)
		return
	}
	s.tickAt(ctx, now.Add(s.Plan.Delay))
	s.watch(ctx)
}

// tickAt is for Every and Rate.
func (s *schedule) tickAt(ctx actor.Context, at actor.Instant) {
	s.ticks.at, s.ticks.jitter = at, s.jitter(ctx)
}

func (s *schedule) jitter(ctx actor.Context) time.Duration {
	if s.Plan.Jitter == 0 {
		return 0
	}
	return time.Duration(ctx.Random(int64(s.Plan.Jitter)))
}

// afterRun goes on when a run has returned.
func (s *schedule) afterRun(ctx actor.Context) {
	if s.Plan.when.kind == every {
		s.tickAt(ctx, ctx.Now().Add(s.Plan.when.interval))
	}
	s.watch(ctx)
}

// watch looks whether the next tick is due.
func (s *schedule) watch(ctx actor.Context) {
	s.ticks.armed++
	now, due := ctx.Now(), s.ticks.at.Add(s.ticks.jitter)
	if s.Plan.byTheWall() {
		if now.Before(s.ticks.from) {
			s.sleep(ctx, s.ticks.from.Sub(now))
			return
		}
		s.glance(ctx)
		return
	}
	if now.Before(due) {
		s.sleep(ctx, due.Sub(now))
		return
	}
	skipped := 0
	if s.Plan.when.kind == rate {
		interval := s.Plan.when.interval
		passed := now.Sub(s.ticks.at) / interval
		skipped = int(passed)
		s.tickAt(ctx, s.ticks.at.Add(passed*interval).Add(interval))
	}
	s.run(ctx, 0, skipped)
}

// sleep looks again when the next tick is due, or sooner.
func (s *schedule) sleep(ctx actor.Context, left time.Duration) {
	s.shown.Next = ctx.Now().Add(left)
	ctx.After(min(left, lookEvery), lookNow{s.ticks.armed})
}

// current reports whether the answer to a look is of the last one, and still of use.
func (s *schedule) current(number uint64) bool {
	return number == s.ticks.armed && s.machine.State() == Waiting
}

func (s *schedule) lookNow(ctx actor.Context, m lookNow) {
	if s.current(m.number) {
		s.watch(ctx)
	}
}

// saw is a look at the wall clock.
func (s *schedule) saw(ctx actor.Context, m sight) {
	if !s.current(m.number) {
		return
	}
	t := &s.ticks
	first := t.fresh
	t.fresh, t.after = false, m.after
	if s.Plan.Durable && first && !m.none {
		s.noteBegin(ctx, m.after)
		return
	}
	if m.none {
		s.shown.Next = 0
		ctx.After(lookEvery, lookNow{t.armed})
		return
	}
	if m.tick != t.drawn {
		t.drawn, t.jitter = m.tick, s.jitter(ctx)
	}
	if left := time.Duration(m.tick-m.now) + t.jitter; left > 0 {
		s.sleep(ctx, left)
		return
	}
	t.after = m.last
	if s.Plan.Durable {
		s.noteTick(ctx, m.last, m.missed)
		return
	}
	s.run(ctx, 0, m.missed)
}

// blinded is a look that panicked. It is reported, and tried again.
func (s *schedule) blinded(ctx actor.Context, err *actor.PanicError) {
	ctx.Report(err)
	if s.machine.State() == Waiting {
		s.ticks.armed++
		ctx.After(lookEvery, lookNow{s.ticks.armed})
	}
}
