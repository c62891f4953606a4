package session_test

import (
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

// R23: a release carries the term's token, and the term has ended before, also if
// its owner has forgotten to end it.
func TestRelease(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	valid := true
	r.OnSend(func(_, _ actor.Ref, msg actor.Message) {
		if _, ok := msg.(*backend.ReleaseRequest); ok {
			valid = tm.Valid()
		}
	})
	r.tell(session.Release{Term: tm})
	m := take[*backend.ReleaseRequest](r)
	check(t, "valid when it is released", valid, false)
	check(t, "released", fmt.Sprint(m.Session, m.Leases, m.Timeout), "session-1[{x 7}] 3s")
	check(t, "reason", tm.Reason(), term.Stopped)
	check(t, "held", r.view.Load().Leases, 0)
	check(t, "settled too early", len(heard[session.Settled](o)), 0)
	r.tell(&backend.ReleaseAnswer{ID: m.ID})
	settled := heard[session.Settled](o)
	if len(settled) != 1 || settled[0].Term != tm {
		t.Errorf("the owner heard %v, want that its term has settled", settled)
	}
	r.tell(&backend.ReleaseAnswer{ID: m.ID})
	check(t, "settled again", len(heard[session.Settled](o)), 0)
}

// A release whose outcome is unknown is tried again, with a back-off, as long as
// the session lives. What was sent is not changed by that.
func TestReleaseIsRetried(t *testing.T) {
	r := newLiveRig(t)
	// As many as leave room behind them in memory, which must not be used.
	const n = 11
	var owners []*owner
	var terms []*term.Term
	for i := range n + 1 {
		o, tm := r.lead(name(i), 7)
		term.End(tm, term.Stopped)
		owners, terms = append(owners, o), append(terms, tm)
	}
	for i := range n {
		r.session.Tell(session.Release{Term: terms[i]})
	}
	r.RunFor(0)
	first := take[*backend.ReleaseRequest](r)
	sent := slices.Clone(first.Leases)
	check(t, "leases in the first call", len(sent), n)
	r.tell(session.Release{Term: terms[n]}) // gathers behind the first call
	none[*backend.ReleaseRequest](r)
	r.tell(&backend.ReleaseAnswer{ID: first.ID, Err: errStore})
	r.RunFor(params.MinBackoff - 1)
	none[*backend.ReleaseRequest](r)
	r.RunFor(params.MinBackoff + 1)
	second := take[*backend.ReleaseRequest](r)
	check(t, "the second call", fmt.Sprint(second.Leases), fmt.Sprint(append(sent, backend.Lease{Name: name(n), Token: 7})))
	check(t, "the first call, afterwards", fmt.Sprint(first.Leases), fmt.Sprint(sent))
	// That one hangs. A later one is answered, and then the one that was given up.
	r.keepAlive()
	r.RunFor(params.RenewInterval)
	r.keepAlive()
	r.RunFor(4 * params.MinBackoff)
	third := take[*backend.ReleaseRequest](r)
	settled := func() (n int) {
		for _, o := range owners {
			n += len(heard[session.Settled](o))
		}
		return n
	}
	r.tell(&backend.ReleaseAnswer{ID: second.ID})
	check(t, "settled by a call that was given up", settled(), 0)
	r.tell(&backend.ReleaseAnswer{ID: third.ID})
	check(t, "settled", settled(), n+1)
	var results []observe.Result
	for _, e := range eventsOf[observe.Released](r) {
		results = append(results, e.Result)
	}
	check(t, "events", fmt.Sprint(results), "[unknown unknown ok]")
}

// The pauses double, and a retry that an ended session had left does not cut them
// short for the next one.
func TestReleaseBackoff(t *testing.T) {
	r := newLiveRig(t)
	fail := func(pauses int) {
		last, upper := r.Now(), 2*params.MinBackoff
		r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID, Err: errStore})
		for range pauses {
			if !r.RunUntil(params.RenewInterval, func() bool { r.keepAlive(); return has[*backend.ReleaseRequest](r) }) {
				t.Fatal("a release was not tried again within an interval")
			}
			pause, lower := r.Now().Sub(last), max(params.MinBackoff, upper/2)
			if pause < lower || pause > upper {
				t.Errorf("a pause of %v, want %v to %v", pause, lower, upper)
			}
			last, upper = r.Now(), min(2*upper, params.RenewInterval)
			r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID, Err: errStore})
		}
	}
	o, tm := r.lead("x", 7)
	o.release(tm)
	fail(4)
	r.join("y").contend(1)
	r.tell(&backend.AcquireAnswer{ID: take[*backend.AcquireRequest](r).ID, Err: backend.ErrExpired})
	r.tell(session.Withdraw{Name: "y"})
	r.open(params.Lease)
	o, tm = r.lead("z", 8)
	o.release(tm)
	fail(6)
}

// The end of the session is the end of its releases: nobody waits any longer.
func TestReleaseEndsWithTheSession(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	p, tm2 := r.lead("y", 8)
	o.release(tm)
	first := take[*backend.ReleaseRequest](r)
	r.tell(&backend.ReleaseAnswer{ID: first.ID, Err: errStore})
	p.release(tm2)
	r.passUntil(0, local)
	check(t, "settled", len(heard[session.Settled](o))+len(heard[session.Settled](p)), 2)
	all[*backend.ReleaseRequest](r)
	// A retry of the old session must not reach into the next one.
	q := r.join("z")
	r.RunFor(2 * params.MinBackoff)
	r.open(params.Lease)
	q.contend(1)
	r.acquired(take[*backend.AcquireRequest](r), 9)
	q.release(q.term())
	check(t, "released", fmt.Sprint(take[*backend.ReleaseRequest](r).Leases), "[{z 9}]")
	r.tell(&backend.ReleaseAnswer{ID: first.ID})
	check(t, "settled by an answer to the old session", len(heard[session.Settled](q)), 0)
	// And a term of the old session is nothing to release in the new one.
	r.tell(session.Release{Term: tm})
	check(t, "settled at once", len(heard[session.Settled](o)), 1)
}

// While a release is pending, attempts for the name wait: also those of another
// owner, for the name is free for one at once.
func TestAttemptsWaitForTheRelease(t *testing.T) {
	for _, tt := range []struct {
		name string
		next func(r *rig, o *owner) *owner
	}{
		{"the same owner", func(r *rig, o *owner) *owner { return o }},
		{"another owner", func(r *rig, o *owner) *owner {
			r.tell(session.Leave{Name: "x", Owner: o})
			return r.join("x")
		}},
		{"a set", func(r *rig, o *owner) *owner {
			r.tell(session.Leave{Name: "x", Owner: o})
			return r.join("w", "x")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			o, tm := r.lead("x", 7)
			o.release(tm)
			m := take[*backend.ReleaseRequest](r)
			tt.next(r, o).contend(2)
			r.tell(&backend.Vacated{Names: []string{"x"}})
			r.RunFor(params.RenewInterval - 1)
			none[*backend.AcquireRequest](r)
			r.tell(&backend.ReleaseAnswer{ID: m.ID})
			take[*backend.AcquireRequest](r)
		})
	}
}

// Whoever leaves without a release gives up its term all the same.
func TestLeave(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	r.tell(session.Leave{Name: "x", Owner: o})
	check(t, "reason", tm.Reason(), term.Stopped)
	m := take[*backend.ReleaseRequest](r)
	check(t, "released", fmt.Sprint(m.Leases), "[{x 7}]")
	// It hears of its win only now, and releases it.
	r.tell(session.Release{Term: tm})
	none[*backend.ReleaseRequest](r)
	r.tell(&backend.ReleaseAnswer{ID: m.ID})
	check(t, "heard", len(heard[session.Ended](o))+len(heard[session.Settled](o)), 0)
}

// Releases travel together, in calls of a limited size, one after the other.
func TestReleasesTravelTogether(t *testing.T) {
	r := newLiveRig(t)
	const n = 2*backend.MaxBatch + 10
	owners := make([]*owner, n)
	for i := range owners {
		owners[i] = &owner{rig: r, names: []string{name(i)}}
		r.session.Tell(actor.NewRequest(session.Join{Names: owners[i].names, Owner: owners[i]}, nobody{}))
		r.session.Tell(session.Contend{Name: name(i), Candidacy: 1})
	}
	r.RunFor(0)
	for _, m := range all[*backend.AcquireRequest](r) {
		r.tell(answerWon(m, 7))
	}
	for _, o := range owners {
		tm := o.term()
		term.End(tm, term.Stopped)
		r.session.Tell(session.Release{Term: tm})
	}
	r.RunFor(0)
	var sizes []int
	for has[*backend.ReleaseRequest](r) {
		m := take[*backend.ReleaseRequest](r)
		none[*backend.ReleaseRequest](r)
		sizes = append(sizes, len(m.Leases))
		r.tell(&backend.ReleaseAnswer{ID: m.ID})
	}
	check(t, "calls", fmt.Sprint(sizes), "[1000 1000 10]")
}

func answerWon(m *backend.AcquireRequest, token uint64) *backend.AcquireAnswer {
	a := &backend.AcquireAnswer{ID: m.ID}
	for _, name := range m.Names {
		a.Outcomes = append(a.Outcomes, outcome(name, token))
	}
	return a
}

// A client that locks ever new names remembers none of them, whatever becomes of
// its calls: their answers are lost, late, or say that the lease is held.
func TestNothingIsRemembered(t *testing.T) {
	r := newLiveRig(t)
	rounds := 0
	check(t, "things remembered after 100 names", r.useNames(&rounds, 100), 0)
	check(t, "things remembered after 1,000 more", r.useNames(&rounds, 1000), 0)
	check(t, "sessions ended", len(eventsOf[observe.SessionEnded](r)), 0)
	for _, want := range []observe.Result{observe.Succeeded, observe.Unknown} {
		if !slices.ContainsFunc(eventsOf[observe.Released](r), func(e observe.Released) bool { return e.Result == want }) ||
			!slices.ContainsFunc(eventsOf[observe.Attempted](r), func(e observe.Attempted) bool { return e.Result == want }) {
			t.Errorf("no call was %q", want)
		}
	}
}

// useNames uses n new names, and returns how much the session remembers of them
// when the last call that might be answered late is forgotten.
func (r *rig) useNames(rounds *int, n int) int {
	for range n {
		r.useName(*rounds)
		*rounds++
	}
	for range 10 {
		r.live(params.Lease / 3)
		for _, m := range all[*backend.ReleaseRequest](r) {
			r.tell(&backend.ReleaseAnswer{ID: m.ID})
		}
	}
	return session.Footprint(r.behavior)
}

// useName joins, contends, wins perhaps, releases perhaps, and leaves.
func (r *rig) useName(round int) {
	name, token, fate := name(round), uint64(round+1), round%7
	o := r.join(name)
	o.contend(1)
	for _, m := range all[*backend.AcquireRequest](r) {
		switch {
		case m.Names[0] != name: // an earlier one, for which nobody waits
		case fate == 1: // lost
			r.live(params.RenewInterval)
		case fate == 2: // late
			r.live(params.RenewInterval)
			r.acquired(m, token)
		case fate == 3:
			r.acquired(m, 0)
		default:
			r.acquired(m, token)
		}
	}
	for _, w := range heard[session.Won](o) {
		if fate != 4 {
			o.release(w.Terms[0])
		}
	}
	r.tell(session.Leave{Name: name, Owner: o})
	for range 3 {
		for _, m := range all[*backend.ReleaseRequest](r) {
			if fate == 5 {
				r.tell(&backend.ReleaseAnswer{ID: m.ID, Err: errStore})
				r.live(params.RenewInterval)
				continue
			}
			r.tell(&backend.ReleaseAnswer{ID: m.ID})
		}
	}
	r.tell(session.Watch{Name: name, Watcher: o})
	r.tell(session.Unwatch{Name: name, Watcher: o})
	r.tell(actor.NewRequest(session.Inspect{Names: []string{name}}, nobody{}))
	r.live(time.Millisecond)
}

// live lets time pass, in which all renewals are answered, and list nothing.
func (r *rig) live(d time.Duration) {
	for end := r.Now().Add(d); r.Now() < end; {
		r.RunFor(min(end.Sub(r.Now()), 100*time.Millisecond))
		r.keepAlive()
	}
}
