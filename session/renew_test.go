package session_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

var errStore = errors.New("the store is out of order")

// deadline returns how much later than from the session's deadline is.
func (r *rig) deadline(from time.Duration) time.Duration {
	r.t.Helper()
	at, open := r.view.Load().Deadline.At()
	if !open {
		r.t.Fatal("the deadline has passed")
	}
	return at.Sub(r.node.Now()) + (time.Duration(r.Now()) - from)
}

func (r *rig) state() session.State { return r.view.Load().State }

// R1: one renewal per interval, however many leases there are.
func TestOneRenewalForAllLeases(t *testing.T) {
	r := newLiveRig(t)
	var leases []backend.Lease
	for i := range 50 {
		name := fmt.Sprint("n", i)
		r.lead(name, 7)
		leases = append(leases, backend.Lease{Name: name, Token: 7})
	}
	for i := range 20 {
		r.passUntil(0, time.Duration(i+1)*params.RenewInterval-1)
		none[*backend.RenewRequest](r)
		r.RunFor(1)
		r.renewed(take[*backend.RenewRequest](r), 1, leases...)
	}
	check(t, "leases", r.view.Load().Leases, 50)
	check(t, "sessions ended", len(eventsOf[observe.SessionEnded](r)), 0)
}

// R7, R8: the deadline counts from when the request was sent, to the nanosecond.
func TestDeadlineCountsFromSending(t *testing.T) {
	for _, slow := range []time.Duration{0, 1, time.Second, 3*time.Second - 1} {
		t.Run(slow.String(), func(t *testing.T) {
			r := newRig(t, params)
			r.RunFor(slow)
			r.open(params.Lease)
			check(t, "deadline after opening", r.deadline(0), local)

			r.passUntil(0, params.RenewInterval)
			m := take[*backend.RenewRequest](r)
			r.RunFor(slow)
			r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: 10*time.Second - 1}})
			// 0.1 of the remaining time is lost, rounded up: another 0.9 ns, not 0.
			check(t, "deadline after renewing", r.deadline(params.RenewInterval), local-1)
			// The next renewal counts from there as well.
			r.passUntil(0, 2*params.RenewInterval-1)
			none[*backend.RenewRequest](r)
			r.RunFor(1)
			take[*backend.RenewRequest](r)
		})
	}
}

// R10, R7: an answer that comes one nanosecond before the deadline counts, and at
// the deadline it is too late: also for those who have not looked at their terms.
func TestAnswerAtTheDeadline(t *testing.T) {
	p := params
	p.RenewInterval = 4 * time.Second
	for _, tt := range []struct {
		name string
		at   time.Duration
		ok   bool
	}{
		{"just before", local - 1, true},
		{"at", local, false},
		{"after", local + time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, p)
			r.open(p.Lease)
			_, tm := r.lead("x", 7)
			r.passUntil(0, 4*time.Second)
			r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: errStore})
			r.passUntil(0, 8*time.Second) // the retry, not yet given up at the deadline
			all := all[*backend.RenewRequest](r)
			last := all[len(all)-1]
			// The machine sleeps until the answer is there: no timer goes off first.
			r.node.Pause()
			r.passUntil(0, tt.at)
			r.session.Tell(&backend.RenewAnswer{ID: last.ID, Renewal: backend.Renewal{Remaining: p.Lease}})
			r.node.Resume()
			r.RunFor(0)
			check(t, "term valid", tm.Valid(), tt.ok)
			if tt.ok {
				check(t, "state", r.state(), session.Live)
				return
			}
			check(t, "reason", tm.Reason(), term.DeadlinePassed)
			check(t, "state", r.state(), session.Opening)
			r.RunFor(time.Hour)
			check(t, "term valid an hour later", tm.Valid(), false)
		})
	}
}

// R10: somebody has seen the term invalid before the session handles the answer
// that was there in time by the clock of the session's own step.
func TestLatchedDeadlineStays(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	r.passUntil(0, params.RenewInterval)
	r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: errStore})
	m := r.renewal()
	// A reader in between the session's look at its deadline and the extension:
	// here, in the sink that it calls there.
	sink := r.sink
	r.sink = func(e observe.Event) {
		if _, ok := e.(observe.Renewed); ok {
			r.view.Load().Deadline.Latch()
		}
		sink(e)
	}
	r.renewed(m, 1, backend.Lease{Name: "x", Token: 7})
	check(t, "term valid", tm.Valid(), false)
	ended := heard[session.Ended](o)
	if len(ended) != 1 || ended[0].Reason != term.DeadlinePassed {
		t.Errorf("the owner heard %v, want one DEADLINE_PASSED", ended)
	}
	check(t, "resumed", len(eventsOf[observe.SessionResumed](r)), 0)
}

// R11: a call that hangs is given up after the interval, and only then is the next
// renewal sent.
func TestHungRenewalIsGivenUp(t *testing.T) {
	r := newLiveRig(t)
	r.passUntil(0, params.RenewInterval)
	m := take[*backend.RenewRequest](r)
	check(t, "timeout", m.Timeout, params.RenewInterval)
	r.passUntil(0, 2*params.RenewInterval-1)
	none[*backend.RenewRequest](r)
	check(t, "state", r.state(), session.Live)
	r.RunFor(1)
	check(t, "state", r.state(), session.Suspended)
	r.passUntil(0, local-1)
	if got := len(all[*backend.RenewRequest](r)); got == 0 {
		t.Error("no renewal was tried after the one that hung, before the deadline")
	}
}

// R12: the pause after a failure is half of what remains, but from the minimum
// back-off to the interval.
func TestRetryOfRenewals(t *testing.T) {
	for _, tt := range []struct{ failAt, retryAt time.Duration }{
		{3000 * time.Millisecond, 5950 * time.Millisecond}, // half of 5.9 s
		{4000 * time.Millisecond, 6450 * time.Millisecond}, // half of 4.9 s
		{6000 * time.Millisecond, 7450 * time.Millisecond}, // half of 2.9 s: the renewal hung until it was given up
	} {
		t.Run(tt.failAt.String(), func(t *testing.T) {
			r := newLiveRig(t)
			r.passUntil(0, params.RenewInterval)
			m := take[*backend.RenewRequest](r)
			r.passUntil(0, tt.failAt)
			r.tell(&backend.RenewAnswer{ID: m.ID, Err: errStore})
			r.passUntil(0, tt.retryAt-1)
			none[*backend.RenewRequest](r)
			r.RunFor(1)
			m = take[*backend.RenewRequest](r)
			// Half of what remains would soon be nothing.
			r.passUntil(0, local-300*time.Millisecond)
			r.tell(&backend.RenewAnswer{ID: m.ID, Err: errStore})
			r.passUntil(0, local-300*time.Millisecond+params.MinBackoff-1)
			none[*backend.RenewRequest](r)
			r.RunFor(1)
			take[*backend.RenewRequest](r)
		})
	}
	t.Run("not later than the interval", func(t *testing.T) {
		p := params
		p.Lease = 100 * time.Second
		r := newRig(t, p)
		r.open(p.Lease)
		r.RunFor(p.RenewInterval)
		r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: errStore})
		r.RunFor(p.RenewInterval - 1)
		none[*backend.RenewRequest](r)
		r.RunFor(1)
		take[*backend.RenewRequest](r)
	})
}

// R13: the newest answer sets the deadline, also to an earlier instant.
func TestLessIsGranted(t *testing.T) {
	r := newLiveRig(t)
	_, tm := r.lead("x", 7)
	r.passUntil(0, params.RenewInterval)
	m := take[*backend.RenewRequest](r)
	r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: 2 * time.Second}})
	check(t, "deadline", r.deadline(params.RenewInterval), 1700*time.Millisecond)
	r.passUntil(0, params.RenewInterval+1700*time.Millisecond-1)
	check(t, "valid before", tm.Valid(), true)
	r.RunFor(1)
	check(t, "valid after", tm.Valid(), false)
	check(t, "reason", tm.Reason(), term.DeadlinePassed)
}

// R13: what is granted may be over already.
func TestNothingIsGranted(t *testing.T) {
	for _, remaining := range []time.Duration{0, -time.Second, 111 * time.Millisecond} {
		r := newLiveRig(t)
		_, tm := r.lead("x", 7)
		r.passUntil(0, params.RenewInterval)
		m := take[*backend.RenewRequest](r)
		r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: remaining}})
		check(t, "valid", tm.Valid(), false)
		check(t, "reason", tm.Reason(), term.DeadlinePassed)
		check(t, "state", r.state(), session.Opening)
	}
}

// R14: a renewal that was given up must not move the deadline.
func TestLateRenewalIsIgnored(t *testing.T) {
	r := newLiveRig(t)
	r.passUntil(0, params.RenewInterval)
	m := take[*backend.RenewRequest](r)
	r.passUntil(0, 2*params.RenewInterval) // given up
	r.renewed(m, 1)
	check(t, "deadline", r.deadline(0), local)
	check(t, "state", r.state(), session.Suspended)
	// Nor may it be taken for the answer to the next one, nor come twice.
	r.RunFor(1450 * time.Millisecond)
	next := take[*backend.RenewRequest](r)
	r.renewed(m, 1)
	check(t, "state", r.state(), session.Suspended)
	r.renewed(next, 1)
	check(t, "state", r.state(), session.Live)
	at := r.deadline(0)
	r.RunFor(time.Second)
	r.renewed(next, 1)
	check(t, "deadline after a repeated answer", r.deadline(0), at)
}

// R2, R14: Expired is honoured also from a renewal that was given up, but not from
// one of an earlier session.
func TestLateExpiredIsHonoured(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	r.passUntil(0, params.RenewInterval)
	m := take[*backend.RenewRequest](r)
	r.passUntil(0, 2*params.RenewInterval)
	r.tell(&backend.RenewAnswer{ID: m.ID, Err: fmt.Errorf("wrapped: %w", backend.ErrExpired)})
	check(t, "reason", tm.Reason(), term.SessionExpired)
	if ended := heard[session.Ended](o); len(ended) != 1 || ended[0].Reason != term.SessionExpired {
		t.Errorf("the owner heard %v, want one SESSION_EXPIRED", ended)
	}
	r.RunFor(time.Second)
	r.open(params.Lease)
	r.tell(&backend.RenewAnswer{ID: m.ID, Err: backend.ErrExpired})
	check(t, "state of the next session", r.state(), session.Live)
}

// R2: whichever call brings the news that the session has expired, a new one is
// opened, and competes from the start.
func TestExpiredIsFinal(t *testing.T) {
	for _, tt := range []struct {
		name string
		news func(r *rig)
	}{
		{"renew", func(r *rig) {
			r.passUntil(0, params.RenewInterval)
			r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: backend.ErrExpired})
		}},
		{"acquire", func(r *rig) {
			r.join("y").contend(1)
			r.tell(&backend.AcquireAnswer{ID: take[*backend.AcquireRequest](r).ID, Err: backend.ErrExpired})
		}},
		{"release", func(r *rig) {
			o, tm := r.lead("y", 8)
			o.release(tm)
			r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID, Err: backend.ErrExpired})
			check(r.t, "releases settled", len(heard[session.Settled](o)), 1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			o, tm := r.lead("x", 7)
			waits := r.join("z")
			waits.contend(1)
			r.acquired(take[*backend.AcquireRequest](r), 0)
			r.invalidWhenEnded(tm)
			tt.news(r)
			check(t, "valid", tm.Valid(), false)
			check(t, "reason", tm.Reason(), term.SessionExpired)
			check(t, "told", len(heard[session.Ended](o)), 1)
			check(t, "state", r.state(), session.Opening)
			r.RunFor(2 * params.MinBackoff)
			all[*backend.AcquireRequest](r)
			id := r.open(params.Lease)
			m := take[*backend.AcquireRequest](r)
			if m.Session != id || m.Names[len(m.Names)-1] != "z" {
				t.Errorf("after a new session the backend got %+v, want an attempt for z", m)
			}
		})
	}
}

// invalidWhenEnded checks that a term is over when the first hears that its session
// has ended.
func (r *rig) invalidWhenEnded(tm *term.Term) {
	sink := r.sink
	r.sink = func(e observe.Event) {
		if _, ok := e.(observe.SessionEnded); ok {
			check(r.t, "valid when the end of the session is told", tm.Valid(), false)
		}
		sink(e)
	}
}

// R15: opening is retried with a back-off that doubles, with jitter.
func TestOpenBackoff(t *testing.T) {
	seen := make(map[time.Duration]bool)
	for range 3 {
		r := newRig(t, params)
		upper := 2 * params.MinBackoff
		for i := range 8 {
			from := r.Now()
			r.tell(&backend.OpenAnswer{ID: take[*backend.OpenRequest](r).ID, Err: errStore})
			lower := max(params.MinBackoff, upper/2)
			r.passUntil(from, lower-1)
			none[*backend.OpenRequest](r)
			if !r.RunUntil(upper-lower+1, func() bool { return len(r.requests) > 0 }) {
				t.Fatalf("failure %d: not tried again within %v", i+1, upper)
			}
			seen[r.Now().Sub(from)] = true
			upper = min(2*upper, params.RenewInterval)
		}
		failed := eventsOf[observe.OpenFailed](r)
		check(t, "events", len(failed), 8)
		check(t, "attempt of the last", failed[7].Attempt, 8)
		check(t, "cause of the last", failed[7].Err, errStore)
		if got := r.view.Load().LastErr; got != errStore {
			t.Errorf("the snapshot shows %v, want %v", got, errStore)
		}
		if len(seen) < 8 {
			t.Errorf("pauses %v: no jitter", seen)
		}
	}
}

// R15: a grant that is over when it arrives counts as a failure, and so does one
// without an id. A call that hangs is given up.
func TestOpenFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		grant backend.Grant
		slow  time.Duration
	}{
		{"nothing granted", backend.Grant{Session: "s"}, 0},
		{"no more than the margin", backend.Grant{Session: "s", Remaining: 111 * time.Millisecond}, 0},
		{"over when it arrives", backend.Grant{Session: "s", Remaining: 2 * time.Second}, 1700 * time.Millisecond},
		{"no id", backend.Grant{Remaining: params.Lease}, 0},
		{"given up", backend.Grant{Session: "s", Remaining: params.Lease}, params.RenewInterval},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, params)
			wait := r.ask(session.AwaitOpen{})
			m := take[*backend.OpenRequest](r)
			r.RunFor(tt.slow)
			r.tell(&backend.OpenAnswer{ID: m.ID, Grant: tt.grant})
			check(t, "state", r.state(), session.Opening)
			check(t, "failures", len(eventsOf[observe.OpenFailed](r)), 1)
			if tt.grant.Session != "" {
				check(t, "closed", take[*backend.CloseRequest](r).Session, "s")
			}
			check(t, "answered", wait.Done(), false)
			r.RunFor(2 * params.MinBackoff)
			r.open(params.Lease)
			check(t, "answer", wait.Answer, (any)(session.Done{}))
		})
	}
	t.Run("just in time", func(t *testing.T) {
		r := newRig(t, params)
		r.RunFor(1700*time.Millisecond - 1)
		r.open(2 * time.Second)
		check(t, "state", r.state(), session.Live)
	})
}

// A network may deliver the answer that opened the session twice. The copy must not
// make the session close itself; one of another session must.
func TestOpenAnsweredTwice(t *testing.T) {
	r := newRig(t, params)
	m := take[*backend.OpenRequest](r)
	a := &backend.OpenAnswer{ID: m.ID, Grant: backend.Grant{Session: "s", Remaining: params.Lease}}
	r.tell(a)
	r.tell(a)
	none[*backend.CloseRequest](r)
	r.tell(&backend.OpenAnswer{ID: m.ID, Grant: backend.Grant{Session: "s2", Remaining: params.Lease}})
	check(t, "closed", take[*backend.CloseRequest](r).Session, "s2")
	check(t, "current", r.view.Load().Session, "s")
}

// A backend that grants sessions and does not know them afterwards is not asked
// without a pause. After a session that was renewed, the next one is opened at once.
func TestSessionsThatEndAtOnce(t *testing.T) {
	r := newRig(t, params)
	r.join("x").contend(1)
	for r.Now() < 0+30*1e9 {
		r.open(params.Lease)
		r.tell(&backend.AcquireAnswer{ID: take[*backend.AcquireRequest](r).ID, Err: backend.ErrExpired})
		none[*backend.OpenRequest](r)
		if !r.RunUntil(params.RenewInterval, func() bool { return len(r.requests) > 0 }) {
			t.Fatal("no new session was asked for within an interval")
		}
	}
	if r.opened > 25 {
		t.Errorf("%d sessions were opened in 30 s", r.opened)
	}
	r.open(params.Lease)
	r.RunFor(params.RenewInterval)
	r.renewed(take[*backend.RenewRequest](r), 1)
	r.tell(&backend.AcquireAnswer{ID: take[*backend.AcquireRequest](r).ID, Err: backend.ErrExpired})
	take[*backend.OpenRequest](r)
}

// R49: when two renewals do not fit any more, a third of the local validity is the
// interval, and one event a session says so.
func TestShortLease(t *testing.T) {
	r := newRig(t, params)
	r.open(6 * time.Second) // 5.3 s can be relied on
	const interval = 5300 * time.Millisecond / 3
	for i := range 3 {
		r.passUntil(0, time.Duration(i+1)*interval-1)
		none[*backend.RenewRequest](r)
		r.RunFor(1)
		m := take[*backend.RenewRequest](r)
		check(t, "timeout", m.Timeout, interval)
		r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: 6 * time.Second}})
	}
	short := eventsOf[observe.SessionShortened](r)
	if len(short) != 1 || short[0] != (observe.SessionShortened{Session: "session-1", Asked: params.Lease, Granted: 6 * time.Second, Interval: interval}) {
		t.Errorf("events %+v, want one", short)
	}
	check(t, "interval shown", r.view.Load().Interval, interval)
	// Other calls are given up after the effective interval as well (R11).
	r.join("x").contend(1)
	check(t, "timeout of an attempt", take[*backend.AcquireRequest](r).Timeout, interval)
	// The full interval comes back with the full lease.
	r.RunFor(interval)
	m := take[*backend.RenewRequest](r)
	r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: params.Lease}})
	check(t, "interval shown", r.view.Load().Interval, params.RenewInterval)
}

// R49: exactly two renewals fit: one that is lost, a pause, and one that is answered
// in as long as the pause took.
func TestTwoRenewalsJustFit(t *testing.T) {
	for _, tt := range []struct{ granted, interval time.Duration }{
		// (6 s + 2 x 200 ms + 100 ms) / 0.9, up to the next nanosecond that can be granted
		{7222222223, 3 * time.Second},
		{7222222222, 6399999999 / 3},
		// A third of the one nanosecond that is left, which must not become none at all.
		{111111113, 1},
		{math.MaxInt64, 3 * time.Second},
	} {
		r := newRig(t, params)
		r.open(tt.granted)
		check(t, fmt.Sprint("interval for ", tt.granted), r.view.Load().Interval, tt.interval)
	}
}

// One renewal that is lost costs no term, whatever was granted and configured: there
// is time for another one, and for its answer.
func TestOneLostRenewal(t *testing.T) {
	for _, minBackoff := range []time.Duration{params.MinBackoff, params.RenewInterval / 2, params.RenewInterval} {
		for granted := time.Second; granted <= params.Lease; granted += 10 * time.Millisecond {
			p := params
			p.MinBackoff = minBackoff
			r := newRig(t, p)
			r.open(granted)
			interval := r.view.Load().Interval
			r.RunFor(interval)
			take[*backend.RenewRequest](r)
			r.RunFor(interval)
			at, open := r.view.Load().Deadline.At()
			left := at.Sub(r.node.Now())
			r.RunFor(left / 2)
			if m := all[*backend.RenewRequest](r); !open || left < interval/20 || len(m) == 0 {
				t.Fatalf("granted %v, minimum back-off %v, interval %v: after a lost renewal %v are left, and in the half of it %d were tried",
					granted, minBackoff, interval, left, len(m))
			}
		}
	}
}

// R49: a renew interval of half the lease never fits twice into what can be relied on
// of it. Renewals come more often then, but the backend has shortened nothing, and
// nobody is told that it has, before it does.
func TestIntervalTooLongForAFullLease(t *testing.T) {
	p := params
	p.RenewInterval = p.Lease / 2
	r := newRig(t, p)
	r.open(p.Lease)
	check(t, "interval", r.view.Load().Interval, local/3)
	if short := eventsOf[observe.SessionShortened](r); len(short) != 0 {
		t.Errorf("the whole lease was granted, and yet: %+v", short)
	}
	r.RunFor(local / 3)
	m := take[*backend.RenewRequest](r)
	r.tell(&backend.RenewAnswer{ID: m.ID, Renewal: backend.Renewal{Remaining: p.Lease - 1}})
	check(t, "shortened", len(eventsOf[observe.SessionShortened](r)), 1)
}

// A machine that wakes after the deadline finds many timers due. Whichever is first,
// the session has ended by then, and none of them does anything for it.
func TestTimersAfterTheDeadline(t *testing.T) {
	for at := time.Duration(0); at < local; at += 250 * time.Millisecond {
		r := newLiveRig(t)
		o, tm := r.lead("x", 7)
		p, tm2 := r.lead("y", 7)
		waits := r.join("z")
		waits.contend(1)
		r.acquired(take[*backend.AcquireRequest](r), 0)
		p.release(tm2)
		hangs, attempts := r.join("w"), 0
		r.OnSend(func(_, _ actor.Ref, msg actor.Message) {
			if m, ok := msg.(*backend.AcquireRequest); ok && slices.Contains(m.Names, "w") {
				attempts++
			}
		})
		hangs.contend(1)
		if at%500 == 0 {
			r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID, Err: errStore})
		}
		r.passUntil(0, at)
		r.requests = nil
		answered := len(eventsOf[observe.Attempted](r))
		r.node.Pause()
		r.passUntil(0, time.Minute)
		r.node.Resume()
		r.RunFor(0)
		check(t, "reason", tm.Reason(), term.DeadlinePassed)
		check(t, "told", len(heard[session.Ended](o)), 1)
		check(t, "settled", len(heard[session.Settled](p)), 1)
		all[*backend.WatchRequest](r)
		r.RunFor(2 * params.MinBackoff)
		if len(all[*backend.OpenRequest](r)) != 1 || len(r.requests) > 0 {
			t.Errorf("paused at %v, it sent %v besides a request for a new session", at, r.requests)
		}
		check(t, "attempts that came to an end after their session", len(eventsOf[observe.Attempted](r)), answered)
		check(t, "failures of the one whose attempts hung", len(heard[session.Lost](hangs)), attempts)
	}
}

// R5: the states, as the snapshots and the events show them.
func TestStates(t *testing.T) {
	r := newRig(t, params)
	check(t, "at first", r.view.Load(), (*session.Snapshot)(nil))
	r.open(params.Lease)
	check(t, "granted", r.state(), session.Live)
	fail := func() {
		r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: errStore})
	}
	r.RunFor(3 * time.Second)
	fail()
	check(t, "failed", r.state(), session.Suspended)
	if got := r.view.Load().LastErr; got != errStore {
		t.Errorf("the snapshot shows %v, want %v", got, errStore)
	}
	r.RunFor(2950 * time.Millisecond)
	fail()
	check(t, "failed again", r.state(), session.Suspended)
	check(t, "suspended", len(eventsOf[observe.SessionSuspended](r)), 1)
	r.RunFor(1475 * time.Millisecond)
	r.renewed(take[*backend.RenewRequest](r), 1)
	check(t, "succeeded", r.state(), session.Live)
	check(t, "resumed", len(eventsOf[observe.SessionResumed](r)), 1)
	check(t, "error", r.view.Load().LastErr, nil)
	r.RunFor(local)
	check(t, "deadline passed", r.state(), session.Opening)
	if v := r.view.Load(); v.Session != "" || v.Deadline != nil || v.Leases != 0 {
		t.Errorf("without a session the snapshot shows %+v", v)
	}
	ended := eventsOf[observe.SessionEnded](r)
	if len(ended) != 1 || ended[0].Reason != term.DeadlinePassed {
		t.Errorf("events %+v, want one with DEADLINE_PASSED", ended)
	}
	r.open(params.Lease)
	check(t, "granted anew", r.state(), session.Live)
	r.ask(session.Close{})
	check(t, "closed", r.state(), session.Closed)
}
