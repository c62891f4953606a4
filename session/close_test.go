package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// R4, R23, R36: all terms have ended before the backend hears that the session is
// closed, and Close is answered when it has confirmed.
func TestClose(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	waits := r.join("y")
	waits.contend(1)
	r.acquired(take[*backend.AcquireRequest](r), 0)
	releasing, tm2 := r.lead("z", 8)
	releasing.release(tm2)
	r.tell(session.Watch{Name: "v", Watcher: waits})
	r.requests = nil

	reason := term.None
	r.OnSend(func(_, _ actor.Ref, msg actor.Message) {
		if _, ok := msg.(*backend.CloseRequest); ok {
			reason = tm.Reason()
		}
	})
	r.invalidWhenEnded(tm)
	reply := r.ask(session.Close{})
	m := take[*backend.CloseRequest](r)
	check(t, "reason when it is closed", reason, term.Stopped)
	check(t, "closed", m.Session, "session-1")
	check(t, "answered too early", reply.Done(), false)
	if ended := heard[session.Ended](o); len(ended) != 1 || ended[0].Reason != term.Stopped {
		t.Errorf("the owner of a term heard %v, want one STOPPED", ended)
	}
	if lost := heard[session.Lost](waits); fmt.Sprintf("%T", lost[len(lost)-1].Err) != "*session.ClosedError" {
		t.Errorf("the candidate heard %v, want a ClosedError", lost)
	}
	check(t, "releases settled", len(heard[session.Settled](releasing)), 1)
	check(t, "unwatched", fmt.Sprint(take[*backend.WatchRequest](r).Remove), "[v y]")
	again := r.ask(session.Close{})
	r.tell(&backend.CloseAnswer{ID: m.ID})
	check(t, "answer", reply.Answer, (any)(session.Done{}))
	check(t, "answer to the second", again.Answer, (any)(session.Done{}))
	check(t, "answer to a third", r.ask(session.Close{}).Answer, (any)(session.Done{}))

	// R36: everything after that is an error, and nothing reaches the backend.
	for _, msg := range []actor.Message{
		session.Join{Names: []string{"w"}, Owner: o}, session.AwaitOpen{}, session.Inspect{Names: []string{"x"}},
	} {
		if _, ok := r.ask(msg).Answer.(*session.ClosedError); !ok {
			t.Errorf("%T after Close is not answered by a ClosedError", msg)
		}
	}
	heard[session.Lost](waits)
	waits.contend(2)
	if lost := heard[session.Lost](waits); len(lost) != 1 || fmt.Sprintf("%T", lost[0].Err) != "*session.ClosedError" {
		t.Errorf("contending after Close: %v, want one ClosedError", lost)
	}
	r.tell(session.Watch{Name: "x", Watcher: o})
	r.RunFor(time.Hour)
	if len(r.requests) > 0 {
		t.Errorf("after Close the backend got %v", r.requests)
	}
	ended := eventsOf[observe.SessionEnded](r)
	if len(ended) != 1 || ended[0].Reason != term.Stopped {
		t.Errorf("events %v, want one STOPPED", ended)
	}
}

// Close during an attempt and a renewal: their answers come to nothing.
func TestCloseDuringCalls(t *testing.T) {
	r := newLiveRig(t)
	r.RunFor(time.Second)
	o := r.join("x")
	o.contend(1)
	attempt := take[*backend.AcquireRequest](r)
	renewal := r.renewal()
	reply := r.ask(session.Close{})
	if lost := heard[session.Lost](o); len(lost) == 0 || fmt.Sprintf("%T", lost[len(lost)-1].Err) != "*session.ClosedError" {
		t.Errorf("the candidate heard %v, want a ClosedError", lost)
	}
	r.acquired(attempt, 7)
	r.renewed(renewal, 1, backend.Lease{Name: "x", Token: 7})
	check(t, "won", len(heard[session.Won](o)), 0)
	check(t, "state", r.state(), session.Closed)
	// Should the backend not hear of the close, the lease is free all the same.
	check(t, "released", fmt.Sprint(take[*backend.ReleaseRequest](r).Leases), "[{x 7}]")
	r.tell(&backend.CloseAnswer{ID: take[*backend.CloseRequest](r).ID})
	check(t, "answer", reply.Answer, (any)(session.Done{}))
	r.RunFor(time.Hour)
	if len(r.requests) > 0 {
		t.Errorf("after Close the backend got %v", r.requests)
	}
}

// A client can be closed before it has a session, and an answer that comes later
// does not leave one behind.
func TestCloseWhileOpening(t *testing.T) {
	r := newRig(t, params)
	wait := r.ask(session.AwaitOpen{})
	m := take[*backend.OpenRequest](r)
	reply := r.ask(session.Close{})
	check(t, "answer", reply.Answer, (any)(session.Done{}))
	if _, ok := wait.Answer.(*session.ClosedError); !ok {
		t.Errorf("who waits for a session is answered %v, want a ClosedError", wait.Answer)
	}
	r.tell(&backend.OpenAnswer{ID: m.ID, Grant: backend.Grant{Session: "late", Remaining: params.Lease}})
	check(t, "closed", take[*backend.CloseRequest](r).Session, "late")
	r.RunFor(time.Hour)
	check(t, "state", r.state(), session.Closed)
	check(t, "failures reported", len(eventsOf[observe.OpenFailed](r)), 0)
	none[*backend.OpenRequest](r)
}

// Close between two tries to open.
func TestCloseDuringBackoff(t *testing.T) {
	r := newRig(t, params)
	r.tell(&backend.OpenAnswer{ID: take[*backend.OpenRequest](r).ID, Err: errStore})
	check(t, "answer", r.ask(session.Close{}).Answer, (any)(session.Done{}))
	r.RunFor(time.Hour)
	none[*backend.OpenRequest](r)
}

// Close is told to the backend again and again, but not after the session has
// expired by itself. It always comes back.
func TestCloseIsRetried(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(r *rig, m *backend.CloseRequest)
		once   bool
	}{
		{"confirmed", func(r *rig, m *backend.CloseRequest) { r.tell(&backend.CloseAnswer{ID: m.ID}) }, true},
		{"expired", func(r *rig, m *backend.CloseRequest) {
			r.tell(&backend.CloseAnswer{ID: m.ID, Err: backend.ErrExpired})
		}, true},
		{"failing", func(r *rig, m *backend.CloseRequest) { r.tell(&backend.CloseAnswer{ID: m.ID, Err: errStore}) }, false},
		{"hanging", func(*rig, *backend.CloseRequest) {}, false},
	} {
		for _, suspended := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " suspended ", suspended), func(t *testing.T) {
				r := newLiveRig(t)
				if suspended {
					r.RunFor(params.RenewInterval)
					r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: errStore})
				}
				reply := r.ask(session.Close{})
				calls := 0
				var last time.Duration
				for end := r.Now().Add(time.Minute); !reply.Done() && r.Now() < end; r.RunFor(10 * time.Millisecond) {
					for _, m := range all[*backend.CloseRequest](r) {
						calls, last = calls+1, time.Duration(r.Now())
						tt.answer(r, m)
					}
				}
				check(t, "answer", reply.Answer, (any)(session.Done{}))
				if tt.once != (calls == 1) {
					t.Errorf("the backend was told %d times", calls)
				}
				if last > local+10*time.Millisecond || time.Duration(r.Now()) > local+params.RenewInterval {
					t.Errorf("told last after %v and answered after %v, of a session that ends after %v", last, time.Duration(r.Now()), local)
				}
				none[*backend.RenewRequest](r)
			})
		}
	}
}

// An actor that is stopped without Close, or that panics, leaves no term behind
// that looks valid, and nobody who waits for ever.
func TestEndOfTheActor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func(r *rig)
		reason term.Reason
	}{
		{"stopped", func(r *rig) { r.node.Stop(r.session) }, term.Stopped},
		{"panic", func(r *rig) {
			r.OnReport = func(actor.Ref, error) {}
			r.sink = func(observe.Event) { panic("a bug") }
			r.RunFor(params.RenewInterval)
			r.tell(&backend.RenewAnswer{ID: take[*backend.RenewRequest](r).ID, Err: errStore})
		}, term.DeadlinePassed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			o, tm := r.lead("x", 7)
			releasing, tm2 := r.lead("y", 8)
			releasing.release(tm2)
			inspect := r.ask(session.Inspect{})
			tt.end(r)
			r.RunFor(0)
			check(t, "valid", tm.Valid(), false)
			check(t, "reason", tm.Reason(), tt.reason)
			check(t, "told", len(heard[session.Ended](o)), 1)
			check(t, "settled", len(heard[session.Settled](releasing)), 1)
			if _, ok := inspect.Answer.(*session.ClosedError); !ok {
				t.Errorf("who waits for an inspection is answered %v", inspect.Answer)
			}
		})
	}
	t.Run("stopped while it closes", func(t *testing.T) {
		r := newLiveRig(t)
		reply := r.ask(session.Close{})
		r.node.Stop(r.session)
		r.RunFor(0)
		if _, ok := reply.Answer.(*session.ClosedError); !ok {
			t.Errorf("Close is answered %v", reply.Answer)
		}
	})
	t.Run("panic while it opens", func(t *testing.T) {
		r := newRig(t, params)
		wait := r.ask(session.AwaitOpen{})
		r.OnReport = func(actor.Ref, error) {}
		r.sink = func(observe.Event) { panic("a bug") }
		r.open(params.Lease)
		if _, ok := wait.Answer.(*session.ClosedError); !ok {
			t.Errorf("who waits for a session is answered %v", wait.Answer)
		}
	})
	t.Run("stopping tells the backend", func(t *testing.T) {
		r := newLiveRig(t)
		r.node.Stop(r.session)
		r.RunFor(0)
		check(t, "closed", take[*backend.CloseRequest](r).Session, "session-1")
	})
}

// Whoever hears of a change finds it in the snapshot.
func TestSnapshotComesFirst(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func(r *rig, o *owner, tm *term.Term)
		state  session.State
		leases int
	}{
		{"deadline passed", func(r *rig, _ *owner, _ *term.Term) { r.RunFor(local) }, session.Opening, 0},
		{"taken over", func(r *rig, _ *owner, _ *term.Term) { r.renewed(r.renewal(), 1, backend.Lease{Name: "y", Token: 7}) }, session.Live, 1},
		{"released", func(r *rig, o *owner, tm *term.Term) {
			o.release(tm)
			r.tell(&backend.ReleaseAnswer{ID: take[*backend.ReleaseRequest](r).ID})
		}, session.Live, 1},
		{"closed", func(r *rig, _ *owner, _ *term.Term) { r.ask(session.Close{}) }, session.Closed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLiveRig(t)
			o, tm := r.lead("x", 7)
			r.lead("y", 7)
			check(t, "leases when it was told that it won", o.saw[0].Leases, 1)
			sink := r.sink
			r.sink = func(e observe.Event) {
				if _, ok := e.(observe.SessionEnded); ok {
					check(t, "state when the end of the session is told", r.state(), tt.state)
				}
				sink(e)
			}
			tt.end(r, o, tm)
			last := o.saw[len(o.saw)-1]
			check(t, "times told", len(o.saw), 2)
			check(t, "state when it was told", last.State, tt.state)
			check(t, "leases when it was told", last.Leases, tt.leases)
		})
	}
}

// What a session does not know is reported as a bug.
func TestUnknownMessages(t *testing.T) {
	for _, msg := range []actor.Message{"hello", actor.NewRequest("hello", nobody{}), backend.Vacated{}} {
		r := newLiveRig(t)
		var got error
		r.OnReport = func(_ actor.Ref, err error) { got = err }
		r.tell(msg)
		if got == nil {
			t.Errorf("%T: nothing was reported", msg)
		}
	}
}

// Check makes a session look at its deadline that was asleep with its timers.
func TestCheck(t *testing.T) {
	r := newLiveRig(t)
	o, tm := r.lead("x", 7)
	r.RunFor(params.RenewInterval)
	r.node.Pause() // takes the timers with it, which is what being asleep is like
	r.passUntil(0, local)
	r.session.Tell(session.Check{})
	r.node.Resume()
	r.Step()
	r.RunFor(0)
	check(t, "reason", tm.Reason(), term.DeadlinePassed)
	check(t, "told", len(heard[session.Ended](o)), 1)
}
