package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Plan is a [When] that has been checked, with its options.
type Plan struct {
	when          When
	delay, jitter time.Duration
	calendar      *calendar // of a cron line
}

// NewPlan checks everything, and returns an error that holds an [*Error] for each
// field that is wrong. Delay is how long after the begin of a term there are no
// ticks; up to jitter, each run begins later than its tick.
func NewPlan(name string, w When, delay, jitter time.Duration) (*Plan, error) {
	p := &Plan{when: w, delay: delay, jitter: jitter}
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
	if delay < 0 {
		refuse(FieldDelay, "it is %v; it must not be negative", delay)
	}
	switch {
	case jitter < 0:
		refuse(FieldJitter, "it is %v; it must not be negative", jitter)
	case w.kind == rate && w.interval > 0 && jitter >= w.interval:
		refuse(FieldJitter, "it is %v; it must be below the interval of %v", jitter, w.interval)
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
}

const (
	// setAnew is a step back of the wall clock above which it counts as set anew: ticks
	// are told from done ones by the new time only. A smaller one repeats no tick.
	setAnew = Moment(3 * time.Hour)
	// mostMissed is up to how many ticks are counted that have passed unnoticed.
	mostMissed = 10_000
)

// look says what is to come after a moment. With fresh set, that is the begin of a
// term, and after is left out.
func (p *Plan) look(now, after Moment, fresh bool) sight {
	switch {
	case fresh:
		after = now + Moment(p.delay) - 1 // a tick at this very moment counts
	case after-now > setAnew+Moment(p.delay):
		after = now
	}
	s := sight{now: now, after: after}
	tick, ok := p.calendar.next(after)
	if !ok {
		s.none = true
		return s
	}
	s.tick = tick
	for ok && s.missed < mostMissed {
		if tick, ok = p.calendar.next(tick); ok && tick <= now {
			s.missed++
		} else {
			break
		}
	}
	return s
}
