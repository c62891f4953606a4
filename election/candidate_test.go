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

// TestContends: a candidate stands once it is told to start, and wins terms.
func TestContends(t *testing.T) {
	r := newRig(t)
	r.wants(contend(1))
	r.tell(election.Start{})
	r.wants() // one candidacy at a time

	t1, _ := r.win()
	r.wants(r.elected(t1))
	r.wantStatus(election.Leader)
	if s := r.view.Load(); s.Term != t1 || s.Running {
		t.Errorf("the snapshot is %+v", s)
	}
	if got := emitted[observe.Elected](r); len(got) != 1 || got[0] != (observe.Elected{Name: name, Token: t1.Token()}) {
		t.Errorf("the events are %+v", got)
	}
}

// TestInvoluntaryLossLeadsBackToCandidate (R31), with each reason.
func TestInvoluntaryLossLeadsBackToCandidate(t *testing.T) {
	for _, reason := range []term.Reason{term.DeadlinePassed, term.SessionExpired, term.TakenOver} {
		t.Run(reason.String(), func(t *testing.T) {
			r := newRig(t)
			t1, _ := r.lead()
			r.wants(r.start(t1))
			r.lose(t1, reason)
			r.wantStatus(election.Candidate)
			// The task is cancelled and not waited for by OnRevoked; no attempt is made.
			r.wants(cancel(t1, reason), r.revoked(t1, reason))
			r.tell(election.CallbackDone{Term: t1})
			r.sleep(time.Hour)
			r.wants()
			r.tell(election.TaskExited{Term: t1})
			r.wants(contend(2)) // R31: not before the old task has exited
			r.wantEnded(t1, reason)
			if got := emitted[observe.Revoked](r); len(got) != 1 || got[0].Reason != reason {
				t.Errorf("the events are %+v", got)
			}
		})
	}
}

// TestLossWithoutTaskContendsAtOnce also while OnRevoked runs.
func TestLossWithoutTaskContendsAtOnce(t *testing.T) {
	r := newRig(t, onlyListens)
	t1, _ := r.lead()
	r.lose(t1, term.TakenOver)
	r.wants(contend(2), r.revoked(t1, term.TakenOver))
}

// TestEndedIsForTheCurrentTermOnly: the word about an old term changes nothing.
func TestEndedIsForTheCurrentTermOnly(t *testing.T) {
	r := newRig(t, onlyListens)
	t1, _ := r.lead()
	r.lose(t1, term.TakenOver)
	r.tell(election.CallbackDone{Term: t1})
	r.sent = nil
	t2, _ := r.lead()
	r.tell(session.Ended{Term: t1, Reason: term.TakenOver})
	r.wants()
	r.wantStatus(election.Leader)
	if !t2.Valid() {
		t.Error("the new term is not valid")
	}
}

// TestStaleWinIsGivenBack (R28, R29): a win that was on its way when the election
// withdrew never becomes a term, and is over before it is released (R23).
func TestStaleWinIsGivenBack(t *testing.T) {
	for _, ask := range []any{election.StepDown{Cooldown: time.Minute}, election.Stop{}} {
		r := newRig(t)
		// A callback that does not return keeps the actor alive after Stop.
		t0, _ := r.win()
		r.lose(t0, term.TakenOver)
		r.sent = nil
		t1, _ := r.newTerm(lease)
		r.tell(actor.NewRequest(ask, &caller{}), won(2, t1))
		r.wantEnded(t1, term.Stopped)
		want := []any{withdraw, release(t1)}
		if _, stop := ask.(election.Stop); stop {
			want = []any{withdraw, leave, release(t1)}
		}
		r.wants(want...)
		if n := len(emitted[observe.Elected](r)); n != 1 {
			t.Errorf("%T: %d terms were announced, want the first only", ask, n)
		}
	}
}

// TestWinOfAnEarlierCandidacyIsGivenBack although the election stands again (R28).
func TestWinOfAnEarlierCandidacyIsGivenBack(t *testing.T) {
	r := newRig(t)
	r.ask(election.StepDown{Cooldown: time.Second})
	r.sleep(time.Second)
	r.wants(contend(1), withdraw, contend(2))
	t1, _ := r.newTerm(lease)
	r.tell(won(1, t1))
	r.wants(release(t1))
	r.wantEnded(t1, term.Stopped)
	r.wantStatus(election.Candidate)
	t2, _ := r.newTerm(lease)
	r.tell(won(2, t2))
	r.wants(r.elected(t2))
}

// TestLastErrorOfAnAttempt shows in the snapshot.
func TestLastErrorOfAnAttempt(t *testing.T) {
	r := newRig(t)
	err := errors.New("the store is down")
	r.tell(session.Lost{Candidacy: 1, Err: err})
	if got := r.view.Load().LastErr; got != err {
		t.Errorf("the last error is %v", got)
	}
	r.tell(session.Lost{Candidacy: 1}, session.Lost{Candidacy: 7, Err: errors.New("of another")})
	if got := r.view.Load().LastErr; got != err {
		t.Errorf("the last error became %v", got)
	}
	r.wants(contend(1))
}

// TestCandidateCooldown (R33): counted from the call, the later end wins, and no
// attempt during it, however early timers fire.
func TestCandidateCooldown(t *testing.T) {
	for _, hasty := range []bool{false, true} {
		r := newRig(t)
		if hasty {
			r.spy.early = func(d time.Duration) time.Duration { return max(1, d*9/10) }
		}
		r.wants(contend(1))
		first := r.ask(election.StepDown{Cooldown: 10 * time.Second})
		if !first.done() {
			t.Fatalf("a candidate has nothing to wait for, but the answer is %v", first.answers)
		}
		r.wants(withdraw)
		r.sleep(4 * time.Second)
		second := r.ask(election.StepDown{Cooldown: 3 * time.Second}) // ends earlier, and so does not count
		if !second.done() {
			t.Fatalf("the answer is %v", second.answers)
		}
		r.sleep(6*time.Second - 1)
		r.wants()
		r.ask(election.StepDown{Cooldown: 5 * time.Second}) // ends later
		r.sleep(5*time.Second - 1)
		r.wants()
		if end := r.view.Load().Cooldown; end.Sub(r.node.Now()) != 1 {
			t.Errorf("the cooldown ends in %v, want 1ns", end.Sub(r.node.Now()))
		}
		r.sleep(1)
		r.wants(contend(2))
		if end := r.view.Load().Cooldown; end != 0 {
			t.Errorf("there is still a cooldown, until %v", end)
		}
	}
}

// TestZeroCooldown (R33): there is nothing for a candidate to do.
func TestZeroCooldown(t *testing.T) {
	r := newRig(t)
	if c := r.ask(election.StepDown{}); !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
	r.wants(contend(1))
	t1, _ := r.lead()
	r.tell(election.TaskExited{Term: t1})
	c := r.ask(election.StepDown{})
	r.wants(r.start(t1), release(t1), contend(2), r.revoked(t1, term.SteppedDown))
	r.tell(session.Settled{Term: t1}, election.CallbackDone{Term: t1})
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
}

// TestEndlessCooldown: the arithmetic saturates.
func TestEndlessCooldown(t *testing.T) {
	r := newRig(t)
	r.spy.early = func(d time.Duration) time.Duration { return min(d, 100*time.Hour) }
	r.ask(election.StepDown{Cooldown: 1<<63 - 1})
	r.wants(contend(1), withdraw)
	r.sleep(1000 * time.Hour)
	r.wants()
	r.wantStatus(election.Candidate)
}

// TestNegativeCooldown (R33) is an error that says so, and changes nothing.
func TestNegativeCooldown(t *testing.T) {
	r := newRig(t)
	t1, _ := r.lead()
	r.wants(r.start(t1))
	c := r.ask(election.StepDown{Cooldown: -time.Second})
	var err *election.CooldownError
	if len(c.answers) != 1 || !errors.As(c.answers[0].(error), &err) || err.Cooldown != -time.Second {
		t.Errorf("the answer is %v", c.answers)
	}
	r.wants()
	r.wantStatus(election.Leader)
}

// TestStoppedCandidate is out of the competition for good, and its actor ends.
func TestStoppedCandidate(t *testing.T) {
	r := newRig(t)
	c := r.ask(election.Stop{})
	r.wants(contend(1), withdraw, leave)
	if !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
	r.wantStatus(election.Stopped)
	if !r.ended {
		t.Error("the actor lives on although nothing is left of the election")
	}
}

// TestStopDuringCooldown leaves no timer behind.
func TestStopDuringCooldown(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.lose(t1, term.TakenOver) // whose OnElected does not return
	r.ask(election.StepDown{Cooldown: time.Minute})
	r.sent = nil
	stop := r.ask(election.Stop{})
	r.wants(leave)
	r.sleep(time.Hour)
	r.wants()
	if len(stop.answers) > 0 {
		t.Errorf("Stop was answered by %v before the callbacks had run", stop.answers)
	}
	if s := r.view.Load(); s.Cooldown != 0 {
		t.Errorf("the stopped election has a cooldown until %v", s.Cooldown)
	}
}

// TestStepDownAfterStop is an error; Stop after Stop is none.
func TestStepDownAfterStop(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.lose(t1, term.TakenOver) // its callbacks keep the actor alive
	stop := r.ask(election.Stop{})
	again := r.ask(election.Stop{})
	down := r.ask(election.StepDown{})
	var err *election.StoppedError
	if len(down.answers) != 1 || !errors.As(down.answers[0].(error), &err) || err.Name != name {
		t.Errorf("StepDown was answered by %v", down.answers)
	}
	r.tell(election.CallbackDone{Term: t1}, election.CallbackDone{Term: t1})
	if !stop.done() || !again.done() {
		t.Errorf("Stop was answered by %v and %v", stop.answers, again.answers)
	}
}
