package election_test

import (
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// asks are the two voluntary ends, with the reason of the term and what the
// election sends once the handover is over: nothing in its cooldown, or that it
// leaves.
var asks = []struct {
	msg    any
	reason term.Reason
	after  []any
	status election.Status
}{
	{election.Stop{}, term.Stopped, []any{leave}, election.Stopped},
	{election.StepDown{Cooldown: time.Minute}, term.SteppedDown, nil, election.Candidate},
}

// TestHandoverWaitsForTheTask goes through R32 step by step.
func TestHandoverWaitsForTheTask(t *testing.T) {
	for _, ask := range asks {
		t.Run(ask.reason.String(), func(t *testing.T) {
			r := newRig(t)
			t1, _ := r.lead()
			r.wants(r.start(t1))
			r.sleep(time.Second)

			c := r.ask(ask.msg)
			r.wantStatus(election.SteppingDown)
			r.wants(cancel(t1, ask.reason))
			r.sleep(time.Second)
			if !t1.Valid() {
				t.Error("the task cannot flush under its token: the term is not valid in the handover")
			}
			r.wants()

			r.tell(election.TaskExited{Term: t1, Err: errors.New("cancelled")})
			r.wantEnded(t1, ask.reason) // before it is released: see TestProperties
			r.wants(append(append([]any{release(t1)}, ask.after...), r.revoked(t1, ask.reason))...)
			r.wantStatus(ask.status)
			r.tell(election.CallbackDone{Term: t1})
			if len(c.answers) > 0 {
				t.Error("the wait has ended before the lease was free")
			}
			r.tell(session.Settled{Term: t1})
			if !c.done() {
				t.Errorf("the answer is %v", c.answers)
			}
			if r.ended != (ask.status == election.Stopped) {
				t.Errorf("the actor has ended: %v", r.ended)
			}
			if got := emitted[observe.HandoverStarted](r); len(got) != 1 || got[0].Remaining != lease-time.Second {
				t.Errorf("the events are %+v", got)
			}
			if got := emitted[observe.HandoverTimedOut](r); len(got) > 0 {
				t.Errorf("the events are %+v", got)
			}
		})
	}
}

// TestCallerWaitsForOnRevoked (R32, R39) also if the lease is free before.
func TestCallerWaitsForOnRevoked(t *testing.T) {
	for _, ask := range asks {
		r := newRig(t, onlyListens)
		t1, _ := r.lead()
		c := r.ask(ask.msg)
		r.tell(session.Settled{Term: t1})
		r.sleep(time.Second)
		if len(c.answers) > 0 {
			t.Errorf("%T: the wait has ended before OnRevoked had run", ask.msg)
		}
		r.tell(election.CallbackDone{Term: t1})
		if !c.done() {
			t.Errorf("%T: the answer is %v", ask.msg, c.answers)
		}
	}
}

// TestHandoverWithoutTaskIsImmediate: nothing is cancelled, and nobody waits.
func TestHandoverWithoutTaskIsImmediate(t *testing.T) {
	for _, ask := range asks {
		r := newRig(t, onlyListens)
		t1, _ := r.lead()
		r.ask(ask.msg)
		r.wants(append(append([]any{release(t1)}, ask.after...), r.revoked(t1, ask.reason))...)
		r.wantEnded(t1, ask.reason)
	}
}

// TestD0DoesNotMove (R32): renewals go on during a handover, but the term ends at
// the deadline as it stood when the handover began, and not before.
func TestD0DoesNotMove(t *testing.T) {
	for _, hasty := range []bool{false, true} {
		for _, ask := range asks {
			r := newRig(t)
			if hasty { // the clock goes slower than the timers
				r.spy.early = func(d time.Duration) time.Duration { return max(1, d*9/10) }
			}
			t1, d := r.lead()
			r.wants(r.start(t1))
			r.sleep(time.Second)
			c := r.ask(ask.msg)
			r.wants(cancel(t1, ask.reason))
			r.sleep(time.Second)
			d.Extend(r.node.Now().Add(lease)) // a renewal; from now on the session is good for 10s
			r.sleep(lease - 2*time.Second - 1)
			r.wants()
			if !t1.Valid() {
				t.Errorf("%v: the term is over before D0", ask.reason)
			}
			if got := t1.Remaining(); got != 1 {
				t.Errorf("%v: %v remain to D0, want 1ns", ask.reason, got)
			}
			r.sleep(1)
			if t1.Valid() {
				t.Errorf("%v: the term is valid after D0", ask.reason)
			}
			r.wants(release(t1), r.revoked(t1, ask.reason))
			r.wantEnded(t1, ask.reason)
			if got := emitted[observe.HandoverTimedOut](r); len(got) != 1 {
				t.Errorf("%v: the events are %+v", ask.reason, got)
			}

			// The caller waits for the callbacks and the release, not for the task.
			r.tell(session.Settled{Term: t1}, election.CallbackDone{Term: t1})
			if !c.done() {
				t.Errorf("%v: the answer is %v", ask.reason, c.answers)
			}
			r.sleep(time.Hour)
			r.wants() // R31: nothing in this process acts under the name while the task runs
			if !r.view.Load().Running {
				t.Errorf("%v: the task is not shown as running", ask.reason)
			}
			if got := emitted[observe.TaskOverrunning](r); len(got) != 1 {
				t.Errorf("%v: the events are %+v", ask.reason, got)
			}
			r.tell(election.TaskExited{Term: t1})
			if ask.status == election.Stopped {
				r.wants(leave)
			} else {
				r.wants(contend(2)) // the cooldown is over by now
			}
			if r.ended != (ask.status == election.Stopped) {
				t.Errorf("%v: the actor has ended: %v", ask.reason, r.ended)
			}
		}
	}
}

// TestDeadlineBeforeD0 (R13): a backend that grants less ends the handover earlier.
func TestDeadlineBeforeD0(t *testing.T) {
	r := newRig(t)
	t1, d := r.lead()
	r.ask(election.Stop{})
	d.Extend(r.node.Now().Add(time.Second))
	r.sleep(time.Second)
	if t1.Valid() {
		t.Error("the term outlives its session")
	}
}

// TestLossDuringHandover: the handover ends with the reason of the loss, without a
// release, and without another wait for the task.
func TestLossDuringHandover(t *testing.T) {
	for _, ask := range asks {
		r := newRig(t)
		t1, _ := r.lead()
		r.wants(r.start(t1))
		c := r.ask(ask.msg)
		r.wants(cancel(t1, ask.reason))
		r.lose(t1, term.SessionExpired)
		r.wants(cancel(t1, term.SessionExpired), r.revoked(t1, term.SessionExpired))
		r.wantStatus(ask.status)
		r.tell(election.CallbackDone{Term: t1})
		if !c.done() {
			t.Errorf("%T: the answer is %v", ask.msg, c.answers)
		}
		r.sleep(30 * time.Second) // D0 passes, and means nothing any more
		r.wants()
		r.tell(election.TaskExited{Term: t1})
		r.wants(ask.after...) // in the cooldown of a step-down, nothing
		r.sleep(30 * time.Second)
		if ask.status == election.Candidate {
			r.wants(contend(2)) // R33: the cooldown counts from the call
		}
	}
}

// TestLossMeetsHandover: the session has ended the term when the handover begins,
// and its word arrives afterwards.
func TestLossMeetsHandover(t *testing.T) {
	for _, ask := range asks {
		r := newRig(t, onlyListens)
		t1, _ := r.lead()
		term.End(t1, term.TakenOver)
		c := r.ask(ask.msg)
		r.wants(append(append([]any{}, ask.after...), r.revoked(t1, term.TakenOver))...) // no release
		r.tell(session.Ended{Term: t1, Reason: term.TakenOver})
		r.wants() // R37: one OnRevoked
		r.tell(election.CallbackDone{Term: t1})
		if !c.done() {
			t.Errorf("%T: the answer is %v", ask.msg, c.answers)
		}
	}
}

// TestLossMeetsTaskExit in a handover.
func TestLossMeetsTaskExit(t *testing.T) {
	for _, ask := range asks {
		r := newRig(t)
		t1, _ := r.lead()
		r.wants(r.start(t1))
		r.ask(ask.msg)
		r.wants(cancel(t1, ask.reason))
		term.End(t1, term.DeadlinePassed)
		r.tell(election.TaskExited{Term: t1}, session.Ended{Term: t1, Reason: term.DeadlinePassed})
		r.wants(append(append([]any{}, ask.after...), r.revoked(t1, term.DeadlinePassed))...)
	}
}

// TestHandoverAfterTheDeadline: the session has not noticed yet that the deadline
// has passed. The task gets no more time.
func TestHandoverAfterTheDeadline(t *testing.T) {
	r := newRig(t)
	t1, _ := r.lead()
	r.wants(r.start(t1))
	r.sleep(lease + time.Second)
	r.ask(election.StepDown{Cooldown: time.Minute})
	r.wants(cancel(t1, term.SteppedDown), release(t1), r.revoked(t1, term.SteppedDown))
}

// TestStepDownsJoin (R33): the second joins the first, and the later end counts.
func TestStepDownsJoin(t *testing.T) {
	for _, cooldowns := range [][2]time.Duration{{20 * time.Second, time.Second}, {time.Second, 19 * time.Second}} {
		r := newRig(t)
		t1, _ := r.lead()
		r.wants(r.start(t1))
		first := r.ask(election.StepDown{Cooldown: cooldowns[0]})
		r.wants(cancel(t1, term.SteppedDown))
		r.sleep(time.Second)
		second := r.ask(election.StepDown{Cooldown: cooldowns[1]})
		r.wants() // one handover
		r.tell(election.TaskExited{Term: t1})
		r.wants(release(t1), r.revoked(t1, term.SteppedDown))
		r.tell(session.Settled{Term: t1}, election.CallbackDone{Term: t1})
		if !first.done() || !second.done() {
			t.Errorf("the answers are %v and %v", first.answers, second.answers)
		}
		r.sleep(19*time.Second - 1)
		r.wants()
		r.sleep(1)
		r.wants(contend(2))
	}
}

// TestStopJoinsStepDown (R33): it finishes that handover, and stops then.
func TestStopJoinsStepDown(t *testing.T) {
	r := newRig(t)
	t1, _ := r.lead()
	r.wants(r.start(t1))
	down := r.ask(election.StepDown{Cooldown: time.Second})
	r.wants(cancel(t1, term.SteppedDown))
	stop := r.ask(election.Stop{})
	late := r.ask(election.StepDown{Cooldown: time.Second})
	r.wants()
	r.wantStatus(election.SteppingDown)
	r.tell(election.TaskExited{Term: t1})
	r.wants(release(t1), leave, r.revoked(t1, term.SteppedDown))
	r.wantStatus(election.Stopped)
	if end := r.view.Load().Cooldown; end != 0 {
		t.Errorf("the stopped election has a cooldown until %v", end)
	}
	r.tell(session.Settled{Term: t1}, election.CallbackDone{Term: t1})
	if !down.done() || !stop.done() || !late.done() {
		t.Errorf("the answers are %v, %v and %v", down.answers, stop.answers, late.answers)
	}
	r.sleep(time.Hour)
	r.wants()
}

// TestStepDownJoinsStop: the election stops all the same.
func TestStepDownJoinsStop(t *testing.T) {
	r := newRig(t)
	t1, _ := r.lead()
	r.ask(election.Stop{})
	r.ask(election.StepDown{})
	r.tell(election.TaskExited{Term: t1})
	r.wantStatus(election.Stopped)
	r.wantEnded(t1, term.Stopped)
}

// TestStopWaitsForAnEarlierRelease: the program may end after Stop, and then nobody
// would repeat a release that has failed.
func TestStopWaitsForAnEarlierRelease(t *testing.T) {
	r := newRig(t, onlyListens)
	t1, _ := r.lead()
	r.ask(election.StepDown{Cooldown: time.Minute})
	r.tell(election.CallbackDone{Term: t1})
	stop := r.ask(election.Stop{})
	other, _ := r.newTerm(lease)
	r.tell(session.Settled{Term: other}) // a win that was given back, say
	if len(stop.answers) > 0 {
		t.Error("the wait has ended before the lease was free")
	}
	r.tell(session.Settled{Term: t1})
	if !stop.done() {
		t.Errorf("the answer is %v", stop.answers)
	}
}

// TestCallerWaitsForItsOwnHandoverOnly, not for one that began later.
func TestCallerWaitsForItsOwnHandoverOnly(t *testing.T) {
	r := newRig(t, onlyListens)
	t1, _ := r.lead()
	first := r.ask(election.StepDown{})
	r.tell(session.Settled{Term: t1}) // OnRevoked of t1 does not return for a while
	r.sent = nil
	t2, _ := r.newTerm(lease)
	r.tell(won(2, t2))
	second := r.ask(election.StepDown{})
	r.tell(election.CallbackDone{Term: t1})
	if !first.done() || len(second.answers) > 0 {
		t.Errorf("the answers are %v and %v", first.answers, second.answers)
	}
}

// TestSnapshotIsUpToDate when somebody hears from the election: in callbacks, in the
// task, and after Stop.
func TestSnapshotIsUpToDate(t *testing.T) {
	var r *rig
	var seen []election.Status
	look := hears(func() { seen = append(seen, r.view.Load().Status) })
	r = newRig(t, func(c *election.Config) { c.Host = look })
	t1, _ := r.win()                                // RunElected
	r.tell(election.CallbackDone{Term: t1})         // StartTask
	r.tell(actor.NewRequest(election.Stop{}, look)) // CancelTask
	r.tell(election.TaskExited{Term: t1})           // RunRevoked
	r.tell(election.CallbackDone{Term: t1}, session.Settled{Term: t1})
	want := []election.Status{election.Leader, election.Leader, election.SteppingDown, election.Stopped, election.Stopped}
	for i := range want {
		if i >= len(seen) || seen[i] != want[i] {
			t.Fatalf("the snapshots showed %v, want %v", seen, want)
		}
	}
}

type hears func()

func (h hears) Tell(actor.Message) { h() }
func (h hears) String() string     { return "hears" }
