package simba_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/observe"
)

// journal keeps when runs begin, and sees to it that they do not overlap.
type journal struct {
	t     *testing.T
	begin time.Time
	busy  atomic.Int32
	mu    sync.Mutex
	runs  []string
}

func newJournal(t *testing.T) *journal { return &journal{t: t, begin: time.Now()} }

// run is a function that takes so long, and returns early when it is cancelled.
func (j *journal) run(who string, takes time.Duration) simba.TaskFunc {
	return func(ctx context.Context, term *simba.Term) error {
		if j.busy.Add(1) != 1 {
			j.t.Error("two runs overlap")
		}
		defer j.busy.Add(-1)
		if !term.Valid() {
			j.t.Error("a run begins under a term that is over")
		}
		j.mu.Lock()
		j.runs = append(j.runs, fmt.Sprintf("%s%v", who, time.Since(j.begin)))
		j.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(takes):
			return nil
		}
	}
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.runs, " ")
}

// R45: fixed delay, fixed rate and cron, and what the snapshot says of them.
func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		when simba.When
		opts []simba.ScheduleOption
		want string // of runs of 25 s in two minutes and a half
		next time.Duration
	}{
		{simba.Every(20 * time.Second), nil, "0s 45s 1m30s 2m15s", 0},
		{simba.Rate(20 * time.Second), nil, "0s 25s 50s 1m15s 1m40s 2m5s", 0},
		{simba.Rate(time.Minute), nil, "0s 1m0s 2m0s", 3 * time.Minute},
		{simba.Rate(time.Minute), []simba.ScheduleOption{simba.InitialDelay(10 * time.Second)}, "10s 1m10s 2m10s", 0},
		// The clock of a virtual test begins at midnight, which is a tick.
		{simba.Cron("* * * * *", "Europe/Berlin"), nil, "0s 1m0s 2m0s", 3 * time.Minute},
		{simba.Cron("*/2 * * * *", "UTC"), []simba.ScheduleOption{simba.InitialDelay(time.Second)}, "2m0s", 4 * time.Minute},
	} {
		t.Run(fmt.Sprint(tt.when), func(t *testing.T) {
			virtual(t, func(t *testing.T, w *world) {
				p := w.start()
				j := newJournal(t)
				s := must(p.Schedule("report", tt.when, j.run("", 25*time.Second), tt.opts...))
				time.Sleep(150*time.Second - time.Nanosecond)
				synctest.Wait()
				if j.String() != tt.want {
					t.Errorf("runs begin at %s, want %s", j, tt.want)
				}
				v := s.Snapshot()
				if tt.next == 0 && (!v.Next.IsZero() || !v.Running) {
					t.Errorf("%+v", v)
				}
				if tt.next != 0 && (!v.Next.Equal(j.begin.Add(tt.next)) || v.Running || v.Took != 25*time.Second) {
					t.Errorf("%+v", v)
				}
				runs := strings.Fields(tt.want)
				if last := v.Last.Sub(j.begin).String(); v.Runs != len(runs) || last != runs[len(runs)-1] || v.Token != s.Term().Token() || v.Status != simba.StatusLeader {
					t.Errorf("%+v", v)
				}
				all := p.Snapshot()
				if len(all.Schedules) != 1 || all.Schedules[0] != v || len(all.Elections) != 1 {
					t.Errorf("%+v", all)
				}
				s.Stop(t.Context())
				if v := s.Snapshot(); v.Running || v.Status != simba.StatusStopped || v.Token != 0 || !v.Next.IsZero() {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}

// R45, R43: a run that fails, panics or ends its goroutine is told of, and the next
// one comes.
func TestScheduleGoesOnAfterFailures(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		var b book
		p := w.start(simba.WithLogger(b.logger(slog.LevelWarn)))
		var n atomic.Int32
		s := must(p.Schedule("report", simba.Rate(time.Minute), func(context.Context, *simba.Term) error {
			switch n.Add(1) {
			case 1:
				return errors.New("no paper")
			case 2:
				panic("no ink")
			}
			return nil
		}))
		time.Sleep(150 * time.Second)
		v := s.Snapshot()
		var pe *simba.PanicError
		if v.Runs != 3 || v.Failed != 2 || !errors.As(v.LastErr, &pe) {
			t.Errorf("%+v", v)
		}
		ended := of[observe.RunEnded](p.events)
		if len(ended) != 3 || ended[0].Err.Error() != "no paper" || ended[1].Err == nil || ended[2].Err != nil || len(of[observe.RunStarted](p.events)) != 3 {
			t.Errorf("%+v", ended)
		}
		if log := b.String(); !strings.Contains(log, `msg="simba: a run of a schedule failed" name=report err="no paper"`) ||
			!strings.Contains(log, "simba: a run of a schedule panicked") {
			t.Errorf("logged %s", log)
		}
	})
}

// R32: the next leader's run begins when the old one's has returned.
func TestScheduleHandsOver(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		j := newJournal(t)
		tidies := func(ctx context.Context, term *simba.Term) error {
			if j.busy.Add(1) != 1 {
				t.Error("two runs overlap")
			}
			defer j.busy.Add(-1)
			<-ctx.Done()
			if context.Cause(ctx) != simba.ErrHandover || !term.Valid() {
				t.Errorf("the cause is %v, the term is valid: %v", context.Cause(ctx), term.Valid())
			}
			time.Sleep(3 * time.Second)
			return nil
		}
		sa := must(a.Schedule("report", simba.Every(time.Minute), tidies))
		time.Sleep(time.Second)
		sb := must(b.Schedule("report", simba.Every(time.Minute), j.run("b", time.Second)))
		time.Sleep(time.Second)
		if err := sa.StepDown(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if want := "b5s"; j.String() != want {
			t.Errorf("runs begin at %s, want %s", j, want)
		}
		if v := sa.Snapshot(); v.Status != simba.StatusCandidate || v.Running || !v.Next.IsZero() {
			t.Errorf("%+v", v)
		}
		begin := time.Now()
		if err := sb.Stop(t.Context()); err != nil { // while nothing runs
			t.Error(err)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("Stop between two runs took %v", took)
		}
	})
}

// R31: a run that does not heed its context keeps its own client from leading again,
// and nobody else.
func TestScheduleLosesItsTerm(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		goOn := make(chan struct{})
		var runs atomic.Int32
		s := must(a.Schedule("report", simba.Every(time.Second), func(context.Context, *simba.Term) error {
			if runs.Add(1) == 1 {
				<-goOn
			}
			return nil
		}))
		synctest.Wait()
		lost := s.Term()
		a.way.set(cut)
		<-lost.Done()
		j := newJournal(t)
		other := must(b.Schedule("report", simba.Every(time.Minute), j.run("b", time.Second)))
		a.way.heal()
		time.Sleep(2 * lease)
		if j.String() == "" || len(of[observe.TaskOverrunning](a.events)) != 1 {
			t.Errorf("runs begin at %s, %d overrun", j, len(of[observe.TaskOverrunning](a.events)))
		}
		other.Stop(t.Context())
		time.Sleep(2 * lease)
		if h := w.holder("report"); h.Held || runs.Load() != 1 {
			t.Errorf("it is held by %s, %d runs", h.Label, runs.Load())
		}
		close(goOn)
		time.Sleep(2 * lease)
		if runs.Load() < 2 || s.Term() == nil || s.Term().Token() <= lost.Token() {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

// Durable: no tick is run twice, and those that came while nobody led have one run,
// whether the leader hands over or dies.
func TestDurableSchedule(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		a, b := w.start(), w.start()
		j := newJournal(t)
		daily := simba.Cron("0 3 * * *", "UTC")
		sa := must(a.Schedule("report", daily, j.run("a", time.Minute), simba.Durable()))
		synctest.Wait()
		sb := must(b.Schedule("report", daily, j.run("b", time.Minute), simba.Durable()))
		time.Sleep(3*time.Hour + 30*time.Second)
		sa.StepDown(t.Context(), 24*time.Hour) // during the run of today, which is not repeated
		time.Sleep(24*time.Hour - time.Minute - 30*time.Second)
		sa.StepDown(t.Context(), time.Hour)
		b.way.set(cut) // a minute before three, b dies, and a does not contend
		time.Sleep(2 * time.Minute)
		if want := "a3h0m0s"; j.String() != want {
			t.Errorf("runs begin at %s, want %s", j, want)
		}
		time.Sleep(2 * time.Hour)
		runs := strings.Fields(j.String())
		if len(runs) != 2 || !strings.HasPrefix(runs[1], "a") {
			t.Errorf("runs begin at %s", j)
		}
		b.way.heal()
		sb.Stop(t.Context())
		if v := sa.Snapshot(); v.Runs != 2 || v.Failed != 1 || v.Skipped != 0 { // the first was cancelled
			t.Errorf("%+v", v)
		}
	})
}

// A durable rate keeps its rhythm, and the note is the store's.
func TestDurableRate(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		j := newJournal(t)
		for _, who := range []string{"a", "b", "c"} {
			p := w.start()
			must(p.Schedule("report", simba.Rate(time.Minute), j.run(who, time.Second), simba.Durable()))
			time.Sleep(95 * time.Second)
			p.Close(t.Context())
		}
		if want := "a0s a1m0s b2m0s b3m0s c4m0s"; j.String() != want {
			t.Errorf("runs begin at %s, want %s", j, want)
		}
	})
}

// A store that keeps no notes is refused, by field, and so is Every.
func TestDurableErrors(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := must(simba.Open(t.Context(), struct{ simba.Store }{w.store}, simba.WithClock(w.clock), simba.WithLogger(discard)))
		defer p.Close(t.Context())
		work := func(context.Context, *simba.Term) error { return nil }
		for when, want := range map[simba.When]string{
			simba.Rate(time.Minute):  `simba: the durability of schedule "report": this store keeps no notes, which it needs; leave Durable out, or use another store`,
			simba.Every(time.Minute): `simba: the durability of schedule "report": Every has none, for it goes by the end of the last run; use Rate or Cron`,
		} {
			_, err := p.Schedule("report", when, work, simba.Durable())
			var e *simba.ScheduleError
			if !errors.As(err, &e) || e.Field != simba.FieldDurable || err.Error() != want {
				t.Errorf("the error is %v", err)
			}
		}
		must(p.Schedule("report", simba.Rate(time.Minute), work))
	})
}

// R40: from within a run, with its context or without.
func TestScheduleCallsFromWithin(t *testing.T) {
	for what, call := range map[string]func(context.Context, *process, *simba.Schedule) error{
		"Stop":     func(ctx context.Context, _ *process, s *simba.Schedule) error { return s.Stop(ctx) },
		"StepDown": func(ctx context.Context, _ *process, s *simba.Schedule) error { return s.StepDown(ctx, time.Hour) },
		"Close":    func(ctx context.Context, p *process, _ *simba.Schedule) error { return p.Close(ctx) },
	} {
		for _, background := range []bool{false, true} {
			t.Run(fmt.Sprint(what, background), func(t *testing.T) {
				virtual(t, func(t *testing.T, w *world) {
					p := w.start()
					known := make(chan struct{})
					var s *simba.Schedule
					var runs atomic.Int32
					s = must(p.Schedule("report", simba.Every(time.Second), func(ctx context.Context, _ *simba.Term) error {
						<-known
						runs.Add(1)
						if background {
							ctx = context.Background()
						}
						return call(ctx, p, s)
					}))
					begin := time.Now()
					close(known)
					synctest.Wait()
					if what != "StepDown" {
						within(t, time.Second, "the end of the schedule", s.Done())
					}
					if s.Term() != nil || time.Since(begin) != 0 {
						t.Errorf("after %v: %+v", time.Since(begin), s.Snapshot())
					}
					time.Sleep(time.Minute)
					if runs.Load() != 1 {
						t.Errorf("%d runs", runs.Load())
					}
				})
			})
		}
	}
}

// R36: Close waits for a run.
func TestCloseWaitsForARun(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		var returned atomic.Bool
		must(p.Schedule("report", simba.Every(time.Second), func(ctx context.Context, _ *simba.Term) error {
			<-ctx.Done()
			time.Sleep(2 * time.Second)
			returned.Store(true)
			return nil
		}))
		synctest.Wait()
		if err := p.Close(t.Context()); err != nil || !returned.Load() {
			t.Errorf("%v, the run has returned: %v", err, returned.Load())
		}
		if w.holder("report").Held {
			t.Error("the lease is held")
		}
		if _, err := p.Schedule("report", simba.Every(time.Second), func(context.Context, *simba.Term) error { return nil }); !errors.Is(err, simba.ErrClosed) {
			t.Errorf("after Close the error is %v", err)
		}
	})
}

// What is wrong is said by field.
func TestScheduleErrors(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		work := func(context.Context, *simba.Term) error { return nil }
		var fields func(err error) []simba.ScheduleField
		fields = func(err error) (got []simba.ScheduleField) {
			switch err := err.(type) {
			case *simba.ScheduleError:
				got = append(got, err.Field)
			case interface{ Unwrap() []error }:
				for _, err := range err.Unwrap() {
					got = append(got, fields(err)...)
				}
			}
			return got
		}
		for _, tt := range []struct {
			when simba.When
			fn   simba.TaskFunc
			opts []simba.ScheduleOption
			want []simba.ScheduleField
		}{
			{simba.When{}, work, nil, []simba.ScheduleField{simba.FieldWhen}},
			{simba.Every(0), work, nil, []simba.ScheduleField{simba.FieldInterval}},
			{simba.Cron("0 3 * *", "Mars/Olympus"), work, nil, []simba.ScheduleField{simba.FieldCron, simba.FieldZone}},
			{simba.Every(1), nil, nil, []simba.ScheduleField{simba.FieldFunction}},
			{simba.Every(1), work, []simba.ScheduleOption{nil}, []simba.ScheduleField{simba.FieldOption}},
			{simba.Rate(-1), nil, []simba.ScheduleOption{simba.InitialDelay(-1), simba.Jitter(-1)},
				[]simba.ScheduleField{simba.FieldInterval, simba.FieldDelay, simba.FieldJitter, simba.FieldFunction}},
		} {
			_, err := p.Schedule("report", tt.when, tt.fn, tt.opts...)
			if got := fields(err); !slices.Equal(got, tt.want) {
				t.Errorf("%v: %v, want %v", err, got, tt.want)
			}
			if (simba.CheckSchedule(tt.when, tt.opts...) == nil) != (len(tt.want) == 1 && tt.want[0] == simba.FieldFunction) {
				t.Errorf("CheckSchedule says %v", simba.CheckSchedule(tt.when, tt.opts...))
			}
		}
		var name *simba.NameError
		if _, err := p.Schedule("a b", simba.Every(1), work); !errors.As(err, &name) {
			t.Errorf("the error is %v", err)
		}
		must(p.Elect("taken", simba.Listener{}))
		var inUse *simba.InUseError
		if _, err := p.Schedule("taken", simba.Every(1), work); !errors.As(err, &inUse) {
			t.Errorf("the error is %v", err)
		}
		if s := p.Snapshot(); len(s.Schedules) != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// In real time: many schedules of several clients, which hand over to each other.
func TestSchedulesInRealTime(t *testing.T) {
	w := real(t)
	clients := []*process{w.start(), w.start(), w.start()}
	const names = 8
	var busy, runs [names]atomic.Int32
	var all []*simba.Schedule
	for _, p := range clients {
		for i := range names {
			when := []simba.When{simba.Every(time.Millisecond), simba.Rate(2 * time.Millisecond)}[i%2]
			all = append(all, must(p.Schedule(fmt.Sprint("n", i), when, func(ctx context.Context, term *simba.Term) error {
				if busy[i].Add(1) != 1 {
					t.Error("two runs overlap")
				}
				defer busy[i].Add(-1)
				runs[i].Add(1)
				if i%3 == 0 {
					<-ctx.Done() // until it is to hand over
				}
				return nil
			})))
		}
	}
	for round := range 3 {
		for i := range names {
			was := runs[i].Load()
			eventually(t, "another run", func() bool { return runs[i].Load() > was || i%3 == 0 && was > 0 })
		}
		for _, s := range all {
			if s.Term() != nil {
				if err := s.StepDown(t.Context(), time.Duration(round)*time.Millisecond); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, s := range all {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
