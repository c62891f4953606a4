package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// renewal lets time pass until the next renewal, and takes it.
func (r *rig) renewal() *backend.RenewRequest {
	r.t.Helper()
	if !r.RunUntil(params.RenewInterval, func() bool { return has[*backend.RenewRequest](r) }) {
		r.t.Fatal("no renewal within an interval")
	}
	return take[*backend.RenewRequest](r)
}

// R24: a lease that is not listed, or with another token, is taken over.
func TestTakenOver(t *testing.T) {
	for _, tt := range []struct {
		name   string
		listed []backend.Lease
		lost   bool
	}{
		{"listed", []backend.Lease{{Name: "x", Token: 7}}, false},
		{"gone", nil, true},
		{"another name", []backend.Lease{{Name: "y", Token: 7}}, true},
		{"another token", []backend.Lease{{Name: "x", Token: 8}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			o, tm := r.lead("x", 7)
			r.renewed(r.renewal(), 1, tt.listed...)
			check(t, "valid", tm.Valid(), !tt.lost)
			ended := heard[session.Ended](o)
			if !tt.lost {
				check(t, "told", len(ended), 0)
				return
			}
			if len(ended) != 1 || ended[0].Reason != term.TakenOver || ended[0].Term != tm || tm.Reason() != term.TakenOver {
				t.Errorf("the owner heard %v, want one TAKEN_OVER", ended)
			}
			check(t, "state", r.state(), session.Live)
			check(t, "held", r.view.Load().Leases, 0)
			// What the owner does then is of no consequence, but it is told.
			r.tell(session.Release{Term: tm})
			check(t, "settled", len(heard[session.Settled](o)), 1)
		})
	}
}

// R24: the list judges only the terms that began before its renewal was sent.
func TestWonDuringRenewal(t *testing.T) {
	r := newLiveRig(t)
	r.RunFor(time.Second)
	r.join("late").contend(1)
	attempt := take[*backend.AcquireRequest](r)
	m := r.renewal()
	_, tm := r.lead("x", 7)
	r.acquired(attempt, 5) // it was sent before, but won after
	r.renewed(m, 1)        // the list is older than both
	check(t, "valid", tm.Valid(), true)
	check(t, "held", r.view.Load().Leases, 2)
	r.renewed(r.renewal(), 1) // this one is not
	check(t, "reason", tm.Reason(), term.TakenOver)
	check(t, "held", r.view.Load().Leases, 0)
}

// R24: the next renewal judges what was won during one that was given up.
func TestWonDuringHungRenewal(t *testing.T) {
	r := newLiveRig(t)
	late := r.renewal()
	_, tm := r.lead("x", 7)
	r.RunFor(params.RenewInterval)
	m := r.renewal()
	r.renewed(late, 1)
	check(t, "valid", tm.Valid(), true)
	r.renewed(m, 1)
	check(t, "reason", tm.Reason(), term.TakenOver)
}

// R24: small sessions compare the whole list each time, large ones in every eighth
// renewal, and after a call whose outcome is unknown.
func TestFullLists(t *testing.T) {
	for _, size := range []int{session.FullBelow, session.FullBelow + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := newLiveRig(t)
			var leases []backend.Lease
			var names []string
			for i := range size {
				leases = append(leases, backend.Lease{Name: name(i), Token: 7})
				names = append(names, name(i))
				r.session.Tell(actor.NewRequest(session.Join{Names: []string{name(i)}, Owner: &owner{}}, nobody{}))
			}
			r.contendTogether(names...)
			m := take[*backend.AcquireRequest](r)
			tokens := make([]uint64, size)
			for i := range tokens {
				tokens[i] = 7
			}
			r.acquired(m, tokens...)
			check(t, "held", r.view.Load().Leases, size)
			for i := 1; i <= 3*session.FullEvery; i++ {
				m := r.renewal()
				check(t, fmt.Sprint("renewal ", i, " asks for the whole list"), m.Full, size <= session.FullBelow || i%session.FullEvery == 0)
				check(t, "known", m.Known, uint64(min(i-1, 1)*5))
				answer := &backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: params.Lease, Revision: 5}}
				if i == 1 || m.Full {
					answer.Renewal.Complete, answer.Renewal.Leases = true, leases
				}
				r.tell(answer)
				check(t, "held", r.view.Load().Leases, size)
			}
			r.tell(&backend.RenewAnswer{ID: r.renewal().ID, Err: errStore})
			check(t, "after a failure", r.renewal().Full, true)
		})
	}
}

// R25: a lease that is listed, and behind which nothing stands, is released.
func TestOrphan(t *testing.T) {
	orphan := backend.Lease{Name: "x", Token: 7}
	for _, tt := range []struct {
		name   string
		before func(r *rig)
		want   string // what is released
	}{
		{"nobody", func(*rig) {}, "[[{x 7}]]"},
		{"an owner that does not contend", func(r *rig) { r.join("x") }, "[[{x 7}]]"},
		{"an owner that won another term", func(r *rig) { r.lead("x", 8) }, "[]"},
		{"an attempt under way", func(r *rig) { r.join("x").contend(1) }, "[]"},
		{"a release that is pending", func(r *rig) {
			o, tm := r.lead("x", 7)
			o.release(tm)
			take[*backend.ReleaseRequest](r)
		}, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			r.RunFor(params.RenewInterval - 1)
			m := r.renewal()
			tt.before(r)
			r.renewed(m, 1, orphan)
			var released [][]backend.Lease
			for _, m := range all[*backend.ReleaseRequest](r) {
				released = append(released, m.Leases)
			}
			check(t, "released", fmt.Sprint(released), tt.want)
		})
	}
}

// R25: a candidate that waits for its next attempt makes it at once when its name
// turns out to be its own, and is answered with that lease (R30).
func TestOrphanOfACandidate(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x")
	r.RunFor(params.RenewInterval - 500*time.Millisecond)
	o.contend(1)
	m := take[*backend.AcquireRequest](r)
	r.tell(&backend.AcquireAnswer{ID: m.ID, Err: errStore})
	r.renewed(r.renewal(), 1, backend.Lease{Name: "x", Token: 7})
	none[*backend.ReleaseRequest](r)
	r.acquired(take[*backend.AcquireRequest](r), 7)
	check(t, "token", o.term().Token(), 7)
}

// R25, with a set: what it owns of it after an answer was lost must not keep
// others from it for as long as the rest is not free.
func TestOrphanOfASet(t *testing.T) {
	r := newLiveRig(t)
	o := r.join("x", "y")
	r.RunFor(params.RenewInterval - 500*time.Millisecond)
	o.contend(1)
	r.tell(&backend.AcquireAnswer{ID: take[*backend.AcquireRequest](r).ID, Err: errStore})
	r.renewed(r.renewal(), 1, backend.Lease{Name: "x", Token: 7})
	r.acquired(take[*backend.AcquireRequest](r), 7, 0)
	check(t, "released", fmt.Sprint(take[*backend.ReleaseRequest](r).Leases), "[{x 7}]")
}

// A term that ended by its owner's will just when it was found missing is not
// reported as lost, and its release settles.
func TestMissingAndReleased(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	m := r.renewal()
	term.End(tm, term.Stopped) // and its Release is on the way
	r.renewed(m, 1)
	check(t, "told", len(heard[session.Ended](o)), 0)
	r.tell(session.Release{Term: tm})
	check(t, "settled", len(heard[session.Settled](o)), 1)
	none[*backend.ReleaseRequest](r)
}
