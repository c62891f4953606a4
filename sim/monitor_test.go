package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// The tests of the monitor break what it watches over, and next to that they do what
// is only just allowed: a check that cannot fail proves nothing, and one that fails
// too often is switched off.

func TestMonitorWatchesTerms(t *testing.T) {
	tell(t, newLiar, []lie{
		{"nothing wrong", func(l *liar) {
			l.leased("s", "x")
			l.RunFor(time.Minute)
			l.leased("s2", "x")
		}, sim.Invariant{}},
		{"two valid terms", func(l *liar) { l.win("s2", "x", l.leased("s", "x").Token()+1, time.Second) }, sim.OneValidTerm},
		{"valid terms of two names", func(l *liar) { l.leased("s", "x"); l.leased("s", "y") }, sim.Invariant{}},
		{"a term without a lease", func(l *liar) {
			l.win("s", "x", 1, time.Second)
			l.poke()
		}, sim.DeadlineFirst},
		{"a lease released under a valid term", func(l *liar) {
			tm := l.leased("s", "x")
			l.Model.Release(l.Store.Now(), "s", []backend.Lease{{Name: "x", Token: tm.Token()}})
			l.poke()
		}, sim.DeadlineFirst},
		{"a token that falls", func(l *liar) {
			term.End(l.win("s", "x", 2, time.Second), term.Stopped)
			l.win("s", "x", 1, time.Second)
		}, sim.TokensGrow},
		{"a token that stays", func(l *liar) {
			term.End(l.win("s", "x", 1, time.Second), term.Stopped)
			l.win("s", "x", 1, time.Second)
		}, sim.TokensGrow},
		{"a token that grows by one", func(l *liar) {
			term.End(l.win("s", "x", 1, time.Second), term.Stopped)
			l.win("s", "x", 2, time.Second)
		}, sim.Invariant{}},
		{"a token of zero", func(l *liar) { l.win("s", "x", 0, -1) }, sim.TokensGrow},
		{"a term that is valid again", func(l *liar) { l.moveDeadline(time.Second) }, sim.NeverValidAgain},
		{"a term that is extended in time", func(l *liar) { l.moveDeadline(time.Second - 1) }, sim.Invariant{}},
		{"a term with more left than its clock says", func(l *liar) {
			l.leased("s", "x")
			c := &skewed{Clock: l.node, by: -time.Millisecond}
			l.say(session.Won{Terms: []*term.Term{term.New("y", "s", l.lease("s", "y"), term.NewDeadline(c, c.Now().Add(time.Second)))}})
		}, sim.EndedIsOver},
		{"a term that says that it is valid when it is not", func(l *liar) { l.look(time.Second, time.Millisecond) }, sim.EndedIsOver},
		{"a term that says that it is not when it is", func(l *liar) { l.look(time.Second-time.Nanosecond, -time.Millisecond) }, sim.EndedIsOver},
		{"a term that knows when it is over", func(l *liar) { l.look(time.Second, 0) }, sim.Invariant{}},
		{"a valid term that its session has ended", func(l *liar) {
			l.say(session.Ended{Term: l.leased("s", "x"), Reason: term.DeadlinePassed})
		}, sim.EndedIsOver},
		{"a term that its session has ended", func(l *liar) {
			tm := l.leased("s", "x")
			term.End(tm, term.DeadlinePassed)
			l.say(session.Ended{Term: tm, Reason: term.DeadlinePassed})
		}, sim.Invariant{}},
		{"a report", func(l *liar) {
			l.hear("report", func(ctx actor.Context) { ctx.Report(errors.New("impossible")) })
		}, sim.ReachableStates},
	})
}

// skewed is a clock that differs from another one.
type skewed struct {
	actor.Clock
	by time.Duration
}

func (c *skewed) Now() actor.Instant { return c.Clock.Now().Add(c.by) }

// look looks at a term of a second when it is so old, and its clock is slow.
func (l *liar) look(after, slow time.Duration) {
	c := &skewed{Clock: l.node}
	l.say(session.Won{Terms: []*term.Term{term.New("x", "s", l.lease("s", "x"), term.NewDeadline(c, c.Now().Add(time.Second)))}})
	l.RunFor(after)
	c.by = -slow
	l.Monitor.Look()
}

// moveDeadline makes a term of a second last for an hour more when it is so old.
func (l *liar) moveDeadline(after time.Duration) {
	d := term.NewDeadline(l.node, l.node.Now().Add(time.Second))
	l.say(session.Won{Terms: []*term.Term{term.New("x", "s", l.lease("s", "x"), d)}})
	l.RunFor(after)
	*d = *term.NewDeadline(l.node, l.node.Now().Add(time.Hour)) // Extend would refuse
	l.say("anything")
}

func TestMonitorWatchesReleases(t *testing.T) {
	tell(t, newLiar, []lie{
		{"before the end", func(l *liar) { l.release("s", l.leased("s", "x")) }, sim.EndBeforeRelease},
		{"after the end", func(l *liar) {
			tm := l.leased("s", "x")
			term.End(tm, term.Stopped)
			l.release("s", tm)
		}, sim.Invariant{}},
		{"with another token", func(l *liar) {
			tm := l.leased("s", "x")
			l.release("s", l.term("s", "x", tm.Token()+1, 0))
		}, sim.Invariant{}},
		{"by another session", func(l *liar) { l.release("s2", l.leased("s", "x")) }, sim.Invariant{}},
		{"by a close before the end", func(l *liar) {
			l.leased("s", "x")
			l.say(&backend.CloseRequest{Session: "s"})
		}, sim.EndBeforeRelease},
		{"by a close after the end", func(l *liar) {
			term.End(l.leased("s", "x"), term.Stopped)
			l.say(&backend.CloseRequest{Session: "s"})
		}, sim.Invariant{}},
		{"by a close of another session", func(l *liar) {
			l.leased("s", "x")
			l.say(&backend.CloseRequest{Session: "s2"})
		}, sim.Invariant{}},
	})
}

func TestMonitorWatchesCalls(t *testing.T) {
	tell(t, newLiar, []lie{
		{"two renewals at once", func(l *liar) {
			l.renew(1, "s")
			l.RunFor(time.Second - 2*time.Microsecond)
			l.renew(2, "s")
		}, sim.OneInFlight},
		{"a renewal after one that was given up", func(l *liar) {
			l.renew(1, "s")
			l.RunFor(time.Second)
			l.renew(2, "s")
		}, sim.Invariant{}},
		{"a renewal after one that was answered", func(l *liar) {
			l.renew(1, "s")
			l.hear(&backend.RenewAnswer{ID: 1}, nil)
			l.renew(2, "s")
		}, sim.Invariant{}},
		{"a renewal after the answer to another one", func(l *liar) {
			l.renew(2, "s")
			l.hear(&backend.RenewAnswer{ID: 1}, nil)
			l.renew(3, "s")
		}, sim.OneInFlight},
		{"renewals of two sessions", func(l *liar) { l.renew(1, "s"); l.renew(2, "s2") }, sim.Invariant{}},
		{"two attempts at once", func(l *liar) {
			l.contend("x", 1)
			l.acquire(1, "s", "x")
			l.RunFor(time.Second - 2*time.Microsecond)
			l.acquire(2, "s", "x")
		}, sim.OneInFlight},
		{"an attempt after one that was given up", func(l *liar) {
			l.contend("x", 1)
			l.acquire(1, "s", "x")
			l.RunFor(time.Second)
			l.acquire(2, "s", "x")
		}, sim.Invariant{}},
		{"an attempt after one that was answered", func(l *liar) {
			l.contend("x", 1)
			l.acquire(1, "s", "x")
			l.hear(&backend.AcquireAnswer{ID: 1}, nil)
			l.acquire(2, "s", "x")
		}, sim.Invariant{}},
		{"an attempt by the next owner", func(l *liar) {
			l.contend("x", 1)
			l.acquire(1, "s", "x")
			l.sayTo(l.self, session.Leave{Name: "x", Owner: l.self})
			l.contend("x", 1)
			l.acquire(2, "s", "x")
		}, sim.Invariant{}},
		{"attempts for two names", func(l *liar) {
			l.contend("x", 1)
			l.contend("y", 1)
			l.acquire(1, "s", "x")
			l.acquire(2, "s", "y")
		}, sim.Invariant{}},
		{"an attempt that nobody wants", func(l *liar) { l.acquire(1, "s", "x") }, sim.NoAttemptUnasked},
		{"an attempt for a name too many", func(l *liar) {
			l.contend("x", 1)
			l.acquire(1, "s", "x", "y")
		}, sim.NoAttemptUnasked},
		{"an attempt that was withdrawn", func(l *liar) {
			l.contend("x", 1)
			l.sayTo(l.self, session.Withdraw{Name: "x"})
			l.acquire(1, "s", "x")
		}, sim.NoAttemptUnasked},
		{"an attempt for a name that was given back", func(l *liar) {
			l.contend("x", 1)
			l.sayTo(l.self, session.Leave{Name: "x", Owner: l.self})
			l.acquire(1, "s", "x")
		}, sim.NoAttemptUnasked},
		{"an attempt after somebody else's leave", func(l *liar) {
			l.contend("x", 1)
			l.sayTo(l.self, session.Leave{Name: "x", Owner: l.to})
			l.acquire(1, "s", "x")
		}, sim.Invariant{}},
	})
}

func TestMonitorWatchesCandidates(t *testing.T) {
	contend := func(ctx actor.Context) { ctx.Send(ctx.Self(), session.Contend{Name: "x", Candidacy: 1}) }
	withdraw := func(ctx actor.Context) { ctx.Send(ctx.Self(), session.Withdraw{Name: "x"}) }
	tell(t, newLiar, []lie{
		{"contends after Stop", func(l *liar) {
			l.ask(election.Stop{}, nil)
			l.hear("contend", contend)
		}, sim.NoAttemptUnasked},
		{"contends during a cooldown", func(l *liar) {
			l.ask(election.StepDown{Cooldown: time.Second}, nil)
			l.RunFor(time.Second - 1)
			l.hear("contend", contend)
		}, sim.NoAttemptUnasked},
		{"contends during the longer of two cooldowns", func(l *liar) {
			l.ask(election.StepDown{Cooldown: time.Second}, nil)
			l.ask(election.StepDown{Cooldown: time.Millisecond}, nil)
			l.RunFor(time.Second / 2)
			l.hear("contend", contend)
		}, sim.NoAttemptUnasked},
		{"contends after a cooldown", func(l *liar) {
			l.ask(election.StepDown{Cooldown: time.Second}, nil)
			l.RunFor(time.Second)
			l.hear("contend", contend)
		}, sim.Invariant{}},
		{"contends after a cooldown that was refused", func(l *liar) {
			l.ask(election.StepDown{Cooldown: -1}, nil)
			l.hear("contend", contend)
		}, sim.Invariant{}},
		{"goes on contending after Stop", func(l *liar) {
			l.hear("contend", contend)
			l.ask(election.Stop{}, nil)
		}, sim.NoAttemptUnasked},
		{"goes on contending after a step-down", func(l *liar) {
			l.hear("contend", contend)
			l.ask(election.StepDown{Cooldown: 1}, nil)
		}, sim.NoAttemptUnasked},
		{"goes on contending after a step-down without a cooldown", func(l *liar) {
			l.hear("contend", contend)
			l.ask(election.StepDown{}, nil)
		}, sim.Invariant{}},
		{"withdraws on Stop", func(l *liar) {
			l.hear("contend", contend)
			l.ask(election.Stop{}, withdraw)
		}, sim.Invariant{}},
	})
}

func TestMonitorWatchesTasks(t *testing.T) {
	over := func(l *liar, id string, task bool) *term.Term {
		tm := l.leased(id, "x")
		if task {
			l.say(election.StartTask{Term: tm})
		}
		term.End(tm, term.Stopped)
		l.Model.Close(l.Store.Now(), id)
		return tm
	}
	tell(t, newLiar, []lie{
		{"under a term that is over", func(l *liar) { l.say(election.StartTask{Term: over(l, "s", false)}) }, sim.OneTask},
		{"two at once", func(l *liar) {
			over(l, "s", true)
			l.say(election.StartTask{Term: l.leased("s2", "x")})
		}, sim.OneTask},
		{"one after the other", func(l *liar) {
			l.say(election.TaskExited{Term: over(l, "s", true)})
			l.say(election.StartTask{Term: l.leased("s2", "x")})
		}, sim.Invariant{}},
		{"again in the same term", func(l *liar) {
			tm := l.leased("s", "x")
			l.say(election.StartTask{Term: tm})
			l.say(election.TaskExited{Term: tm})
			l.say(election.StartTask{Term: tm})
		}, sim.Invariant{}},
		{"of two names", func(l *liar) {
			l.say(election.StartTask{Term: l.leased("s", "x")})
			l.say(election.StartTask{Term: l.leased("s", "y")})
		}, sim.Invariant{}},
		{"elsewhere, after an involuntary end", func(l *liar) {
			over(l, "s", true)
			l.moveTo(l.NewNode("elsewhere", 0, 1))
			l.say(election.StartTask{Term: l.leased("s2", "x")})
		}, sim.Invariant{}},
	})
}

func TestMonitorWatchesResources(t *testing.T) {
	write := func(to func(l *liar) actor.Ref, writes ...sim.Write) func(l *liar) {
		return func(l *liar) {
			ref := to(l)
			for _, w := range writes {
				l.sayTo(ref, w)
			}
		}
	}
	careless := func(l *liar) actor.Ref { return l.Careless() }
	guarded := func(l *liar) actor.Ref { return l.Guarded() }
	tell(t, newLiar, []lie{
		{"accepts a smaller token", write(careless, sim.Write{Name: "x", Token: 2}, sim.Write{Name: "x", Token: 1}), sim.ResourceSafe},
		{"accepts the same token", write(careless, sim.Write{Name: "x", Token: 2}, sim.Write{Name: "x", Token: 2}), sim.Invariant{}},
		{"accepts a smaller token of another name", write(careless, sim.Write{Name: "x", Token: 2}, sim.Write{Name: "y", Token: 1}), sim.Invariant{}},
		{"refuses a smaller token", write(guarded, sim.Write{Name: "x", Token: 2}, sim.Write{Name: "x", Token: 1}), sim.Invariant{}},
	})
}

// TestStaleWrites counts what resources do with writes under a token that is not the
// greatest.
func TestStaleWrites(t *testing.T) {
	for name, tt := range map[string]struct {
		to                func(c *sim.Cluster) actor.Ref
		refused, accepted uint64
	}{"guarded": {(*sim.Cluster).Guarded, 2, 0}, "unguarded": {(*sim.Cluster).Unguarded, 0, 2}} {
		l := newLiar()
		for _, token := range []uint64{2, 1, 2, 3, 2, 3} {
			l.sayTo(tt.to(l.Cluster), sim.Write{Name: "x", Token: token})
		}
		if met := l.Monitor.Met; met[sim.StaleRefused] != tt.refused || met[sim.StaleAccepted] != tt.accepted || l.Err() != nil {
			t.Errorf("%s: it refuses %d stale writes and accepts %d: %v", name, met[sim.StaleRefused], met[sim.StaleAccepted], l.Err())
		}
	}
}

// TestTolerate: what is expected in a world is counted, and nothing else is let pass.
func TestTolerate(t *testing.T) {
	l := newLiar()
	l.Monitor.Tolerate(sim.NoAttemptUnasked, sim.TokensGrow)
	l.acquire(1, "s", "x", "y")
	if err := l.Err(); err != nil {
		t.Fatalf("what is tolerated fails the world: %v", err)
	}
	if got := l.Monitor.Tolerated; len(got) != 2 || got[sim.NoAttemptUnasked.Number] != 2 || got[sim.TokensGrow.Number] != 0 {
		t.Errorf("tolerated are %v, want 2 of %d and none of %d", got, sim.NoAttemptUnasked.Number, sim.TokensGrow.Number)
	}
	l.acquire(2, "s", "x")
	wantViolation(t, l.Err(), sim.OneInFlight)
}

// TestUnused finds leases that nobody uses.
func TestUnused(t *testing.T) {
	l := newLiar()
	l.leased("s", "x")
	if got := l.Monitor.Unused(); len(got) != 0 {
		t.Errorf("unused: %+v, want none", got)
	}
	l.lease("s", "y")
	if got := l.Monitor.Unused(); len(got) != 1 || got[0].Name != "y" {
		t.Errorf("unused: %+v, want y", got)
	}
	l.RunFor(time.Second)
	if got := l.Monitor.Unused(); len(got) != 2 {
		t.Errorf("unused: %+v, want x and y", got)
	}
}
