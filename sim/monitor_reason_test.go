package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

var reasons = []term.Reason{term.Stopped, term.SteppedDown, term.DeadlinePassed, term.SessionExpired, term.TakenOver}

// TestMonitorWatchesReasons: a term ends once, for a reason that has occurred.
func TestMonitorWatchesReasons(t *testing.T) {
	var lies []lie
	for _, r := range reasons {
		lies = append(lies, lie{"none: " + r.String(), func(l *liar) {
			_, tm := l.leads(sim.Script{})
			term.End(tm, r)
			if r == term.TakenOver {
				l.say(session.Ended{Term: tm, Reason: r})
				return
			}
			l.revoked(tm, r)
		}, sim.OneReason})
	}
	stopped := func(l *liar) *term.Term {
		e, tm := l.leads(sim.Script{})
		e.Stop()
		l.RunFor(0)
		return tm
	}
	// again overwrites a term that has ended, and makes its client win once more.
	again := func(l *liar, tm *term.Term, token uint64, r term.Reason) {
		*tm = *term.New("x", tm.Session(), token, term.NewDeadline(l.client, 0))
		term.End(tm, r)
		l.leads(sim.Script{})
	}
	tell(t, newInsider, append(lies, []lie{
		{"two: the same", func(l *liar) { l.revoked(stopped(l), term.Stopped) }, sim.OneReason},
		{"two: another", func(l *liar) { l.revoked(stopped(l), term.SteppedDown) }, sim.OneReason},
		{"NONE", func(l *liar) {
			_, tm := l.leads(sim.Script{})
			l.revoked(tm, term.None)
		}, sim.OneReason},
		{"other than the term says", func(l *liar) {
			e, tm := l.leads(sim.Script{})
			e.StepDown(0)
			term.End(tm, term.Stopped)
			l.revoked(tm, term.SteppedDown)
		}, sim.OneReason},
		{"of a term that nobody had", func(l *liar) { l.revoked(l.term("s", "x", 1, 0), term.Stopped) }, sim.OneReason},
		{"of a term that has not ended", func(l *liar) {
			l.Monitor.Tolerate(sim.OneReason)
			_, tm := l.leads(sim.Script{})
			l.revoked(tm, term.Stopped)
		}, sim.EndedIsOver},
		{"changes", func(l *liar) { tm := stopped(l); again(l, tm, tm.Token(), term.SteppedDown) }, sim.OneReason},
		{"stays", func(l *liar) { tm := stopped(l); again(l, tm, tm.Token(), term.Stopped) }, sim.Invariant{}},
		{"stays, and the token does not", func(l *liar) { tm := stopped(l); again(l, tm, tm.Token()+1, term.Stopped) }, sim.TokensGrow},
	}...))
}

// TestReasonsThatOccur lets a term end for each of the reasons, in each of the ways
// that there are.
func TestReasonsThatOccur(t *testing.T) {
	soon := func(p election.Policy) sim.Script {
		return sim.Script{AfterReturn: p, Task: func(*term.Term) sim.Work { return sim.Work{Lasts: time.Second} }}
	}
	for _, tt := range []struct {
		name   string
		script sim.Script
		cause  func(l *liar, e *sim.Election)
		want   term.Reason
	}{
		{"Stop", sim.Script{}, func(_ *liar, e *sim.Election) { e.Stop() }, term.Stopped},
		{"Close", sim.Script{}, func(l *liar, _ *sim.Election) { l.client.Close() }, term.Stopped},
		{"Close of the session alone", sim.Script{}, func(l *liar, _ *sim.Election) {
			l.client.Session.Tell(actor.NewRequest(session.Close{}, &sim.Reply{}))
		}, term.Stopped},
		{"StepDown", sim.Script{}, func(_ *liar, e *sim.Election) { e.StepDown(0) }, term.SteppedDown},
		{"its task has returned, to finish", soon(election.Finish), nil, term.Stopped},
		{"its task has returned, to yield", soon(election.Yield), nil, term.SteppedDown},
		{"its callback was refused", sim.Script{Callback: sim.Quick, Refuse: func(*term.Term) bool { return true }}, nil, term.SteppedDown},
		{"no renewal arrives", sim.Script{}, func(l *liar, _ *sim.Election) { l.Net.Cut(l.client.Node, l.Store) }, term.DeadlinePassed},
		{"the backend has lost its data", sim.Script{}, func(l *liar, _ *sim.Election) { l.LoseData() }, term.SessionExpired},
		{"the lease was removed", sim.Script{}, func(l *liar, _ *sim.Election) { l.RemoveLease("x") }, term.TakenOver},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newInsider()
			e := l.client.Elect("x", tt.script)
			l.RunUntil(time.Second, func() bool { return l.Monitor.Met[sim.TermBegun] > 0 })
			if tt.cause != nil {
				tt.cause(l, e)
			}
			ended := map[term.Reason]sim.Situation{
				term.Stopped: sim.Stopped, term.SteppedDown: sim.SteppedDown, term.DeadlinePassed: sim.DeadlinePassed,
				term.SessionExpired: sim.ExpiredByBackend, term.TakenOver: sim.TakenOver,
			}
			l.RunUntil(params.Lease, func() bool { return l.Monitor.Met[ended[tt.want]] > 0 })
			if err := l.Err(); err != nil {
				t.Fatal(err)
			}
			for r, s := range ended {
				if got, want := l.Monitor.Met[s], r == tt.want; got > 0 != want {
					t.Errorf("%d terms have ended with %v", got, r)
				}
			}
		})
	}
}

// TestMonitorWatchesWhatRenewalsEnd: a renewal ends terms that its answer does not
// list, and that were won before it was sent.
func TestMonitorWatchesWhatRenewalsEnd(t *testing.T) {
	takenOver := func(l *liar, tm *term.Term, r backend.Renewal) {
		l.hear(&backend.RenewAnswer{ID: mine, Renewal: r}, func(ctx actor.Context) {
			term.End(tm, term.TakenOver)
			ctx.Send(l.to, session.Ended{Term: tm, Reason: term.TakenOver})
		})
	}
	gone := backend.Renewal{Complete: true}
	tell(t, newLiar, []lie{
		{"won before", func(l *liar) {
			tm := l.leased("s", "x")
			l.renew(mine, "s")
			takenOver(l, tm, gone)
		}, sim.Invariant{}},
		{"won after", func(l *liar) {
			l.renew(mine, "s")
			takenOver(l, l.leased("s", "x"), gone)
		}, sim.RenewalJudgesBefore},
		{"by a renewal that was given up", func(l *liar) {
			tm := l.leased("s", "x")
			l.renew(mine, "s")
			l.RunFor(time.Second)
			takenOver(l, tm, gone)
		}, sim.RenewalJudgesBefore},
		{"by the answer to another renewal", func(l *liar) {
			tm := l.leased("s", "x")
			l.renew(mine+1, "s")
			takenOver(l, tm, gone)
		}, sim.RenewalJudgesBefore},
		{"by an answer that does not list leases", func(l *liar) {
			tm := l.leased("s", "x")
			l.renew(mine, "s")
			takenOver(l, tm, backend.Renewal{})
		}, sim.OneReason},
		{"by an answer that lists it", func(l *liar) {
			tm := l.leased("s", "x")
			l.renew(mine, "s")
			takenOver(l, tm, backend.Renewal{Complete: true, Leases: []backend.Lease{{Name: "x", Token: tm.Token()}}})
		}, sim.OneReason},
		{"by an answer that lists another token", func(l *liar) {
			tm := l.leased("s", "x")
			l.renew(mine, "s")
			takenOver(l, tm, backend.Renewal{Complete: true, Leases: []backend.Lease{{Name: "x", Token: tm.Token() + 1}}})
		}, sim.Invariant{}},
	})
}

// TestAnswerWaitsWhileTheRateChanges: an answer that has arrived in time is heard when
// its process goes on, whatever has become of the clock meanwhile.
func TestAnswerWaitsWhileTheRateChanges(t *testing.T) {
	l := newInsider()
	_, tm := l.leads(sim.Script{})
	l.Net.Weather.Delay = sim.Constant(10 * time.Millisecond)
	renewed := false
	l.OnSend(func(_, _ actor.Ref, msg actor.Message) {
		_, ok := msg.(*backend.RenewRequest)
		renewed = renewed || ok
	})
	l.RunUntil(params.RenewInterval, func() bool { return renewed })
	l.client.Pause()
	l.RemoveLease("x")
	l.RunFor(params.RenewInterval + time.Second)
	l.client.SetRate(1.005)
	l.RunFor(time.Second)
	l.client.Resume()
	l.RunFor(0)
	if err := l.Err(); err != nil || tm.Reason() != term.TakenOver {
		t.Errorf("the term has ended with %v: %v", tm.Reason(), err)
	}
}
