package election_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

var errBoom = errors.New("boom")

// TestPairingWhenLostBeforeOnElected (R37): it still runs, and OnRevoked after it.
func TestPairingWhenLostBeforeOnElected(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.wants(r.elected(t1))
	r.lose(t1, term.TakenOver)
	r.wants(contend(2))
	r.tell(election.CallbackDone{Term: t1})
	r.wants(r.revoked(t1, term.TakenOver)) // and the task does not start
	r.tell(election.CallbackDone{Term: t1})
	r.wants()
}

// TestPairingWhenHandedOverBeforeOnElected: the task does not start either.
func TestPairingWhenHandedOverBeforeOnElected(t *testing.T) {
	for _, ask := range asks {
		r := newRig(t)
		t1, _ := r.win()
		r.wants(r.elected(t1))
		c := r.ask(ask.msg)
		r.wants(append([]any{release(t1)}, ask.after...)...)
		r.tell(session.Settled{Term: t1})
		r.tell(election.CallbackDone{Term: t1})
		r.wants(r.revoked(t1, ask.reason))
		if len(c.answers) > 0 {
			t.Errorf("%T: the wait has ended before OnRevoked had run", ask.msg)
		}
		r.tell(election.CallbackDone{Term: t1})
		if !c.done() {
			t.Errorf("%T: the answer is %v", ask.msg, c.answers)
		}
	}
}

// TestCallbacksQueue (R38): one at a time and in order, also over several terms,
// while the election goes on.
func TestCallbacksQueue(t *testing.T) {
	r := newRig(t, onlyListens)
	t1, _ := r.win()
	r.wants(r.elected(t1))
	r.lose(t1, term.TakenOver)
	t2, _ := r.win()
	r.lose(t2, term.SessionExpired)
	r.wants(contend(3))
	r.wantStatus(election.Candidate)
	other, _ := r.newTerm(lease)
	r.tell(election.CallbackDone{Term: other}, election.CallbackRefused{Term: t2, Err: errBoom})
	r.wants() // those are not the one that is under way
	r.tell(election.CallbackDone{Term: t1})
	r.wants(r.revoked(t1, term.TakenOver))
	r.tell(election.CallbackDone{Term: t1})
	r.wants(r.elected(t2))
	r.tell(election.CallbackDone{Term: t2})
	r.wants(r.revoked(t2, term.SessionExpired))
	r.tell(election.CallbackDone{Term: t2})
	r.wants()
}

// TestCallbackPanics (R43): it is reported, and everything goes on.
func TestCallbackPanics(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.tell(election.CallbackDone{Term: t1, Err: errBoom})
	r.wants(r.elected(t1), r.start(t1))
	want := observe.CallbackFailed{Name: name, Token: t1.Token(), Err: errBoom}
	if got := emitted[observe.CallbackFailed](r); len(got) != 1 || got[0] != want {
		t.Errorf("the events are %+v", got)
	}
	if got := r.view.Load().LastErr; got != errBoom {
		t.Errorf("the last error is %v", got)
	}
	c := r.ask(election.Stop{})
	r.tell(election.TaskExited{Term: t1}, session.Settled{Term: t1})
	r.tell(election.CallbackDone{Term: t1, Err: errBoom})
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
	if got := emitted[observe.CallbackFailed](r); len(got) != 2 {
		t.Errorf("the events are %+v", got)
	}
}

// TestRefusedOnElected (R42): nobody learns of the term, its task never starts, and
// the election steps down for one lease.
func TestRefusedOnElected(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.wants(r.elected(t1))
	r.tell(election.CallbackRefused{Term: t1, Err: errBoom})
	r.wants(release(t1)) // and no OnRevoked
	r.wantEnded(t1, term.SteppedDown)
	want := observe.CallbackRefused{Name: name, Token: t1.Token(), Err: errBoom}
	if got := emitted[observe.CallbackRefused](r); len(got) != 1 || got[0] != want {
		t.Errorf("the events are %+v", got)
	}
	r.tell(session.Settled{Term: t1})
	r.sleep(lease - 1)
	r.wants()
	r.sleep(1)
	r.wants(contend(2))

	// The next term is a new chance.
	t2, _ := r.lead()
	r.wants(r.start(t2))
	r.ask(election.StepDown{})
	r.tell(election.TaskExited{Term: t2})
	r.wants(cancel(t2, term.SteppedDown), release(t2), contend(3), r.revoked(t2, term.SteppedDown))
}

// TestRefusedAfterTheTerm: the refusal of a term that is over by then, with its
// OnRevoked queued. That is not delivered, the wait of callers does not miss it, and
// the candidate still steps down.
func TestRefusedAfterTheTerm(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.lose(t1, term.TakenOver)
	r.wants(r.elected(t1), contend(2))
	c := r.ask(election.StepDown{Cooldown: time.Second})
	if len(c.answers) > 0 {
		t.Errorf("the answer came before the callbacks: %v", c.answers)
	}
	r.tell(election.CallbackRefused{Term: t1, Err: errBoom})
	r.wants(withdraw)
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
	r.sleep(lease - 1)
	r.wants()
	r.sleep(1)
	r.wants(contend(2 + 1))
}

// TestRefusedDuringStop: the caller of Stop does not wait for what will never run.
func TestRefusedDuringStop(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	c := r.ask(election.Stop{})
	r.tell(session.Settled{Term: t1}, election.CallbackRefused{Term: t1, Err: errBoom})
	r.wants(r.elected(t1), release(t1), leave)
	if !c.done() || !r.ended {
		t.Errorf("the answer is %v, and the actor has ended: %v", c.answers, r.ended)
	}
}

// TestRefusalSparesALaterTerm that was won meanwhile.
func TestRefusalSparesALaterTerm(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.lose(t1, term.TakenOver)
	t2, _ := r.win()
	r.sent = nil
	r.tell(election.CallbackRefused{Term: t1, Err: errBoom})
	r.wants(r.elected(t2))
	r.wantStatus(election.Leader)
	r.tell(election.CallbackDone{Term: t2})
	r.wants(r.start(t2))
}

// TestStopKeepsTheListenerQuiet (R39): after its answer nothing is asked of the host.
func TestStopKeepsTheListenerQuiet(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.lose(t1, term.TakenOver)
	t2, _ := r.win() // both have their callbacks to come
	c := r.ask(election.Stop{})
	r.tell(session.Settled{Term: t2})
	for _, tm := range []*term.Term{t1, t1, t2} {
		r.tell(election.CallbackDone{Term: tm})
		if len(c.answers) > 0 {
			t.Fatalf("the answer came before the last callback: %v", c.answers)
		}
	}
	r.tell(election.CallbackDone{Term: t2})
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
	r.sent = nil
	r.tell(session.Ended{Term: t2, Reason: term.TakenOver}, election.CallbackDone{Term: t2})
	r.sleep(time.Hour)
	r.wants()
}

// TestTaskWithoutListener: the task starts and the caller's wait ends without one.
func TestTaskWithoutListener(t *testing.T) {
	r := newRig(t, onlyWorks)
	t1, _ := r.win()
	r.wants(r.start(t1))
	c := r.ask(election.Stop{})
	r.tell(election.TaskExited{Term: t1})
	r.wants(cancel(t1, term.Stopped), release(t1), leave)
	r.tell(session.Settled{Term: t1})
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
}

// TestNobodyListens: an election without a host, which somebody watches by its
// snapshot.
func TestNobodyListens(t *testing.T) {
	r := newRig(t, onlyListens, onlyWorks, func(c *election.Config) { c.Host = nil })
	t1, _ := r.win()
	r.wantStatus(election.Leader)
	r.lose(t1, term.TakenOver)
	t2, _ := r.win()
	c := r.ask(election.Stop{})
	r.tell(session.Settled{Term: t2})
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
}
