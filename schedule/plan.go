package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Plan is a [When] that has been checked, with its options.
type Plan struct {
	when When
	Options
	calendar *calendar // of a cron line
}

// Options are what can be said of a schedule besides its [When].
type Options struct {
	// Delay is how long nothing runs after the begin of a term.
	Delay time.Duration
	// Jitter is below what each run begins later than its tick.
	Jitter time.Duration
	// Durable says that the last tick is noted at the backend, for the next leader.
	Durable bool
}

// longest is how long delay and jitter are at most: a hundred years, so that no moment overflows.
const longest = 100 * 365 * 24 * time.Hour

// NewPlan checks everything, and returns an error that holds an [*Error] for each
// field that is wrong.
func NewPlan(name string, w When, o Options) (*Plan, error) {
	p := &Plan{when: w, Options: o}
	var broken []*Error
	refuse := func(f Field, format string, args ...any) {
		broken = append(broken, &Error{Field: f, Problem: fmt.Sprintf(format, args...)})
	}
	switch w.kind {
	case every, rate:
		if w.interval <= 0 {
			refuse(FieldInterval, "it is %v; it must be above zero", w.interval)
		}
	case cron:
		p.calendar, broken = newCalendar(w.line, w.zone)
	default:
		refuse(FieldWhen, "nothing says when it runs; use Every, Rate or Cron")
	}
	switch {
	case o.Delay < 0:
		refuse(FieldDelay, "it is %v; it must not be negative", o.Delay)
	case o.Delay > longest:
		refuse(FieldDelay, "it is %v; it must be at most %.0fh", o.Delay, longest.Hours())
	}
	switch {
	case o.Jitter < 0:
		refuse(FieldJitter, "it is %v; it must not be negative", o.Jitter)
	case o.Jitter > longest:
		refuse(FieldJitter, "it is %v; it must be at most %.0fh", o.Jitter, longest.Hours())
	case w.kind == rate && w.interval > 0 && o.Jitter >= w.interval:
		refuse(FieldJitter, "it is %v; it must be below the interval of %v", o.Jitter, w.interval)
	}
	if o.Durable && w.kind == every {
		refuse(FieldDurable, "Every has none, for it goes by the end of the last run; use Rate or Cron")
	}
	if len(broken) == 0 {
		return p, nil
	}
	errs := make([]error, len(broken))
	for i, e := range broken {
		e.Name = name
		errs[i] = e
	}
	if len(errs) == 1 {
		return nil, errs[0]
	}
	return nil, errors.Join(errs...)
}

// WallClock reads the machine's wall clock.
func WallClock() Moment { return Moment(time.Now().UnixNano()) }

// sight is what a look at the wall clock shows.
type sight struct {
	number uint64
	now    Moment
	after  Moment // ticks up to here are done with
	tick   Moment // the next one
	none   bool   // there is no tick in sight
	missed int    // later ticks that have passed as well
	last   Moment // of those
}

const (
	// setAnew is a step back of the wall clock above which it counts as set anew: ticks
	// are told from done ones by the new time only. A smaller one repeats no tick.
	setAnew = Moment(3 * time.Hour)
	// mostMissed is up to how many ticks are counted that have passed unnoticed.
	mostMissed = 10_000
)

// look says what is to come after a moment. With fresh set, nothing is known of
// earlier ticks, and after is left out. A term without durability begins with a delay
// in which ticks do not count.
func (p *Plan) look(now, after Moment, fresh bool) sight {
	delay := Moment(p.Delay)
	if p.Durable {
		delay = 0
	}
	if fresh {
		after = now + delay - 1 // a tick at this very moment counts
	} else if after-now > setAnew+delay {
		after, fresh = now, true
	}
	if fresh && p.when.kind == rate {
		after = now - Moment(p.when.interval)
	}
	s := sight{now: now, after: after}
	tick, ok := p.Next(after)
	s.tick, s.last, s.none = tick, tick, !ok
	if p.when.kind == rate && tick <= now {
		s.missed = int((now - tick) / Moment(p.when.interval))
		s.last += Moment(s.missed) * Moment(p.when.interval)
		return s
	}
	for ok {
		if tick, ok = p.Next(tick); !ok || tick > now {
			break
		}
		s.missed++
		if s.last = tick; s.missed == mostMissed {
			s.last = now
			break
		}
	}
	return s
}

// Next returns the first tick after a moment, which is a tick itself if p is a rate. It
// is not ok if there is none.
func (p *Plan) Next(after Moment) (tick Moment, ok bool) {
	if p.when.kind == cron {
		return p.calendar.next(after)
	}
	tick = after + Moment(p.when.interval)
	return tick, tick > after
}
