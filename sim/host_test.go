package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// TestHost breaks what an election's host relies on.
func TestHost(t *testing.T) {
	valid := func(l *liar, token uint64) *term.Term { return l.term("s", "x", token, time.Hour) }
	over := func(l *liar, token uint64) *term.Term {
		tm := valid(l, token)
		term.End(tm, term.Stopped)
		return tm
	}
	for _, tt := range []struct {
		name string
		ask  func(l *liar, ask func(msg actor.Message))
		want sim.Invariant
	}{
		{"in order", func(l *liar, ask func(actor.Message)) {
			for i := range uint64(3) {
				tm := over(l, i+1)
				ask(election.RunElected{ReplyTo: l.to, Term: tm})
				l.RunFor(time.Second)
				ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
				l.RunFor(time.Second)
			}
		}, sim.Invariant{}},
		{"two at once", func(l *liar, ask func(actor.Message)) {
			tm := over(l, 1)
			ask(election.RunElected{ReplyTo: l.to, Term: tm})
			ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
		}, sim.PairedCallbacks},
		{"elected twice", func(l *liar, ask func(actor.Message)) {
			ask(election.RunElected{ReplyTo: l.to, Term: over(l, 1)})
			l.RunFor(time.Second)
			ask(election.RunElected{ReplyTo: l.to, Term: over(l, 2)})
		}, sim.PairedCallbacks},
		{"revoked without elected", func(l *liar, ask func(actor.Message)) {
			ask(election.RunRevoked{ReplyTo: l.to, Term: over(l, 1)})
		}, sim.PairedCallbacks},
		{"revoked while valid", func(l *liar, ask func(actor.Message)) {
			tm := valid(l, 1)
			ask(election.RunElected{ReplyTo: l.to, Term: tm})
			l.RunFor(time.Second)
			ask(election.RunRevoked{ReplyTo: l.to, Term: tm})
		}, sim.PairedCallbacks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			host := l.node.Spawn("host", sim.NewHost(l.Cluster, "x", sim.Script{
				Callback: func(*term.Term, term.Reason) sim.Call { return sim.Call{Lasts: time.Second} },
				Task:     sim.Diligent,
			}))
			tt.ask(l, func(msg actor.Message) { host.Tell(msg); l.RunFor(0) })
			wantViolation(t, l.Err(), tt.want)
		})
	}
}

// TestWork acts out tasks.
func TestWork(t *testing.T) {
	for _, tt := range []struct {
		name   string
		work   sim.Work
		cancel time.Duration // when it is cancelled
		want   time.Duration // when it returns, -1 for never
	}{
		{"until cancelled", sim.Work{}, time.Minute, time.Minute},
		{"tidies up", sim.Work{Tidies: time.Second}, time.Minute, time.Minute + time.Second},
		{"returns before", sim.Work{Lasts: time.Second}, time.Minute, time.Second},
		{"cancelled before", sim.Work{Lasts: time.Minute}, time.Second, time.Second},
		{"deaf", sim.Work{Lasts: time.Minute, Deaf: true}, time.Second, time.Minute},
		{"deaf for ever", sim.Work{Deaf: true}, time.Second, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLiar()
			returned := time.Duration(-1)
			l.OnDeliver(func(_ actor.Ref, msg actor.Message) {
				if _, ok := msg.(election.TaskExited); ok {
					returned = time.Duration(l.Now())
				}
			})
			host := l.node.Spawn("host", sim.NewHost(l.Cluster, "x", sim.Script{Task: func(*term.Term) sim.Work { return tt.work }}))
			tm := l.term("s", "x", 1, time.Hour)
			host.Tell(election.StartTask{ReplyTo: l.to, Term: tm})
			l.In(tt.cancel, func() { host.Tell(election.CancelTask{Term: tm, Reason: term.Stopped}) })
			l.RunFor(time.Hour)
			if returned != tt.want {
				t.Errorf("it returned after %v, want %v", returned, tt.want)
			}
		})
	}
}
