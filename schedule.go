package simba

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/schedule"
)

// Schedule runs a function again and again while its client leads a name, until it
// is stopped. All methods are safe for concurrent use.
type Schedule struct {
	election *Election
	ref      actor.Ref
	view     atomic.Pointer[schedule.Snapshot]
}

// When says when a scheduled function runs: [Every], [Rate] or [Cron].
type When = schedule.When

// Every is a fixed delay: each run begins an interval after the end of the one
// before. The first one begins when the term does.
func Every(interval time.Duration) When { return schedule.Every(interval) }

// Rate is a fixed rate: ticks come an interval apart, whatever a run takes. Those
// that pass during a run are made up for by one run, and the next ticks keep to the
// rhythm. The first one comes when the term begins, and so does the rhythm.
func Rate(interval time.Duration) When { return schedule.Rate(interval) }

// Cron is a cron line by the wall clock of a time zone of the tz database, such as
// "Europe/Berlin" or "UTC". The line has five fields (minute, hour, day of month,
// month, day of week), or is one of @hourly, @daily, @weekly, @monthly and @yearly.
//
// On a day on which the zone's clock is set, a time that is left out runs right after
// the gap, and one that comes twice runs the first time. Lines with ticks in each
// hour go by real time instead.
func Cron(line, zone string) When { return schedule.Cron(line, zone) }

// ScheduleError says which field of a schedule is wrong, and what would be right.
type ScheduleError = schedule.Error

// ScheduleField is a part of a schedule that may be wrong.
type ScheduleField = schedule.Field

// The fields of a [ScheduleError].
const (
	// FieldWhen: nothing says when to run.
	FieldWhen = schedule.FieldWhen
	// FieldInterval is that of [Every] or [Rate].
	FieldInterval = schedule.FieldInterval
	// FieldCron is the line of [Cron].
	FieldCron = schedule.FieldCron
	// FieldZone is the time zone of [Cron].
	FieldZone = schedule.FieldZone
	// FieldDelay is that of [InitialDelay].
	FieldDelay = schedule.FieldDelay
	// FieldJitter is that of [Jitter].
	FieldJitter = schedule.FieldJitter
	// FieldDurable is about [Durable].
	FieldDurable = schedule.FieldDurable
	// FieldFunction is what is to run.
	FieldFunction = schedule.FieldFunction
	// FieldOption is an option as such.
	FieldOption = schedule.FieldOption
)

// ScheduleOption configures [Client.Schedule].
type ScheduleOption func(*scheduleOptions)

type scheduleOptions = schedule.Options

// InitialDelay leaves out ticks in the first d of each term, or with [Durable] makes up
// for them when it is over; by default there is no delay. It must not be negative, nor
// above a hundred years.
func InitialDelay(d time.Duration) ScheduleOption { return func(o *scheduleOptions) { o.Delay = d } }

// Jitter delays each run by a random time below d, so that not all schedules of the
// world run at the full hour. With [Rate] it must be below the interval, whose rhythm
// stays. It must not be negative, nor above a hundred years.
func Jitter(d time.Duration) ScheduleOption { return func(o *scheduleOptions) { o.Jitter = d } }

// Durable notes each tick at the store, under the leader's token, before its run
// begins. A new leader goes on from there: it does not repeat a tick that any leader
// has begun to run, and makes up for those that came while nobody led, by one run. A
// run that has begun is not repeated, also if it fails, or dies with its process.
//
// It is for [Rate], whose rhythm goes on from term to term then and goes by the wall
// clock, and [Cron]. The store must keep notes, as those of packages sqlite and memory
// do.
func Durable() ScheduleOption { return func(o *scheduleOptions) { o.Durable = true } }

// CheckSchedule returns what [Client.Schedule] would say of these arguments: nil, or
// an error that holds a [*ScheduleError] for each field that is wrong.
func CheckSchedule(when When, opts ...ScheduleOption) error {
	_, err := newPlan("", when, opts)
	return err
}

func newPlan(name string, when When, opts []ScheduleOption) (*schedule.Plan, error) {
	var o scheduleOptions
	var broken []error
	for i, opt := range opts {
		if opt == nil {
			broken = append(broken, &ScheduleError{
				Name: name, Field: FieldOption, Problem: fmt.Sprintf("number %d of %d is nil; leave it out", i+1, len(opts)),
			})
			continue
		}
		opt(&o)
	}
	plan, err := schedule.NewPlan(name, when, o)
	return plan, joinErrors(append(broken, err)...)
}

// Schedule starts to contend for name, and runs fn again and again while leading. Runs
// never overlap: ticks that pass during a run are made up for by one run. A run that
// fails or panics is reported as an event, and the next one comes all the same.
//
// A run's context is cancelled when the term ends, or is about to be handed over, with
// [ErrHandover] as its cause; in a handover the lease is kept until the run has
// returned or the term's time is over. Each term begins anew, unless the schedule is
// [Durable]: what was due while nobody led is not made up for.
//
// Schedule does not wait for anything. The error is a [*NameError], an [*InUseError],
// [ErrClosed], or holds a [*ScheduleError] for each field that is wrong.
func (c *Client) Schedule(name string, when When, fn TaskFunc, opts ...ScheduleOption) (*Schedule, error) {
	plan, err := newPlan(name, when, opts)
	if fn == nil {
		err = joinErrors(err, &ScheduleError{Name: name, Field: FieldFunction, Problem: "it is nil; give one that returns when its context is done"})
	}
	if plan != nil && plan.Durable && !c.notes {
		err = joinErrors(err, &ScheduleError{
			Name: name, Field: FieldDurable, Problem: "this store keeps no notes, which it needs; leave Durable out, or use another store",
		})
	}
	if err != nil {
		return nil, err
	}
	s := &Schedule{}
	between := func(e *Election, host actor.Ref) actor.Ref {
		s.election, e.schedule = e, s
		s.ref = c.system.Spawn("schedule "+name, schedule.New(schedule.Config{
			Name: name, Plan: plan, Host: host, Wall: schedule.WallClock, Sink: c.sink, View: &s.view,
			Backend: c.backend, Timeout: c.params.RenewInterval, Pause: c.params.MinBackoff,
		}))
		return s.ref
	}
	if _, err := c.elect(name, electionConfig{work: fn, between: between, afterReturn: Hold, afterFailure: Hold}); err != nil {
		return nil, err
	}
	return s, nil
}

// Name returns the name for which the schedule contends.
func (s *Schedule) Name() string { return s.election.Name() }

// Term returns the term under which the schedule runs now, or nil.
func (s *Schedule) Term() *Term { return s.election.Term() }

// Done returns a channel that is closed once the schedule has stopped, its last run
// has returned and its lease is free.
func (s *Schedule) Done() <-chan struct{} { return s.election.Done() }

// Stop ends the schedule. It cancels a run that is under way and waits for it, as
// [Election.Stop] does for a task.
func (s *Schedule) Stop(ctx context.Context) error { return s.election.Stop(ctx) }

// StepDown lets another client go on with the schedule, and contends again after
// cooldown; see [Election.StepDown].
func (s *Schedule) StepDown(ctx context.Context, cooldown time.Duration) error {
	return s.election.StepDown(ctx, cooldown)
}

// ScheduleSnapshot is what an operator sees of the schedule of Name. It is immutable.
// The counts are of this client.
type ScheduleSnapshot struct {
	Name    string
	Status  Status        // of its election
	Token   uint64        // of its term; 0 while it has none
	Running bool          // a run is under way
	Next    time.Time     // when the next run is due; zero while one runs, or this client does not lead
	Last    time.Time     // when the last run began; zero if there was none
	Took    time.Duration // the last run that has returned
	Runs    int           // that have begun
	Failed  int           // of them
	Skipped int           // ticks without a run of their own, since others ran or the machine slept
	LastErr error         // of the last run, or note, that failed; nil if none did
}

// Snapshot returns the schedule's state, without waiting for anything.
func (s *Schedule) Snapshot() ScheduleSnapshot {
	e, v := s.election.view.Load(), s.view.Load()
	snap := ScheduleSnapshot{
		Name: e.Name, Status: e.Status, Running: v.State == schedule.Running || v.State == schedule.Leaving,
		Took: v.Took, Runs: v.Runs, Failed: v.Failed, Skipped: v.Skipped, LastErr: v.LastErr,
	}
	if e.Term != nil {
		snap.Token = e.Term.Token()
	}
	// Times are for people, and those of people's clocks.
	now, instant := time.Now(), s.election.client.system.Clock().Now()
	onTheWall := func(i actor.Instant) time.Time { return now.Add(i.Sub(instant)).Round(time.Millisecond) }
	if v.Next != 0 {
		snap.Next = onTheWall(v.Next)
	}
	if v.Runs > 0 {
		snap.Last = onTheWall(v.Last)
	}
	return snap
}
