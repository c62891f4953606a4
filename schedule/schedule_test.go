package schedule_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// rig is a schedule in a simulated world, whose election and host are played by the
// test.
type rig struct {
	t      *testing.T
	world  *sim.World
	node   *sim.Node
	ref    actor.Ref
	view   atomic.Pointer[schedule.Snapshot]
	wall   time.Duration // by which the wall clock is ahead of the node's, which began at noon
	begun  actor.Instant
	lasts  time.Duration // of a run
	tidies time.Duration // of a run, once it is cancelled
	fails  error         // what a run returns
	token  uint64
	term   *term.Term

	host     actor.Ref
	running  int // counts the run that runs
	runs     int
	starts   []time.Duration // of runs, since the begin
	exits    []error         // that the election has heard of
	answers  []any           // that the election got, other than those
	events   []observe.Event
	reported []error
}

func newRig(t *testing.T, w schedule.When, delay, jitter time.Duration) *rig {
	return newRigOn(t, w, schedule.Options{Delay: delay, Jitter: jitter}, nil)
}

func newRigOn(t *testing.T, w schedule.When, o schedule.Options, notes actor.Behavior) *rig {
	plan, err := schedule.NewPlan("report", w, o)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, world: sim.NewWorld(sim.Random(1))}
	r.world.OnReport = func(_ actor.Ref, err error) { r.reported = append(r.reported, err) }
	r.node = r.world.NewNode("n", time.Hour, 1)
	r.host = r.node.Spawn("host", actor.BehaviorFunc(r.act))
	r.begun = r.node.Now()
	var store actor.Ref
	if notes != nil {
		store = r.node.Spawn("backend", notes)
	}
	r.ref = r.node.Spawn("schedule", schedule.New(schedule.Config{
		Name: "report", Plan: plan, Host: r.host, Wall: r.wallClock, View: &r.view,
		Backend: store, Timeout: 3 * second, Pause: second,
		Sink: func(e observe.Event) { r.events = append(r.events, e) },
	}))
	return r
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (r *rig) wallClock() schedule.Moment {
	return schedule.Moment(noon.Add(r.node.Now().Sub(r.begun) + r.wall).UnixNano())
}

type (
	returns struct {
		number  int
		replyTo actor.Ref
		term    *term.Term
	}
	// election side
	inbox struct{ r *rig }
)

// act is the host.
func (r *rig) act(ctx actor.Context, msg actor.Message) {
	switch m := msg.(type) {
	case election.StartTask:
		if r.running != 0 {
			r.t.Error("two runs overlap")
		}
		if !m.Term.Valid() {
			r.t.Error("a run starts under a term that is over")
		}
		r.runs++
		r.running = r.runs
		r.starts = append(r.starts, ctx.Now().Sub(r.begun))
		ctx.After(r.lasts, returns{r.runs, m.ReplyTo, m.Term})
	case election.CancelTask:
		if r.running != 0 && m.Term == r.term {
			ctx.After(r.tidies, returns{r.running, r.ref, m.Term})
		}
	case returns:
		if m.number == r.running {
			r.running = 0
			ctx.Send(m.replyTo, election.TaskExited{Term: m.term, Err: r.fails})
		}
	case election.RunElected:
		ctx.Send(m.ReplyTo, election.CallbackDone{Term: m.Term})
	case election.RunRevoked:
		ctx.Send(m.ReplyTo, election.CallbackDone{Term: m.Term})
	}
}

// Tell is the election.
func (b inbox) Tell(msg actor.Message) {
	r := b.r
	if m, ok := msg.(election.TaskExited); ok {
		if r.running != 0 {
			r.t.Error("the election hears that the task has exited, and a run has not returned")
		}
		if m.Term != r.term {
			r.t.Errorf("the election hears of the term %v", m.Term)
		}
		r.exits = append(r.exits, m.Err)
		return
	}
	r.answers = append(r.answers, msg)
}

func (inbox) String() string { return "election" }

// lead begins a term that lasts.
func (r *rig) lead(lasts time.Duration) {
	r.token++
	r.term = term.New("report", "s", r.token, term.NewDeadline(r.node, r.node.Now().Add(lasts)))
	r.ref.Tell(election.StartTask{ReplyTo: inbox{r}, Term: r.term})
	r.world.RunFor(0)
}

func (r *rig) cancel(reason term.Reason) {
	r.ref.Tell(election.CancelTask{Term: r.term, Reason: reason})
	r.world.RunFor(0)
}

func (r *rig) sleep(d time.Duration) { r.world.RunFor(d) }

func (r *rig) wantStarts(want ...time.Duration) {
	r.t.Helper()
	if !slices.Equal(r.starts, want) {
		r.t.Errorf("runs begin at %v, want %v", r.starts, want)
	}
}

func (r *rig) wantState(want schedule.State) {
	r.t.Helper()
	if got := r.view.Load().State; got != want {
		r.t.Errorf("it is %v, want %v", got, want)
	}
}

func (r *rig) wantExits(n int) {
	r.t.Helper()
	if len(r.exits) != n {
		r.t.Errorf("the election has heard of %d exits, want %d", len(r.exits), n)
	}
}

// clean says that nothing was reported.
func (r *rig) clean() {
	r.t.Helper()
	if len(r.reported) > 0 {
		r.t.Errorf("reported: %v", errors.Join(r.reported...))
	}
}

const (
	second = time.Second
	minute = time.Minute
)

func TestEvery(t *testing.T) {
	r := newRig(t, schedule.Every(30*second), 0, 0)
	r.lasts = 5 * second
	r.sleep(minute)
	r.wantStarts()
	r.lead(time.Hour)
	r.wantState(schedule.Running)
	r.sleep(2 * minute)
	r.wantStarts(60*second, 95*second, 130*second, 165*second) // a pause of 30 s between two
	r.wantState(schedule.Waiting)
	if v := r.view.Load(); v.Runs != 4 || v.Took != 5*second || v.Next != r.begun.Add(200*second) || v.Last != r.begun.Add(165*second) {
		t.Errorf("the snapshot is %+v", v)
	}
	r.clean()
}

func TestInitialDelay(t *testing.T) {
	r := newRig(t, schedule.Every(30*second), 20*second, 0)
	r.lead(time.Hour)
	r.sleep(51 * second)
	r.wantStarts(20*second, 50*second)
	r.cancel(term.SteppedDown)
	r.lead(time.Hour) // each term has its own
	r.sleep(21 * second)
	r.wantStarts(20*second, 50*second, 71*second)
	r.clean()
}

// TestRate keeps its rhythm, and makes up for what passes during a run by one run.
func TestRate(t *testing.T) {
	r := newRig(t, schedule.Rate(10*second), 0, 0)
	r.lasts = 3 * second
	r.lead(time.Hour)
	r.sleep(21 * second)
	r.wantStarts(0, 10*second, 20*second)
	r.lasts = 36 * second // from the tick at 30 s to 66 s: those at 40, 50 and 60 s pass
	r.sleep(20 * second)
	r.lasts = 1 * second
	r.sleep(32 * second)
	r.wantStarts(0, 10*second, 20*second, 30*second, 66*second, 70*second)
	if v := r.view.Load(); v.Skipped != 2 {
		t.Errorf("%d ticks are skipped, want 2", v.Skipped)
	}
	if !slices.Contains(r.events, observe.Event(observe.TicksSkipped{Name: "report", Token: 1, Ticks: 2})) {
		t.Errorf("the events are %v", r.events)
	}
	r.clean()
}

// TestJitter delays each run by itself; the rhythm stays.
func TestJitter(t *testing.T) {
	r := newRig(t, schedule.Rate(10*second), 0, 4*second)
	r.lead(time.Hour)
	r.sleep(10 * minute)
	if len(r.starts) < 59 {
		t.Fatalf("%d runs", len(r.starts))
	}
	different := make(map[time.Duration]bool)
	for i, at := range r.starts {
		late := at - time.Duration(i)*10*second
		if late < 0 || late >= 4*second {
			t.Errorf("run %d begins %v after its tick", i, late)
		}
		different[late] = true
	}
	if len(different) < 50 {
		t.Errorf("only %d different delays", len(different))
	}
	r.clean()
}

func TestCron(t *testing.T) {
	r := newRig(t, schedule.Cron("*/10 * * * *", "UTC"), 0, 0)
	r.sleep(minute)
	r.lead(2 * time.Hour)
	r.wantState(schedule.Waiting)
	r.sleep(30 * minute)
	r.wantStarts(10*minute, 20*minute, 30*minute)
	if v := r.view.Load(); v.Next != r.begun.Add(40*minute) {
		t.Errorf("the next run is at %v", v.Next.Sub(r.begun))
	}
	r.clean()
}

// TestCronDuringARun: ticks that pass have one run when that has returned.
func TestCronDuringARun(t *testing.T) {
	r := newRig(t, schedule.Cron("*/10 * * * *", "UTC"), 0, 0)
	r.lasts = 35 * minute
	r.lead(100 * time.Hour) // at a tick
	r.sleep(34 * minute)
	r.wantStarts(0)
	r.lasts = minute
	r.sleep(11 * minute)
	r.wantStarts(0, 35*minute, 40*minute) // that at 35 min is for those at 10, 20 and 30
	if v := r.view.Load(); v.Skipped != 2 {
		t.Errorf("%d ticks are skipped, want 2", v.Skipped)
	}
	r.clean()
}

// TestCronWhenClocksChange: 02:30 in Berlin comes once a day, also where the leader
// changes between the two of an autumn night.
func TestCronWhenClocksChange(t *testing.T) {
	for _, tt := range []struct {
		what  string
		begin time.Time
		want  []time.Duration // after that
	}{
		{"spring", time.Date(2026, 3, 28, 1, 0, 0, 0, time.UTC), []time.Duration{
			30 * minute,              // 02:30 +01:00
			24 * time.Hour,           // 03:00 +02:00, at the end of the gap
			47*time.Hour + 30*minute, // 02:30 +02:00
		}},
		{"autumn", time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC), []time.Duration{
			30 * minute,              // 02:30 +02:00
			24*time.Hour + 30*minute, // 02:30 +02:00, and not an hour later
			49*time.Hour + 30*minute, // 02:30 +01:00
		}},
	} {
		for _, durable := range []bool{false, true} {
			b := &notebook{}
			r := newRigOn(t, schedule.Cron("30 2 * * *", "Europe/Berlin"), schedule.Options{Durable: durable}, b)
			b.r = r
			r.wall = tt.begin.Sub(noon)
			r.lead(100 * time.Hour)
			r.sleep(25 * time.Hour) // between the two
			r.cancel(term.SteppedDown)
			r.lead(100 * time.Hour)
			r.sleep(25 * time.Hour)
			r.wantStarts(tt.want...)
			r.clean()
		}
	}
}

// TestCronWithJitter draws once for each tick, however often it looks.
func TestCronWithJitter(t *testing.T) {
	r := newRig(t, schedule.Cron("0 * * * *", "UTC"), 0, 20*minute)
	r.lead(100 * time.Hour)
	r.sleep(50*time.Hour + 30*minute)
	if len(r.starts) != 51 {
		t.Errorf("%d runs", len(r.starts))
	}
	var late time.Duration
	for i, at := range r.starts {
		late += at - time.Duration(i)*time.Hour
	}
	if mean := late / time.Duration(len(r.starts)); mean < 7*minute || mean > 13*minute {
		t.Errorf("runs begin %v late on average", mean)
	}
	r.clean()
}

// TestCronAndTheWallClock: that it is set is noticed at the next look.
func TestCronAndTheWallClock(t *testing.T) {
	r := newRig(t, schedule.Cron("0 * * * *", "UTC"), 0, 0)
	r.lead(100 * time.Hour)
	r.sleep(10 * minute)
	r.wall = 55 * minute // 13:05, past the tick at 13:00
	r.sleep(minute)
	r.wantStarts(0, 10*minute+30*second)
	r.wall = 0 // 12:11 again: 13:00 has had its run
	r.sleep(2*time.Hour - 11*minute)
	r.wantStarts(0, 10*minute+30*second, 2*time.Hour)
	r.wall = -10 * time.Hour // 04:00: set anew
	r.sleep(61 * minute)
	r.wantStarts(0, 10*minute+30*second, 2*time.Hour, 3*time.Hour)
	r.wall = 0
	r.sleep(minute) // 15:02; the ticks from 06:00 on are made up for by one
	if n := len(r.starts); n != 5 {
		t.Errorf("%d runs begin at %v", n, r.starts)
	}
	if v := r.view.Load(); v.Skipped != 9 {
		t.Errorf("%d ticks are skipped, want 9", v.Skipped)
	}
	r.clean()
}

// TestSleep: timers do not count it, and one run makes up for the ticks.
func TestSleep(t *testing.T) {
	for _, tt := range []struct {
		when    schedule.When
		skipped int
	}{{schedule.Every(10 * minute), 0}, {schedule.Rate(10 * minute), 11}, {schedule.Cron("*/10 * * * *", "UTC"), 11}} {
		r := newRig(t, tt.when, 0, 0)
		r.lead(100 * time.Hour)
		r.sleep(minute)
		r.node.Suspend()
		r.sleep(2 * time.Hour)
		r.node.Wake()
		r.sleep(schedule.LookEvery)
		if v := r.view.Load(); len(r.starts) != 2 || v.Skipped != tt.skipped {
			t.Errorf("%v: runs begin at %v, %d ticks are skipped", tt.when, r.starts, v.Skipped)
		}
		r.clean()
	}
}

// TestFailure is told, and does not stop the later runs.
func TestFailure(t *testing.T) {
	r := newRig(t, schedule.Rate(10*second), 0, 0)
	r.fails = errors.New("no paper")
	r.lead(time.Hour)
	r.sleep(10 * second)
	r.fails = nil
	r.sleep(10 * second)
	r.wantStarts(0, 10*second, 20*second)
	if v := r.view.Load(); v.Failed != 2 || v.Runs != 3 || v.LastErr == nil || v.LastErr.Error() != "no paper" {
		t.Errorf("the snapshot is %+v", v)
	}
	if e, ok := r.events[1].(observe.RunEnded); !ok || e.Err == nil {
		t.Errorf("the events are %v", r.events)
	}
	r.clean()
}

// TestCancelWhileWaiting: the task has exited at once (R32).
func TestCancelWhileWaiting(t *testing.T) {
	for _, when := range []schedule.When{schedule.Every(10 * second), schedule.Rate(10 * second), schedule.Cron("* * * * *", "UTC")} {
		r := newRig(t, when, 0, 0)
		r.lead(time.Hour)
		r.sleep(5 * second)
		n := len(r.starts)
		r.cancel(term.SteppedDown)
		r.wantState(schedule.Idle)
		r.wantExits(1)
		r.sleep(10 * minute)
		if len(r.starts) != n {
			t.Errorf("%v: it goes on", when)
		}
		r.clean()
	}
}

// TestCancelDuringARun: the task has exited when the run has, and not before (R32).
func TestCancelDuringARun(t *testing.T) {
	r := newRig(t, schedule.Rate(10*second), 0, 0)
	r.lasts, r.tidies = minute, 7*second
	r.lead(time.Hour)
	r.sleep(5 * second)
	r.cancel(term.Stopped)
	r.wantState(schedule.Leaving)
	r.cancel(term.TakenOver) // the term is lost meanwhile
	r.wantState(schedule.Leaving)
	r.sleep(6 * second)
	r.wantExits(0)
	r.sleep(second)
	r.wantExits(1)
	r.wantState(schedule.Idle)
	r.lasts = second
	r.lead(time.Hour)
	r.sleep(5 * second)
	r.wantStarts(0, 12*second)
	r.clean()
}

// TestLossThatIsNotToldYet: nothing starts under a term that is over.
func TestLossThatIsNotToldYet(t *testing.T) {
	for _, when := range []schedule.When{schedule.Every(10 * second), schedule.Rate(10 * second), schedule.Cron("* * * * *", "UTC")} {
		r := newRig(t, when, 0, 0)
		r.lead(5 * second)
		r.sleep(10 * minute)
		if len(r.starts) != 1 {
			t.Errorf("%v: runs begin at %v", when, r.starts)
		}
		r.wantState(schedule.Waiting)
		r.cancel(term.DeadlinePassed)
		r.wantExits(1)
		r.lead(time.Hour)
		r.sleep(minute)
		if len(r.starts) < 2 {
			t.Errorf("%v: it does not run in the next term", when)
		}
		r.clean()
	}
}

// TestStrayMessages change nothing: of another term, or of no use any more.
func TestStrayMessages(t *testing.T) {
	r := newRig(t, schedule.Every(10*second), 0, 0)
	r.lasts = second
	other := term.New("report", "s", 99, term.NewDeadline(r.node, actor.MaxInstant))
	stray := func() {
		for _, msg := range []actor.Message{
			election.CancelTask{Term: other, Reason: term.Stopped}, election.TaskExited{Term: other}, "what?",
		} {
			r.ref.Tell(msg)
		}
		for _, msg := range schedule.Stray() {
			r.ref.Tell(msg)
		}
		r.world.RunFor(0)
	}
	stray()
	r.lead(time.Hour)
	stray()
	r.sleep(2 * second)
	stray()
	r.cancel(term.Stopped)
	stray()
	r.wantExits(1)
	r.wantStarts(0)
	r.clean()
}

// TestCallbacksPass to the host, and its answers to the election.
func TestCallbacksPass(t *testing.T) {
	r := newRig(t, schedule.Every(10*second), 0, 0)
	tm := term.New("report", "s", 1, term.NewDeadline(r.node, actor.MaxInstant))
	r.ref.Tell(election.RunElected{ReplyTo: inbox{r}, Term: tm})
	r.ref.Tell(election.RunRevoked{ReplyTo: inbox{r}, Term: tm, Reason: term.Stopped})
	r.sleep(second)
	if want := []any{election.CallbackDone{Term: tm}, election.CallbackDone{Term: tm}}; !slices.Equal(r.answers, want) {
		t.Errorf("the answers are %v", r.answers)
	}
	r.clean()
}

// TestSecondTask at once is a bug of the election, and is reported.
func TestSecondTask(t *testing.T) {
	r := newRig(t, schedule.Every(10*second), 0, 0)
	r.lead(time.Hour)
	r.lead(time.Hour)
	if len(r.reported) != 1 || !strings.Contains(r.reported[0].Error(), "machine schedule has no event lead") {
		t.Errorf("reported: %v", r.reported)
	}
}

// TestWallClockThatPanics is reported, and looked at again.
func TestWallClockThatPanics(t *testing.T) {
	r := newRig(t, schedule.Cron("* * * * *", "UTC"), 0, 0)
	r.begun = r.begun.Add(-30 * second)
	broken := true
	plan, _ := schedule.NewPlan("report", schedule.Cron("* * * * *", "UTC"), schedule.Options{})
	r.ref = r.node.Spawn("another", schedule.New(schedule.Config{
		Name: "report", Plan: plan, Host: r.host, View: &r.view, Sink: observe.Discard,
		Wall: func() schedule.Moment {
			if broken {
				panic("no clock")
			}
			return r.wallClock()
		},
	}))
	r.lead(time.Hour)
	r.sleep(second)
	broken = false
	var p *actor.PanicError
	if len(r.reported) != 1 || !errors.As(r.reported[0], &p) {
		t.Errorf("reported: %v", r.reported)
	}
	r.sleep(90 * second)
	r.wantStarts(minute, 2*minute)
}

// TestAbort: with a system that is shut down too early, a schedule that waits says
// that its task has exited, and one that runs cancels the run and says nothing.
func TestAbort(t *testing.T) {
	r := newRig(t, schedule.Every(10*second), 0, 0)
	r.lead(time.Hour)
	r.sleep(second)
	r.node.Stop(r.ref)
	r.sleep(second)
	if len(r.exits) != 1 || r.exits[0] != error(schedule.ErrAborted) {
		t.Errorf("the exits are %v", r.exits)
	}

	r = newRig(t, schedule.Every(10*second), 0, 0)
	r.lasts = minute
	r.lead(time.Hour)
	r.sleep(second)
	r.node.Stop(r.ref)
	r.sleep(second)
	r.wantExits(0)
	if r.running != 0 {
		t.Error("the run is not cancelled")
	}

	r = newRig(t, schedule.Every(10*second), 0, 0)
	r.node.Stop(r.ref)
	r.sleep(second)
	r.wantExits(0)
}
