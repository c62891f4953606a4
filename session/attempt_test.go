package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// R35: one owner of a name, and none after Close.
func TestJoin(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("a", "b")
	for _, names := range [][]string{{"a"}, {"b"}, {"c", "b"}} {
		answer, ok := r.ask(session.Join{Names: names, Owner: &owner{}}).Answer.(*session.InUseError)
		if !ok || answer.Name != names[len(names)-1] {
			t.Errorf("joining %v: %v, want an InUseError for its last", names, answer)
		}
	}
	r.join("c") // which the refused one has not taken
	r.tell(session.Leave{Name: "b", Owner: &owner{}})
	if _, ok := r.ask(session.Join{Names: []string{"b"}, Owner: &owner{}}).Answer.(*session.InUseError); !ok {
		t.Error("somebody who never joined has taken the name away from who did")
	}
	r.tell(session.Leave{Name: "b", Owner: o})
	o.contend(1) // it left
	none[*backend.AcquireRequest](r)
	r.join("a")
	r.join("b")
}

// R26: the first attempt at once, the next ones every half interval plus a jitter,
// one at a time.
func TestAttemptPeriod(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	o.contend(1)
	jitters := make(map[time.Duration]bool)
	for i := range 20 {
		m := take[*backend.AcquireRequest](r)
		r.RunFor(100 * time.Millisecond)
		none[*backend.AcquireRequest](r)
		r.acquired(m, 0)
		if lost := heard[session.Lost](o); len(lost) != 1 || len(lost[0].Holders) != 1 || lost[0].Holders[0].Token != 99 {
			t.Fatalf("attempt %d: the owner heard %v", i, lost)
		}
		answered := r.Now()
		r.RunFor(params.RenewInterval/2 - 1)
		none[*backend.AcquireRequest](r)
		r.keepAlive()
		r.RunUntil(params.RetryJitter+1, func() bool { return has[*backend.AcquireRequest](r) })
		jitters[r.Now().Sub(answered)] = true
		r.keepAlive()
	}
	if len(jitters) < 10 {
		t.Errorf("20 attempts came after %d different pauses", len(jitters))
	}
}

// R26: attempts that are due together travel together, in chunks, of which only so
// many are under way.
func TestAttemptsTravelTogether(t *testing.T) {
	r := newRig(t, params)
	const n = 6*backend.MaxBatch + 10
	for i := range n {
		r.session.Tell(actor.NewRequest(session.Join{Names: []string{name(i)}, Owner: &owner{}}, nobody{}))
		r.session.Tell(session.Contend{Name: name(i), Candidacy: 1})
	}
	r.join("set-1", "set-2").contend(1)
	r.RunFor(0)
	none[*backend.AcquireRequest](r)
	r.open(params.Lease)
	for range 3 {
		asked, calls := make(map[string]bool), 0
		for {
			flights := all[*backend.AcquireRequest](r)
			if len(flights) == 0 {
				break
			}
			if calls += len(flights); len(flights) > session.MaxFlights {
				t.Fatalf("%d calls are under way at once, want at most %d", len(flights), session.MaxFlights)
			}
			for _, m := range flights {
				if m.All != (len(m.Names) == 2) || len(m.Names) > backend.MaxBatch {
					t.Fatalf("a call for %d names, all or none: %v", len(m.Names), m.All)
				}
				for _, name := range m.Names {
					if asked[name] {
						t.Fatalf("two attempts for %s in one round", name)
					}
					asked[name] = true
				}
				r.session.Tell(answerHeld(m))
			}
			r.RunFor(0)
		}
		check(t, "names", len(asked), n+2)
		check(t, "calls", calls, 7+1)
		r.RunFor(params.RenewInterval/2 + params.RetryJitter)
	}
}

func name(i int) string { return fmt.Sprintf("n%05d", i) }

func answerHeld(m *backend.AcquireRequest) *backend.AcquireAnswer {
	a := &backend.AcquireAnswer{ID: m.ID}
	for _, name := range m.Names {
		a.Outcomes = append(a.Outcomes, outcome(name, 0))
	}
	return a
}

type nobody struct{}

func (nobody) Tell(actor.Message) {}
func (nobody) String() string     { return "nobody" }

// R27: a notice makes a candidate try at once, and notices during an attempt lead
// to one more.
func TestNotices(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	vacated := func() { r.tell(&backend.Vacated{Names: []string{"other", "x"}}) }
	vacated() // it does not contend
	none[*backend.AcquireRequest](r)
	o.contend(1)
	r.acquired(take[*backend.AcquireRequest](r), 0)
	none[*backend.AcquireRequest](r)
	vacated()
	m := take[*backend.AcquireRequest](r)
	vacated()
	vacated()
	none[*backend.AcquireRequest](r)
	r.acquired(m, 0)
	r.acquired(take[*backend.AcquireRequest](r), 0)
	none[*backend.AcquireRequest](r)
	r.tell(session.Withdraw{Name: "x"}) // a cooldown
	vacated()
	r.RunFor(params.RenewInterval - 1)
	none[*backend.AcquireRequest](r)
}

// The backend is asked for notices once an attempt was lost, and until the
// candidate has won or withdrawn.
func TestWatchRequests(t *testing.T) {
	r := newLiveRig(t)
	r.join("a")
	r.join("b")
	r.contendTogether("a", "b")
	none[*backend.WatchRequest](r)
	r.acquired(take[*backend.AcquireRequest](r), 0, 0)
	check(t, "watched", fmt.Sprint(take[*backend.WatchRequest](r).Add), "[a b]")
	r.tell(&backend.Vacated{Names: []string{"a"}})
	r.acquired(take[*backend.AcquireRequest](r), 7)
	check(t, "after the win", fmt.Sprint(take[*backend.WatchRequest](r).Remove), "[a]")
	r.tell(session.Withdraw{Name: "b"})
	check(t, "after the withdrawal", fmt.Sprint(take[*backend.WatchRequest](r).Remove), "[b]")
}

// R28: only the answer to the current attempt counts, and whatever else it brings
// is released (R29).
func TestWinThatIsNotWanted(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(r *rig, o *owner)
	}{
		{"withdrawn", func(r *rig, _ *owner) { r.tell(session.Withdraw{Name: "x"}) }},
		{"left", func(r *rig, o *owner) { r.tell(session.Leave{Name: "x", Owner: o}) }},
		{"given up", func(r *rig, _ *owner) { r.RunFor(params.RenewInterval); r.keepAlive() }},
		{"replaced", func(r *rig, o *owner) { o.contend(2) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			o := r.join("x")
			o.contend(1)
			m := take[*backend.AcquireRequest](r)
			tt.meanwhile(r, o)
			r.acquired(m, 7)
			check(t, "won", len(heard[session.Won](o)), 0)
			release := take[*backend.ReleaseRequest](r)
			check(t, "released", fmt.Sprint(release.Leases), "[{x 7}]")
			check(t, "of", release.Session, m.Session)
			check(t, "held", r.view.Load().Leases, 0)
		})
	}
}

// R28: the answer arrives after the deadline of the session that asked.
func TestWinAfterTheDeadline(t *testing.T) {
	r := newLiveRig(t)
	r.passUntil(0, local-time.Second)
	o := r.join("x")
	o.contend(1)
	m := take[*backend.AcquireRequest](r)
	r.node.Pause()
	r.passUntil(0, local)
	r.session.Tell(&backend.AcquireAnswer{ID: m.ID, Outcomes: []backend.Outcome{outcome("x", 7), outcome("x", 0)}[:1]})
	r.node.Resume()
	r.RunFor(0)
	check(t, "won", len(heard[session.Won](o)), 0)
	if lost := heard[session.Lost](o); len(lost) != 1 || lost[0].Err == nil {
		t.Errorf("the owner heard %v, want one failure", lost)
	}
	release := take[*backend.ReleaseRequest](r)
	check(t, "released", fmt.Sprint(release.Session, release.Leases), "session-1[{x 7}]")
	// The candidacy goes on with the next session.
	r.RunFor(2 * params.MinBackoff)
	id := r.open(params.Lease)
	m = take[*backend.AcquireRequest](r)
	check(t, "next attempt by", m.Session, id)
	r.acquired(m, 8)
	check(t, "token", o.term().Token(), 8)
}

// What the backend says to a session that has ended is not about the next one: it
// does not end that, and a win is given back on behalf of the old one.
func TestAnswerToAnEndedSession(t *testing.T) {
	for _, late := range []func(m *backend.AcquireRequest) *backend.AcquireAnswer{
		func(m *backend.AcquireRequest) *backend.AcquireAnswer {
			return &backend.AcquireAnswer{ID: m.ID, Err: backend.ErrExpired}
		},
		func(m *backend.AcquireRequest) *backend.AcquireAnswer { return answerWon(m, 7) },
		func(m *backend.AcquireRequest) *backend.AcquireAnswer { return answerHeld(m) },
	} {
		r := newLiveRig(t)
		r.passUntil(0, local-time.Second)
		o := r.join("x")
		o.contend(1)
		m := take[*backend.AcquireRequest](r)
		r.RunFor(time.Second + 2*params.MinBackoff)
		r.open(params.Lease)
		next := take[*backend.AcquireRequest](r)
		heard[session.Lost](o)
		r.tell(late(m))
		check(t, "state", r.state(), session.Live)
		check(t, "heard", len(o.got), 0)
		for _, m := range all[*backend.ReleaseRequest](r) {
			check(t, "released", fmt.Sprint(m.Session, m.Leases), "session-1[{x 7}]")
		}
		r.acquired(next, 8)
		check(t, "token", o.term().Token(), 8)
	}
}

// R28: an answer that was overtaken by the release of the very lease that it names
// would be a term without a lease, whether the release is pending or confirmed.
func TestWinThatWasReleasedAlready(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		t.Run(fmt.Sprint("confirmed ", confirmed), func(t *testing.T) {
			r := newLiveRig(t)
			o := r.join("x")
			o.contend(1)
			first := take[*backend.AcquireRequest](r)
			second := r.tryAgain("x")
			r.acquired(first, 7) // nobody's any more
			release := take[*backend.ReleaseRequest](r)
			if confirmed {
				r.tell(&backend.ReleaseAnswer{ID: release.ID})
			}
			r.acquired(second, 7) // the backend said so before the release came
			check(t, "won", len(heard[session.Won](o)), 0)
			if !confirmed {
				none[*backend.AcquireRequest](r)
				r.tell(&backend.ReleaseAnswer{ID: release.ID})
			} else {
				// It is released again, for who knows.
				r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID})
			}
			r.acquired(take[*backend.AcquireRequest](r), 8)
			check(t, "token", o.term().Token(), 8)
		})
	}
}

// R26: one attempt of an owner is under way at a time, also when it has withdrawn
// meanwhile and contends again. The answer to the old one comes first, and what it
// won is given back before the next.
func TestOneAttemptAcrossCandidacies(t *testing.T) {
	for name, between := range map[string]func(o *owner, r *rig){
		"withdrawn":       func(o *owner, r *rig) { r.tell(session.Withdraw{Name: "a"}) },
		"contended again": func(*owner, *rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLiveRig(t)
			o := r.join("a")
			o.contend(1)
			first := take[*backend.AcquireRequest](r)
			between(o, r)
			o.contend(2)
			none[*backend.AcquireRequest](r)
			r.acquired(first, 7)
			check(t, "won", len(heard[session.Won](o)), 0)
			none[*backend.AcquireRequest](r)
			released := take[*backend.ReleaseRequest](r)
			check(t, "released", released.Leases[0], backend.Lease{Name: "a", Token: 7})
			r.tell(&backend.ReleaseAnswer{ID: released.ID})
			r.acquired(take[*backend.AcquireRequest](r), 8)
			won := heard[session.Won](o)
			check(t, "won in the end", len(won), 1)
			check(t, "for candidacy", won[0].Candidacy, 2)
		})
	}
}

// The same when the old attempt was lost or failed: the new candidacy is tried at
// once then, and hears nothing of the old one.
func TestOneAttemptAcrossCandidaciesThatIsLost(t *testing.T) {
	for name, end := range map[string]func(r *rig, m *backend.AcquireRequest){
		"lost": func(r *rig, m *backend.AcquireRequest) { r.tell(answerHeld(m)) },
		"failed": func(r *rig, m *backend.AcquireRequest) {
			r.tell(&backend.AcquireAnswer{ID: m.ID, Err: errors.New("no")})
		},
		"given up": func(r *rig, m *backend.AcquireRequest) { r.RunFor(m.Timeout) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newLiveRig(t)
			o := r.join("a")
			o.contend(1)
			first := take[*backend.AcquireRequest](r)
			r.tell(session.Withdraw{Name: "a"})
			o.contend(2)
			none[*backend.AcquireRequest](r)
			end(r, first)
			take[*backend.AcquireRequest](r)
			check(t, "losses heard of", len(heard[session.Lost](o)), 0)
		})
	}
}

// R18: the owner withdrew and contends again before it has heard that it won. A new
// attempt would be answered with the token of that win, for a second term.
func TestContendDuringWin(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	o.contend(1)
	r.acquired(take[*backend.AcquireRequest](r), 7)
	r.tell(session.Withdraw{Name: "x"})
	o.contend(2)
	r.RunFor(params.RenewInterval - 1)
	none[*backend.AcquireRequest](r)
	o.release(o.term()) // it hears of the win it does not want any more
	r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID})
	check(t, "settled", len(heard[session.Settled](o)), 1)
	r.acquired(take[*backend.AcquireRequest](r), 8)
	check(t, "token", o.term().Token(), 8)
}

// The same, and the lease turns out to be lost before its owner has heard of it.
func TestContendDuringWinThatIsLost(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	o.contend(1)
	r.acquired(take[*backend.AcquireRequest](r), 7)
	r.tell(session.Withdraw{Name: "x"})
	o.contend(2)
	none[*backend.AcquireRequest](r)
	r.renewed(r.renewal(), 1)
	check(t, "reason", o.term().Reason(), term.TakenOver)
	r.acquired(take[*backend.AcquireRequest](r), 8)
	check(t, "token", o.term().Token(), 8)
}

// R30: what is answered twice is won once.
func TestWonTwice(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	o.contend(1)
	m := take[*backend.AcquireRequest](r)
	r.acquired(m, 7)
	r.acquired(m, 7)
	o.term()
	none[*backend.ReleaseRequest](r)
	// An earlier attempt that was given up, with the same win.
	p := r.join("y")
	p.contend(1)
	first := take[*backend.AcquireRequest](r)
	r.acquired(r.tryAgain("y"), 5)
	tm := p.term()
	r.acquired(first, 5)
	none[*backend.ReleaseRequest](r)
	check(t, "valid", tm.Valid(), true)
}

// R11: an attempt that hangs is given up, its outcome is unknown, and others do
// not have to wait for it.
func TestHungAttempt(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	o.contend(1)
	m := take[*backend.AcquireRequest](r)
	check(t, "timeout", m.Timeout, params.RenewInterval)
	p, tm := r.lead("y", 5)
	r.RunFor(params.RenewInterval - 1)
	check(t, "heard", len(heard[session.Lost](o)), 0)
	r.RunFor(1)
	if lost := heard[session.Lost](o); len(lost) != 1 || lost[0].Err == nil || lost[0].Holders != nil {
		t.Errorf("the owner heard %v, want one failure", lost)
	}
	if got := eventsOf[observe.Attempted](r); got[len(got)-1].Result != observe.Unknown {
		t.Errorf("events %v, want the last one unknown", got)
	}
	check(t, "the next renewal asks for the whole list", take[*backend.RenewRequest](r).Full, true)
	check(t, "valid", tm.Valid(), true)
	_ = p
}

// maxFlights hung calls hold others up, but not for longer than an interval.
func TestAllFlightsHang(t *testing.T) {
	r := newLiveRig(t)
	for i := range session.MaxFlights {
		r.join(name(i)).contend(1)
	}
	check(t, "calls", len(all[*backend.AcquireRequest](r)), session.MaxFlights)
	o := r.join("x")
	o.contend(1)
	r.RunFor(params.RenewInterval - 1)
	none[*backend.AcquireRequest](r)
	r.RunFor(1)
	var asked []string
	for _, m := range all[*backend.AcquireRequest](r) {
		asked = append(asked, m.Names...)
	}
	if !slices.Contains(asked, "x") {
		t.Errorf("then the backend was asked for %v, want x as well", asked)
	}
}

// Hung calls of a session that has ended do not hold up the next one.
func TestFlightsEndWithTheSession(t *testing.T) {
	r := newLiveRig(t)
	r.passUntil(0, local-time.Second)
	for i := range session.MaxFlights {
		r.join(name(i)).contend(1)
	}
	check(t, "calls", len(all[*backend.AcquireRequest](r)), session.MaxFlights)
	r.RunFor(time.Second + 2*params.MinBackoff)
	r.open(params.Lease)
	check(t, "names in the next call", len(take[*backend.AcquireRequest](r).Names), session.MaxFlights)
}

// An answer for another number of names cannot be told apart by name: nobody wins
// by it, and the next list says what is ours.
func TestAnswerOfTheWrongSize(t *testing.T) {
	r := newLiveRig(t)
	o, p := r.join("x"), r.join("y")
	r.contendTogether("x", "y")
	m := take[*backend.AcquireRequest](r)
	r.tell(&backend.AcquireAnswer{ID: m.ID, Outcomes: []backend.Outcome{outcome("x", 7)}})
	check(t, "won", len(heard[session.Won](o))+len(heard[session.Won](p)), 0)
	check(t, "failures", len(heard[session.Lost](o))+len(heard[session.Lost](p)), 2)
}

// A set is won as a whole, and nothing of it is kept otherwise.
func TestSet(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("a", "b", "c")
	o.contend(1)
	m := take[*backend.AcquireRequest](r)
	check(t, "all or none", m.All, true)
	r.acquired(m, 7, 0, 9) // a and c it has from an attempt whose answer was lost
	check(t, "won", len(heard[session.Won](o)), 0)
	if lost := heard[session.Lost](o); len(lost) != 1 || len(lost[0].Holders) != 1 || lost[0].Holders[0].Name != "b" {
		t.Errorf("the owner heard %v, want who holds b", lost)
	}
	m2 := take[*backend.ReleaseRequest](r)
	check(t, "released", fmt.Sprint(m2.Leases), "[{a 7} {c 9}]")
	r.RunFor(params.RenewInterval - 1)
	none[*backend.AcquireRequest](r)
	r.tell(&backend.ReleaseAnswer{ID: m2.ID})
	r.acquired(take[*backend.AcquireRequest](r), 10, 11, 12)
	won := heard[session.Won](o)
	if len(won) != 1 || won[0].Candidacy != 1 || len(won[0].Terms) != 3 {
		t.Fatalf("the owner won %v, want three terms", won)
	}
	for i, tm := range won[0].Terms {
		check(t, "name", tm.Name(), o.names[i])
		check(t, "token", tm.Token(), uint64(10+i))
		check(t, "valid", tm.Valid(), true)
	}
	// They end one by one.
	term.End(won[0].Terms[1], term.Stopped)
	r.tell(session.Release{Term: won[0].Terms[1]})
	check(t, "released", fmt.Sprint(take[*backend.ReleaseRequest](r).Leases), "[{b 11}]")
	check(t, "held", r.view.Load().Leases, 2)
}

// contendTogether makes the owners of names contend in the same moment.
func (r *rig) contendTogether(names ...string) {
	for _, name := range names {
		r.session.Tell(session.Contend{Name: name, Candidacy: 1})
	}
	r.RunFor(0)
}

// keepAlive answers the renewal that is under way, if one is.
// tryAgain lets the attempt for a name be given up, and returns the next one.
func (r *rig) tryAgain(name string) *backend.AcquireRequest {
	r.RunFor(params.RenewInterval)
	r.keepAlive()
	r.tell(&backend.Vacated{Names: []string{name}})
	return take[*backend.AcquireRequest](r)
}

func (r *rig) keepAlive() {
	for _, m := range all[*backend.RenewRequest](r) {
		r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: params.Lease, Revision: 1}})
	}
}
