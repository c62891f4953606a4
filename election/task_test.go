package election_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// TestPolicies (R44): what follows when a task returns after a long run.
func TestPolicies(t *testing.T) {
	for _, err := range []error{nil, errBoom} {
		pause := time.Duration(0)
		if err != nil {
			pause = params.MinBackoff
		}
		run := func(p election.Policy) (*rig, *term.Term) {
			r := newRig(t, onlyWorks, policies(p, p))
			t1, d := r.win()
			r.wants(r.start(t1))
			r.sleep(params.RenewInterval)
			d.Extend(r.node.Now().Add(lease))
			r.tell(election.TaskExited{Term: t1, Err: err})
			return r, t1
		}
		t.Run("hold", func(t *testing.T) {
			r, t1 := run(election.Hold)
			r.sleep(lease - 1)
			r.wants()
			r.wantStatus(election.Leader)
			if !t1.Valid() {
				t.Error("the term has ended")
			}
		})
		t.Run("restart", func(t *testing.T) {
			r, t1 := run(election.Restart)
			if pause > 0 {
				r.sleep(pause - 1)
				r.wants()
				r.sleep(1)
			}
			r.wants(r.start(t1))
			if s := r.view.Load(); s.Restarts != 1 || !s.Running {
				t.Errorf("the snapshot is %+v", s)
			}
		})
		t.Run("step down", func(t *testing.T) {
			r, t1 := run(election.Yield)
			r.wantEnded(t1, term.SteppedDown)
			if pause > 0 {
				r.wants(release(t1))
				r.sleep(pause - 1)
				r.wants()
				r.sleep(1)
				r.wants(contend(2))
			} else {
				r.wants(release(t1), contend(2))
			}
		})
		t.Run("finish", func(t *testing.T) {
			r, t1 := run(election.Finish)
			r.wantEnded(t1, term.Stopped)
			r.wants(release(t1), leave)
			r.wantStatus(election.Stopped)
			if r.ended {
				t.Error("the actor has ended before the lease was free")
			}
			r.tell(session.Settled{Term: t1})
			if !r.ended {
				t.Error("the actor has not ended")
			}
		})
		r, t1 := run(election.Hold)
		want := observe.TaskEnded{Name: name, Token: t1.Token(), Err: err}
		if got := emitted[observe.TaskEnded](r); len(got) != 1 || got[0] != want {
			t.Errorf("the events are %+v", got)
		}
		if got := r.view.Load().LastErr; got != err {
			t.Errorf("the last error is %v, want %v", got, err)
		}
	}
}

// TestFinishWaitsForOnRevoked, although nobody has asked for it.
func TestFinishWaitsForOnRevoked(t *testing.T) {
	r := newRig(t, policies(election.Finish, election.Finish))
	t1, _ := r.lead()
	r.tell(election.TaskExited{Term: t1}, session.Settled{Term: t1})
	r.wants(r.start(t1), release(t1), leave, r.revoked(t1, term.Stopped))
	if r.ended {
		t.Error("the actor has ended before OnRevoked had run")
	}
	r.tell(election.CallbackDone{Term: t1})
	if !r.ended {
		t.Error("the actor has not ended")
	}
}

// TestPoliciesAreToldApart: one for nil, the other for errors.
func TestPoliciesAreToldApart(t *testing.T) {
	r := newRig(t, onlyWorks, policies(election.Finish, election.Hold))
	t1, _ := r.win()
	r.tell(election.TaskExited{Term: t1, Err: errBoom})
	r.wantStatus(election.Leader)
	r = newRig(t, onlyWorks, policies(election.Hold, election.Finish))
	t1, _ = r.win()
	r.tell(election.TaskExited{Term: t1, Err: errBoom})
	r.wantStatus(election.Stopped)
}

// TestNoHotLoop: a task that returns at once is not run again and again without a
// pause, whatever it returns and whatever the policy; the pauses double up to the
// renew interval, and a long run ends the row.
func TestNoHotLoop(t *testing.T) {
	for _, policy := range []election.Policy{election.Restart, election.Yield} {
		for _, err := range []error{nil, errBoom} {
			r := newRig(t, onlyWorks, policies(policy, policy))
			starts := 0
			r.plays = func(ctx actor.Context, msg actor.Message) {
				switch m := msg.(type) {
				case election.StartTask:
					starts++
					ctx.Send(m.ReplyTo, election.TaskExited{Term: m.Term, Err: err})
				case session.Contend:
					tm, _ := r.newTerm(time.Hour)
					ctx.Send(r.ref, won(m.Candidacy, tm))
				case session.Release:
					ctx.Send(r.ref, session.Settled(m))
				}
			}
			tm, _ := r.newTerm(time.Hour)
			r.tell(won(1, tm))
			if starts != 1 {
				t.Errorf("%v, %v: started %d times at once", policy, err, starts)
			}
			r.sleep(time.Minute)
			// 100ms, 200ms, ... 3.2s, and then every 3.33s.
			if starts < 15 || starts > 30 {
				t.Errorf("%v, %v: started %d times in a minute", policy, err, starts)
			}
		}
	}
}

// TestLongRunEndsTheRow of pauses that double.
func TestLongRunEndsTheRow(t *testing.T) {
	r := newRig(t, onlyWorks, policies(election.Restart, election.Restart))
	t1, d := r.win()
	exit := func(after time.Duration, err error, pause time.Duration) {
		t.Helper()
		r.wants(r.start(t1))
		r.sleep(after)
		d.Extend(r.node.Now().Add(lease))
		r.tell(election.TaskExited{Term: t1, Err: err})
		if pause > 0 {
			r.sleep(pause - 1)
			r.wants()
			r.sleep(1)
		}
	}
	exit(0, errBoom, params.MinBackoff)
	exit(0, nil, 2*params.MinBackoff)
	exit(params.RenewInterval-1, errBoom, 4*params.MinBackoff)
	exit(params.RenewInterval, errBoom, params.MinBackoff)
	exit(0, errBoom, 2*params.MinBackoff)
	exit(params.RenewInterval, nil, 0)
	exit(0, errBoom, params.MinBackoff)
	if got := r.view.Load().Restarts; got != 7 {
		t.Errorf("%d restarts are counted, want 7", got)
	}
}

// TestRestartIsForItsTermOnly: what is due to restart when the term ends is not run,
// neither in the old term nor, once more, in the next.
func TestRestartIsForItsTermOnly(t *testing.T) {
	r := newRig(t, onlyWorks, policies(election.Restart, election.Restart))
	t1, _ := r.win()
	r.tell(election.TaskExited{Term: t1, Err: errBoom})
	r.wants(r.start(t1))
	r.lose(t1, term.TakenOver)
	t2, _ := r.win()
	r.wants(r.start(t2))
	r.sleep(time.Second)
	r.wants()

	r.tell(election.TaskExited{Term: t2, Err: errBoom})
	r.ask(election.StepDown{Cooldown: time.Hour})
	r.wants(release(t2))
	r.sleep(time.Minute)
	r.wants()
}

// TestRestartDoesNotOvertakeOnElected of the next term.
func TestRestartDoesNotOvertakeOnElected(t *testing.T) {
	r := newRig(t, policies(election.Restart, election.Restart))
	t1, _ := r.lead()
	r.tell(election.TaskExited{Term: t1, Err: errBoom})
	r.lose(t1, term.TakenOver)
	r.tell(election.CallbackDone{Term: t1})
	r.sent = nil
	t2, _ := r.newTerm(lease)
	r.tell(won(2, t2))
	r.sleep(time.Second)
	r.wants(r.elected(t2))
}

// TestReturnAfterTheDeadline (R44): the session has not said yet that the term is
// lost, but it is, so the task's return is of no account.
func TestReturnAfterTheDeadline(t *testing.T) {
	for _, policy := range []election.Policy{election.Finish, election.Yield, election.Restart} {
		r := newRig(t, onlyWorks, policies(policy, policy))
		t1, _ := r.win()
		r.wants(r.start(t1))
		r.sleep(lease)
		r.tell(election.TaskExited{Term: t1})
		r.sleep(time.Second)
		r.wants()
		r.lose(t1, term.DeadlinePassed)
		r.wants(contend(2))
		t2, _ := r.win()
		r.wants(r.start(t2))
	}
}

// TestTaskDoesNotStartAfterTheDeadline: OnElected took longer than the term.
func TestTaskDoesNotStartAfterTheDeadline(t *testing.T) {
	r := newRig(t)
	t1, _ := r.win()
	r.wants(r.elected(t1))
	r.sleep(lease)
	r.tell(election.CallbackDone{Term: t1})
	r.wants()
}

// TestDeafTask (R31): no second one starts in this process until it has exited,
// whatever happens meanwhile.
func TestDeafTask(t *testing.T) {
	r := newRig(t, onlyWorks)
	t1, _ := r.win()
	r.wants(r.start(t1))
	r.lose(t1, term.DeadlinePassed)
	r.wants(cancel(t1, term.DeadlinePassed))
	if got := emitted[observe.TaskOverrunning](r); len(got) > 0 {
		t.Errorf("it is called overrunning before it could return: %+v", got)
	}
	r.sleep(time.Minute)
	if got := emitted[observe.TaskOverrunning](r); len(got) != 1 {
		t.Errorf("the events are %+v", got)
	}
	if c := r.ask(election.StepDown{Cooldown: time.Second}); !c.done() {
		t.Errorf("the answer is %v", c.answers)
	}
	r.sleep(time.Minute)
	r.wants()
	c := r.ask(election.Stop{})
	if !c.done() {
		t.Errorf("Stop waits for a task whose term is over: %v", c.answers)
	}
	r.wants() // the name stays taken, so that nobody else of this client uses it
	if r.ended {
		t.Error("the actor has ended, so nobody learns when the task exits")
	}
	r.tell(election.TaskExited{Term: t1})
	r.wants(leave)
	if !r.ended {
		t.Error("the actor has not ended")
	}
}

// TestWellBehavedTaskDoesNotOverrun: it needs a moment to return.
func TestWellBehavedTaskDoesNotOverrun(t *testing.T) {
	r := newRig(t, onlyWorks)
	t1, _ := r.win()
	r.lose(t1, term.TakenOver)
	r.sleep(params.MinBackoff / 2)
	r.tell(election.TaskExited{Term: t1})
	r.sleep(time.Minute)
	if got := emitted[observe.TaskOverrunning](r); len(got) > 0 {
		t.Errorf("the events are %+v", got)
	}
}

// TestExitOfAnotherTermIsIgnored: it is not the task that runs.
func TestExitOfAnotherTermIsIgnored(t *testing.T) {
	r := newRig(t, onlyWorks, policies(election.Finish, election.Finish))
	other, _ := r.newTerm(lease)
	t1, _ := r.win()
	r.tell(election.TaskExited{Term: other})
	r.wants(r.start(t1))
	if s := r.view.Load(); s.Status != election.Leader || !s.Running {
		t.Errorf("the snapshot is %+v", s)
	}
}
