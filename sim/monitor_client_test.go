package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// mine is a call of the liar in a client's process: one that the client's own session
// does not make.
const mine = 1000

func (l *liar) id() string { return l.client.View().Session }

func TestMonitorWatchesSessions(t *testing.T) {
	show := func(l *liar, s session.State) {
		v := *l.client.View()
		v.State = s
		l.client.Show(v)
		l.hear("look", nil)
	}
	deadline := func(l *liar, at actor.Instant) {
		*l.client.View().Deadline = *term.NewDeadline(l.client, at)
	}
	expiry := func(l *liar) actor.Instant {
		at, _ := l.Model.Expires(l.id())
		return at
	}
	expired := func(l *liar, call uint64) {
		l.renew(call, l.id())
		l.hear(&backend.RenewAnswer{ID: call, Err: backend.ErrExpired}, nil)
	}
	expiredAttempt := func(l *liar, call uint64, after time.Duration) {
		l.contend("x", 1)
		l.acquire(call, l.id(), "x")
		l.RunFor(after)
		l.hear(&backend.AcquireAnswer{ID: call, Err: backend.ErrExpired}, nil)
	}
	tell(t, newInsider, []lie{
		{"a deadline at the expiry", func(l *liar) { deadline(l, expiry(l)); l.hear("look", nil) }, sim.Invariant{}},
		{"a deadline after the expiry", func(l *liar) { deadline(l, expiry(l)+1); l.hear("look", nil) }, sim.DeadlineFirst},
		{"a session that the backend has forgotten", func(l *liar) { l.Model.Close(l.Store.Now(), l.id()); l.poke() }, sim.DeadlineFirst},
		{"a deadline that is moved when it has passed", func(l *liar) {
			l.client.Pause()
			l.RunFor(params.Lease)
			deadline(l, l.client.Now().Add(1))
			l.In(0, func() {})
			l.RunFor(0)
		}, sim.PassedIsPassed},
		{"a deadline that is moved in time", func(l *liar) {
			l.client.Pause()
			l.RunFor(params.Bound().Local(params.Lease) - time.Second)
			deadline(l, expiry(l))
			l.In(0, func() {})
			l.RunFor(0)
		}, sim.Invariant{}},
		{"a renewal after its end", func(l *liar) {
			l.client.Say(observe.SessionEnded{Session: l.id()})
			l.renew(mine, l.id())
		}, sim.ExpiredIsFinal},
		{"an attempt after its end", func(l *liar) {
			l.contend("x", 1)
			l.client.Say(observe.SessionEnded{Session: l.id()})
			l.acquire(mine, l.id(), "x")
		}, sim.ExpiredIsFinal},
		{"a renewal after another's end", func(l *liar) {
			l.client.Say(observe.SessionEnded{Session: "another"})
			l.renew(mine, l.id())
		}, sim.Invariant{}},
		{"a renewal after it was told that it has expired", func(l *liar) {
			expired(l, mine)
			l.renew(mine+1, l.id())
		}, sim.ExpiredIsFinal},
		{"an attempt after it was told that it has expired", func(l *liar) {
			l.contend("x", 1)
			expired(l, mine)
			l.acquire(mine+1, l.id(), "x")
		}, sim.ExpiredIsFinal},
		{"a renewal after a failure", func(l *liar) {
			l.renew(mine, l.id())
			l.hear(&backend.RenewAnswer{ID: mine, Err: sim.ErrStore}, nil)
			l.renew(mine+1, l.id())
		}, sim.Invariant{}},
		{"a renewal after the end of a process", func(l *liar) {
			id := l.id()
			l.client.Say(observe.SessionEnded{Session: id})
			l.client.Crash()
			l.moveTo(l.client.Node)
			l.renew(mine, id) // nobody knows any more
		}, sim.Invariant{}},
		{"a term that outlives what was told", func(l *liar) {
			l.wins("x", time.Second)
			expired(l, mine+1)
		}, sim.ExpiredIsFinal},
		{"a term that ends when that is told", func(l *liar) {
			tm := l.wins("x", time.Second)
			l.renew(mine+1, l.id())
			l.hear(&backend.RenewAnswer{ID: mine + 1, Err: backend.ErrExpired}, func(actor.Context) { term.End(tm, term.SessionExpired) })
		}, sim.Invariant{}},
		{"a renewal after an attempt was told that it has expired", func(l *liar) {
			expiredAttempt(l, mine, 0)
			l.renew(mine+1, l.id())
		}, sim.ExpiredIsFinal},
		{"a renewal after an attempt was told so that is still remembered", func(l *liar) {
			expiredAttempt(l, mine, 2*params.Lease+time.Second-3*time.Microsecond)
			l.renew(mine+1, l.id())
		}, sim.ExpiredIsFinal},
		{"a renewal after an attempt was told so that is not remembered any more", func(l *liar) {
			expiredAttempt(l, mine, 2*params.Lease+time.Second)
			l.renew(mine+1, l.id())
		}, sim.Invariant{}},
		{"a renewal after the second answer to an attempt tells so", func(l *liar) {
			l.contend("x", 1)
			l.acquire(mine, l.id(), "x")
			l.hear(&backend.AcquireAnswer{ID: mine}, nil)
			l.hear(&backend.AcquireAnswer{ID: mine, Err: backend.ErrExpired}, nil)
			l.renew(mine+1, l.id())
		}, sim.Invariant{}},
		{"a term that outlives what an attempt was told", func(l *liar) {
			l.wins("x", time.Second)
			l.contend("y", 1)
			l.acquire(mine+1, l.id(), "y")
			l.hear(&backend.AcquireAnswer{ID: mine + 1, Err: backend.ErrExpired}, nil)
		}, sim.ExpiredIsFinal},
		{"a state that cannot follow", func(l *liar) { show(l, session.Closed); show(l, session.Live) }, sim.ReachableStates},
		{"states that follow", func(l *liar) { show(l, session.Suspended); show(l, session.Opening); show(l, session.Closed) }, sim.Invariant{}},
	})
}

func TestMonitorWatchesElections(t *testing.T) {
	show := func(statuses ...election.Status) func(*liar) {
		return func(l *liar) {
			e := l.client.Impersonate(l.self, "x")
			for _, s := range statuses {
				e.Show(s)
				l.hear("look", nil)
			}
		}
	}
	elected := func(l *liar) {
		l.hear("win", func(actor.Context) { l.client.Say(observe.Elected{Name: "x", Token: 1}) })
	}
	// candidate enters two candidacies, and takes a win of one of them.
	candidate := func(l *liar, won uint64) {
		l.sayTo(l.to, session.Contend{Name: "x", Candidacy: 1})
		l.sayTo(l.to, session.Contend{Name: "x", Candidacy: 2})
		l.hear(session.Won{Candidacy: won}, func(actor.Context) { l.client.Say(observe.Elected{Name: "x", Token: 1}) })
	}
	tell(t, newInsider, []lie{
		{"a state that cannot follow", show(election.Leader, election.Stopped, election.Candidate), sim.ReachableStates},
		{"states that follow", show(election.Leader, election.SteppingDown, election.Candidate, election.Stopped), sim.Invariant{}},
		{"a win", elected, sim.Invariant{}},
		{"a win after Stop", func(l *liar) { l.ask(election.Stop{}, nil); elected(l) }, sim.NoStaleWin},
		{"a win during a cooldown", func(l *liar) {
			l.ask(election.StepDown{Cooldown: time.Second}, nil)
			l.RunFor(time.Second - 1)
			elected(l)
		}, sim.NoStaleWin},
		{"a win of its last candidacy", func(l *liar) { candidate(l, 2) }, sim.Invariant{}},
		{"a win of the candidacy before", func(l *liar) { candidate(l, 1) }, sim.NoStaleWin},
		{"a win of a candidacy that it has withdrawn", func(l *liar) {
			l.sayTo(l.to, session.Contend{Name: "x", Candidacy: 1})
			l.sayTo(l.to, session.Withdraw{Name: "x"})
			l.hear(session.Won{Candidacy: 1}, func(actor.Context) { l.client.Say(observe.Elected{Name: "x", Token: 1}) })
		}, sim.NoStaleWin},
		{"a win after a cooldown", func(l *liar) {
			l.ask(election.StepDown{Cooldown: time.Second}, nil)
			l.RunFor(time.Second)
			elected(l)
		}, sim.Invariant{}},
	})
}

// wins makes the liar's owner win a name the way a session does.
func (l *liar) wins(name string, lasts time.Duration) *term.Term {
	l.contend(name, 1)
	l.acquire(mine, l.id(), name)
	tm := l.term(l.id(), name, l.give(l.id(), name), lasts)
	l.answered(1, tm)
	return tm
}

// answered makes terms of the answer to the liar's attempt.
func (l *liar) answered(candidacy uint64, terms ...*term.Term) {
	l.hear(&backend.AcquireAnswer{ID: mine}, func(ctx actor.Context) {
		ctx.Send(l.to, session.Won{Candidacy: candidacy, Terms: terms})
	})
}

func TestMonitorWatchesWins(t *testing.T) {
	attempt := func(l *liar) *term.Term {
		l.contend("x", 1)
		l.acquire(mine, l.id(), "x")
		return l.term(l.id(), "x", l.give(l.id(), "x"), time.Second)
	}
	released := func(above uint64) func(l *liar) {
		return func(l *liar) {
			tm := attempt(l)
			l.release(l.id(), l.term(l.id(), "x", tm.Token()-above, 0))
			l.answered(1, tm)
		}
	}
	tell(t, newInsider, []lie{
		{"that was answered", func(l *liar) { l.wins("x", time.Second) }, sim.Invariant{}},
		{"that was not", func(l *liar) {
			tm := attempt(l)
			l.say(session.Won{Candidacy: 1, Terms: []*term.Term{tm}})
		}, sim.NoStaleWin},
		{"of another session", func(l *liar) {
			attempt(l)
			l.answered(1, l.term("another", "x", 1, time.Second))
		}, sim.NoStaleWin},
		{"of a session that has ended", func(l *liar) {
			tm := attempt(l)
			l.client.Say(observe.SessionEnded{Session: l.id()})
			l.answered(1, tm)
		}, sim.NoStaleWin},
		{"past the deadline", func(l *liar) {
			tm := attempt(l)
			l.client.Pause()
			l.answered(1, tm)
			l.RunFor(params.Lease)
			l.client.Resume()
			l.RunFor(0)
		}, sim.NoStaleWin},
		{"answered before a pause, and the deadline has not passed", func(l *liar) {
			tm := attempt(l)
			l.client.Pause()
			l.answered(1, tm)
			l.RunFor(2 * time.Second)
			l.client.Resume()
			l.RunFor(0)
		}, sim.Invariant{}},
		{"of an attempt that was given up", func(l *liar) {
			tm := attempt(l)
			l.RunFor(time.Second + 2*time.Microsecond)
			l.answered(1, tm)
		}, sim.NoStaleWin},
		{"of an attempt that is given up at that instant", func(l *liar) { // either may come first
			tm := attempt(l)
			l.RunFor(time.Second)
			l.answered(1, tm)
		}, sim.Invariant{}},
		{"of a candidacy that was withdrawn", func(l *liar) {
			tm := attempt(l)
			l.sayTo(l.self, session.Withdraw{Name: "x"})
			l.answered(1, tm)
		}, sim.NoStaleWin},
		{"of the candidacy before", func(l *liar) {
			tm := attempt(l)
			l.sayTo(l.self, session.Contend{Name: "x", Candidacy: 2})
			l.answered(1, tm)
		}, sim.NoStaleWin},
		{"of an attempt of the candidacy before", func(l *liar) {
			tm := attempt(l)
			l.sayTo(l.self, session.Contend{Name: "x", Candidacy: 2})
			l.answered(2, tm)
		}, sim.NoStaleWin},
		{"of a name that was not attempted", func(l *liar) {
			l.contend("y", 1)
			tm := attempt(l)
			l.answered(1, tm, l.term(l.id(), "y", l.give(l.id(), "y"), time.Second))
		}, sim.NoStaleWin},
		{"with a token that was given back", released(0), sim.NoStaleWin},
		{"with the next token", released(1), sim.Invariant{}},
	})
}

// TestMonitorWatchesLocks: a lock wins once.
func TestMonitorWatchesLocks(t *testing.T) {
	locks := func(names ...string) func(l *liar) {
		return func(l *liar) {
			l.Monitor.Tolerate(sim.NoStaleWin) // the liar has attempted nothing
			actors := make(map[string]actor.Ref)
			l.OnDeliver(func(to actor.Ref, _ actor.Message) { actors[to.String()] = to })
			for i, name := range names {
				if lock := "client/lock " + name; actors[lock] == nil {
					l.lease("another", name)
					l.client.Lock(false, name)
					l.RunFor(0)
				}
				l.sayTo(actors["client/lock "+name], session.Won{Terms: []*term.Term{l.term(l.id(), name, uint64(i+1), 0)}})
			}
		}
	}
	tell(t, newInsider, []lie{
		{"one of them, once", locks("x"), sim.Invariant{}},
		{"two of them", locks("x", "y"), sim.Invariant{}},
		{"one of them, twice", locks("x", "x"), sim.LockOnce},
	})
}

func TestMonitorWatchesHandovers(t *testing.T) {
	deaf := sim.Script{Task: func(*term.Term) sim.Work { return sim.Work{Deaf: true} }}
	// handOver makes a client step down whose task does not return, and end its term.
	handOver := func(l *liar) *term.Term {
		e, tm := l.leads(deaf)
		e.StepDown(0)
		l.RunFor(0)
		term.End(tm, term.SteppedDown)
		return tm
	}
	elsewhere := func(l *liar, tm *term.Term) {
		l.moveTo(l.NewNode("elsewhere", 0, 1))
		l.say(election.StartTask{Term: l.win("another", "x", tm.Token()+1, time.Second)})
	}
	exits := func(l *liar, tm *term.Term) {
		l.say(election.TaskExited{Term: tm})
	}
	tell(t, newInsider, []lie{
		{"a release before the task has exited", func(l *liar) {
			tm := handOver(l)
			l.release(tm.Session(), tm)
		}, sim.HandoverInOrder},
		{"a release after the task has exited", func(l *liar) {
			tm := handOver(l)
			exits(l, tm)
			l.release(tm.Session(), tm)
		}, sim.Invariant{}},
		{"the next task before this one has exited", func(l *liar) {
			tm := handOver(l)
			l.revoked(tm, term.SteppedDown)
			elsewhere(l, tm)
		}, sim.HandoverInOrder},
		{"the next task after this one has exited", func(l *liar) {
			tm := handOver(l)
			l.revoked(tm, term.SteppedDown)
			exits(l, tm)
			elsewhere(l, tm)
		}, sim.Invariant{}},
		{"the next task before this one has exited, after the backend has lost its data", func(l *liar) {
			tm := handOver(l)
			l.revoked(tm, term.SteppedDown)
			l.LoseData()
			elsewhere(l, tm)
		}, sim.Invariant{}},
		{"the next task while this one runs, and the time is up", func(l *liar) {
			e, tm := l.leads(deaf)
			e.StepDown(time.Hour)
			b := l.NewClient("b", 0, 1)
			b.Elect("x", sim.Script{Task: sim.Diligent})
			l.RunUntil(params.Lease, func() bool { return b.Elections["x"].Leads() })
			if l.Monitor.Met[sim.TakeoverWhileTaskRuns] == 0 || tm.Reason() != term.SteppedDown {
				l.Violate(sim.NameIsLed, "b does not lead while the task of %v runs on", tm.Reason())
			}
		}, sim.Invariant{}},
	})
}

// TestMonitorWatchesWhoGivesUp: a lease is free when whoever asked for that is told so.
func TestMonitorWatchesWhoGivesUp(t *testing.T) {
	// wins makes the liar itself an owner that wins x, and does not look at it.
	wins := func(l *liar) *term.Term {
		l.contend("x", 1)
		l.acquire(mine, l.id(), "x")
		tm := l.term(l.id(), "x", l.give(l.id(), "x"), time.Second)
		l.hear(&backend.AcquireAnswer{ID: mine}, func(ctx actor.Context) {
			ctx.Send(ctx.Self(), session.Won{Candidacy: 1, Terms: []*term.Term{tm}})
		})
		return tm
	}
	// gives makes it win, and end the term, for a reason.
	gives := func(l *liar, reason term.Reason) *term.Term {
		tm := wins(l)
		l.client.Say(observe.Elected{Name: "x", Token: tm.Token()})
		term.End(tm, reason)
		if !reason.Voluntary() {
			l.revoked(tm, reason)
		}
		return tm
	}
	free := func(l *liar, tm *term.Term) {
		l.Model.Release(l.Store.Now(), tm.Session(), []backend.Lease{{Name: "x", Token: tm.Token()}})
	}
	tell(t, newInsider, []lie{
		{"by Stop, and the lease is held", func(l *liar) { gives(l, term.Stopped); l.ask(election.Stop{}, nil) }, sim.FreeWhenDone},
		{"by Stop, and the lease is free", func(l *liar) { free(l, gives(l, term.Stopped)); l.ask(election.Stop{}, nil) }, sim.Invariant{}},
		{"by StepDown, and the lease is held", func(l *liar) { gives(l, term.SteppedDown); l.ask(election.StepDown{}, nil) }, sim.FreeWhenDone},
		{"by StepDown, and the lease is free", func(l *liar) { free(l, gives(l, term.SteppedDown)); l.ask(election.StepDown{}, nil) }, sim.Invariant{}},
		{"by Release, and the lease is held", func(l *liar) { gives(l, term.Stopped); l.ask(lock.Release{}, nil) }, sim.FreeWhenDone},
		{"by Release, and the lease is free", func(l *liar) { free(l, gives(l, term.Stopped)); l.ask(lock.Release{}, nil) }, sim.Invariant{}},
		{"by Abandon, which waits for nothing", func(l *liar) { gives(l, term.Stopped); l.ask(lock.Abandon{}, nil) }, sim.Invariant{}},
		{"by Stop, before the term has ended", func(l *liar) {
			l.client.Say(observe.Elected{Name: "x", Token: wins(l).Token()})
			l.ask(election.Stop{}, nil)
		}, sim.FreeWhenDone},
		{"by Stop, and another has the name", func(l *liar) {
			free(l, gives(l, term.Stopped))
			l.lease("another", "x")
			l.ask(election.Stop{}, nil)
		}, sim.Invariant{}},
		{"by Stop, and the session has the name again", func(l *liar) {
			tm := gives(l, term.Stopped)
			free(l, tm)
			l.give(tm.Session(), "x")
			l.ask(election.Stop{}, nil)
		}, sim.Invariant{}},
		{"by Stop, after it was lost", func(l *liar) { gives(l, term.TakenOver); l.ask(election.Stop{}, nil) }, sim.Invariant{}},
		{"by Stop, and nobody has seen the win", func(l *liar) { wins(l); l.ask(election.Stop{}, nil) }, sim.Invariant{}},
		{"by Stop, after the end of the session", func(l *liar) {
			gives(l, term.Stopped)
			l.client.Say(observe.SessionEnded{Session: l.id()})
			l.ask(election.Stop{}, nil)
		}, sim.Invariant{}},
		{"by Stop, after the session's expiry", func(l *liar) {
			gives(l, term.Stopped)
			l.Store.Jump(params.Lease)
			l.ask(election.Stop{}, nil)
		}, sim.Invariant{}},
		{"by Stop, after the backend has lost its data", func(l *liar) {
			gives(l, term.Stopped)
			l.LoseData()
			l.ask(election.Stop{}, nil)
		}, sim.Invariant{}},
		{"by Stop, after the lease was removed by hand", func(l *liar) {
			gives(l, term.Stopped)
			l.RemoveLease("x")
			l.ask(election.Stop{}, nil)
		}, sim.Invariant{}},
	})
}
