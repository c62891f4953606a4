package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// working is the script of a task.
func working(k sim.Work) sim.Script {
	return sim.Script{Task: func(*term.Term) sim.Work { return k }}
}

// calling is the script of a listener.
func calling(c sim.Call) sim.Script {
	return sim.Script{Callback: func(*term.Term, term.Reason) sim.Call { return c }}
}

// scheduled is the script of a task that runs each second, for so long.
func scheduled(t *testing.T, durable bool, lasts time.Duration) sim.Script {
	return sim.Script{
		Plan: planWith(t, schedule.Rate(time.Second), schedule.Options{Durable: durable}),
		Task: func(*term.Term) sim.Work { return sim.Work{Lasts: max(lasts, time.Millisecond)} },
	}
}

// restarted returns a liar whose backend was configured before its client started.
func restarted(l *liar, c memory.Config) {
	l.client.Crash()
	l.Configure(c)
	l.client.Start()
	l.RunUntil(time.Second, l.client.Live)
}

// dropped loses the next message to the client.
func dropped[M actor.Message](l *liar) {
	l.Net.DropNext(l.Store, l.client.Node, func(msg actor.Message) bool { _, ok := msg.(M); return ok })
}

// TestSituationsAreMet lets each situation come about, and counts it.
func TestSituationsAreMet(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		want  sim.Situation
		times uint64
		do    func(l *liar)
		not   []sim.Situation // not met on the way
	}{
		{sim.TermBegun, 2, func(l *liar) { l.leads(sim.Script{}); l.client.Elect("y", sim.Script{}); l.RunFor(0) }, []sim.Situation{sim.SessionReopened}},
		{sim.TaskFailed, 1, func(l *liar) { l.leads(working(sim.Work{Lasts: time.Second, Err: boom})); l.RunFor(time.Minute) }, []sim.Situation{sim.TaskPanicked}},
		{sim.TaskPanicked, 1, func(l *liar) { l.leads(working(sim.Work{Lasts: time.Second, Panics: true})); l.RunFor(time.Minute) }, []sim.Situation{sim.TaskFailed}},
		{sim.HandoverCut, 1, func(l *liar) {
			e, _ := l.leads(working(sim.Work{Deaf: true}))
			e.StepDown(0)
			l.RunFor(time.Minute)
		}, []sim.Situation{sim.StepDownMeetsExpiry, sim.TaskFailed}},
		{sim.TaskOverran, 1, func(l *liar) {
			l.leads(working(sim.Work{Deaf: true}))
			l.Net.Cut(l.client.Node, l.Store)
			l.RunFor(time.Minute)
		}, []sim.Situation{sim.HandoverCut}},
		{sim.StepDownMeetsExpiry, 1, func(l *liar) {
			e, _ := l.leads(working(sim.Work{Deaf: true}))
			e.StepDown(0)
			l.RunFor(0)
			l.LoseData() // which the session learns of before the handover's time is up
			l.RunFor(params.RenewInterval)
		}, []sim.Situation{sim.HandoverCut, sim.SteppedDown}},
		{sim.CallbackPanicked, 1, func(l *liar) { l.leads(calling(sim.Call{Panics: true})); l.RunFor(0) }, []sim.Situation{sim.CallbackInline}},
		{sim.CallbackInline, 1, func(l *liar) { l.leads(calling(sim.Call{Inline: true})); l.RunFor(0) }, []sim.Situation{sim.CallbackPanicked}},
		{sim.CalledFromInside, 1, func(l *liar) { l.leads(calling(sim.Call{Then: func() {}})); l.RunFor(0) }, nil},
		{sim.CalledFromInside, 1, func(l *liar) { l.leads(working(sim.Work{Then: func() {}})); l.RunFor(0) }, nil},
		{sim.LeaseShortened, 1, func(l *liar) { restarted(l, memory.Config{MaxLease: params.Lease / 2}) }, nil},
		{sim.OpenFailed, 1, func(l *liar) {
			l.client.Crash()
			l.Mood.Errors = 1
			l.client.Start()
			l.RunFor(0)
		}, []sim.Situation{sim.SessionReopened}},
		{sim.SessionReopened, 1, func(l *liar) { l.LoseData(); l.RunFor(params.Lease) }, []sim.Situation{sim.OpenFailed}},
		{sim.DataLost, 1, func(l *liar) { l.LoseData() }, []sim.Situation{sim.LeaseRemoved}},
		{sim.LeaseRemoved, 1, func(l *liar) { l.leads(sim.Script{}); l.RemoveLease("x") }, []sim.Situation{sim.DataLost}},
		{sim.RenewalUnknown, 1, func(l *liar) { dropped[*backend.RenewAnswer](l); l.RunFor(3 * params.RenewInterval) }, []sim.Situation{sim.SessionReopened}},
		{sim.SuspendedAndRecovered, 1, func(l *liar) { dropped[*backend.RenewAnswer](l); l.RunFor(3 * params.RenewInterval) }, nil},
		{sim.AttemptUnknown, 1, func(l *liar) {
			dropped[*backend.AcquireAnswer](l)
			l.leads(sim.Script{})
			l.RunFor(params.RenewInterval)
		}, nil},
		{sim.WinAnswerLost, 1, func(l *liar) { dropped[*backend.AcquireAnswer](l); l.leads(sim.Script{}) }, []sim.Situation{sim.TermBegun}},
		{sim.ReleaseUnknown, 1, func(l *liar) {
			e, _ := l.leads(sim.Script{})
			dropped[*backend.ReleaseAnswer](l)
			e.Stop()
			l.RunFor(params.RenewInterval)
		}, []sim.Situation{sim.RenewalUnknown}},
		{sim.WinAfterStop, 1, func(l *liar) {
			l.Net.Weather.Delay = sim.Constant(time.Millisecond)
			e := l.client.Elect("x", sim.Script{})
			l.RunFor(time.Millisecond)
			e.Stop()
			l.RunFor(time.Second)
		}, []sim.Situation{sim.TermBegun}},
		{sim.LateRelease, 1, func(l *liar) {
			e, _ := l.leads(sim.Script{})
			l.Net.Weather.Delay = sim.Constant(10 * time.Millisecond)
			e.Stop()
			l.RunFor(5 * time.Millisecond)
			l.RemoveLease("x")
			l.lease("another", "x")
			l.RunFor(time.Second)
		}, nil},
		{sim.ExpiryWhilePaused, 1, func(l *liar) { l.client.Pause(); l.RunFor(params.Lease); l.client.Resume() }, []sim.Situation{sim.SuspendedMachine}},
		{sim.ExpiryWhilePaused, 0, func(l *liar) { l.client.Pause(); l.RunFor(params.Lease / 2); l.client.Resume(); l.client.Resume() }, nil},
		{sim.SuspendedMachine, 1, func(l *liar) { l.client.Suspend(); l.RunFor(params.Lease); l.client.Wake() }, []sim.Situation{sim.ExpiryWhilePaused}},
		{sim.SuspendedMachine, 0, func(l *liar) { l.client.Suspend(); l.RunFor(params.Lease / 2); l.client.Wake(); l.client.Wake() }, nil},
		{sim.AnswerAfterDeadline, 2, func(l *liar) { l.Mood.Slow = sim.Constant(params.Lease); l.RunFor(2 * params.Lease) }, nil},
		{sim.TakeoverWhileTaskRuns, 1, func(l *liar) {
			l.leads(working(sim.Work{Deaf: true}))
			l.client.Pause()
			l.NewClient("b", 0, 1).Elect("x", sim.Script{})
			l.RunFor(params.Lease + l.AttemptPeriod())
		}, nil},
		{sim.ScheduleRan, 3, func(l *liar) { l.leads(scheduled(t, false, 0)); l.RunFor(2 * time.Second) }, []sim.Situation{sim.DurableTick, sim.TicksSkipped}},
		{sim.DurableTick, 3, func(l *liar) { l.leads(scheduled(t, true, 0)); l.RunFor(2 * time.Second) }, []sim.Situation{sim.TicksSkipped, sim.TicksHandedOn}},
		{sim.TicksSkipped, 1, func(l *liar) { l.leads(scheduled(t, true, 2500*time.Millisecond)); l.RunFor(4 * time.Second) }, nil},
		{sim.TicksHandedOn, 1, func(l *liar) {
			e, _ := l.leads(scheduled(t, true, 0))
			l.RunFor(time.Millisecond)
			e.StepDown(0)
			l.RunFor(2 * time.Second)
		}, []sim.Situation{sim.NoteTakenBack}},
		{sim.NoteTakenBack, 1, func(l *liar) {
			e, _ := l.leads(scheduled(t, true, 0))
			l.RunFor(500 * time.Millisecond)
			l.Net.Weather.Delay = sim.Constant(10 * time.Millisecond)
			l.RunFor(505 * time.Millisecond) // the second tick is being noted
			e.StepDown(0)
			l.RunFor(100 * time.Millisecond)
		}, []sim.Situation{sim.LateNote}},
		{sim.LateNote, 1, func(l *liar) {
			_, tm := l.leads(scheduled(t, true, 0))
			l.RunFor(3 * time.Second)
			l.sayTo(l.Backend(), &backend.NoteRequest{
				Call: backend.Call{ID: 1, ReplyTo: l.self, Timeout: time.Second}, Session: tm.Session(),
				Lease: backend.Lease{Name: "x", Token: tm.Token()}, Note: backend.Note{Version: 1, Text: "late"},
			})
		}, []sim.Situation{sim.NoteTakenBack}},
	} {
		t.Run(tt.want.String(), func(t *testing.T) {
			l := newInsider()
			tt.do(l)
			if err := l.Err(); err != nil {
				t.Fatal(err)
			}
			if got := l.Monitor.Met[tt.want]; got != tt.times {
				t.Errorf("it was met %d times, want %d", got, tt.times)
			}
			for _, s := range tt.not {
				if got := l.Monitor.Met[s]; got > 0 {
					t.Errorf("%v was met %d times", s, got)
				}
			}
		})
	}
}
