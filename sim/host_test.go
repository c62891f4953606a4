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
	lasts := sim.Script{Callback: func(*term.Term, term.Reason) sim.Call { return sim.Call{Lasts: time.Second} }}
	elected := func(tm *term.Term) election.RunElected { return election.RunElected{Term: tm} }
	revoked := func(tm *term.Term) election.RunRevoked { return election.RunRevoked{Term: tm, Reason: term.Stopped} }
	for _, tt := range []struct {
		name string
		do   func(h *host)
		want sim.Invariant
	}{
		{"in order", func(h *host) {
			for i := range uint64(3) {
				tm := over(h.liar, i+1)
				h.runs(elected(tm))
				h.runs(revoked(tm))
			}
			h.StopHasComeBack()
		}, sim.Invariant{}},
		{"OnRevoked while OnElected runs", func(h *host) {
			tm := over(h.liar, 1)
			h.begins(elected(tm))
			h.RunFor(time.Second - 1)
			h.begins(revoked(tm))
		}, sim.PairedCallbacks},
		{"OnElected while OnRevoked runs", func(h *host) {
			tm := over(h.liar, 1)
			h.runs(elected(tm))
			h.begins(revoked(tm))
			h.begins(elected(over(h.liar, 2)))
		}, sim.PairedCallbacks},
		{"elected twice", func(h *host) {
			h.runs(elected(over(h.liar, 1)))
			h.runs(elected(over(h.liar, 2)))
		}, sim.PairedCallbacks},
		{"revoked without elected", func(h *host) { h.runs(revoked(over(h.liar, 1))) }, sim.PairedCallbacks},
		{"revoked after another was elected", func(h *host) {
			h.runs(elected(over(h.liar, 1)))
			h.runs(revoked(over(h.liar, 2)))
		}, sim.PairedCallbacks},
		{"revoked twice", func(h *host) {
			tm := over(h.liar, 1)
			h.runs(elected(tm))
			h.runs(revoked(tm))
			h.runs(revoked(tm))
		}, sim.PairedCallbacks},
		{"revoked while valid", func(h *host) {
			tm := valid(h.liar, 1)
			h.runs(elected(tm))
			h.runs(revoked(tm))
		}, sim.PairedCallbacks},
		{"elected after Stop", func(h *host) {
			h.StopHasComeBack()
			h.runs(elected(valid(h.liar, 1)))
		}, sim.PairedCallbacks},
		{"Stop comes back before OnRevoked", func(h *host) {
			h.runs(elected(over(h.liar, 1)))
			h.StopHasComeBack()
		}, sim.PairedCallbacks},
		{"Stop comes back while OnRevoked runs", func(h *host) {
			tm := over(h.liar, 1)
			h.runs(elected(tm))
			h.begins(revoked(tm))
			h.StopHasComeBack()
		}, sim.PairedCallbacks},
		{"revoked after Stop", func(h *host) {
			tm := over(h.liar, 1)
			h.runs(elected(tm))
			h.Monitor.Tolerate(sim.PairedCallbacks) // that Stop came back too early
			h.StopHasComeBack()
			h.runs(revoked(tm))
			if h.Monitor.Tolerated[sim.PairedCallbacks.Number] == 2 {
				h.Violate(sim.PairedCallbacks, "both were found")
			}
		}, sim.PairedCallbacks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(lasts)
			tt.do(h)
			wantViolation(t, h.Err(), tt.want)
		})
	}
}

// host is an election's host that a liar asks for things.
type host struct {
	*liar
	*sim.Host
	ref actor.Ref
}

func newHost(s sim.Script) *host {
	h := &host{liar: newLiar()}
	h.Host = sim.NewHost(h.Cluster, "x", s)
	h.ref = h.node.Spawn("host", h.Host)
	return h
}

// begins asks for something, and runs waits for its end.
func (h *host) begins(msg actor.Message) {
	switch m := msg.(type) {
	case election.RunElected:
		m.ReplyTo = h.to
		h.ref.Tell(m)
	case election.RunRevoked:
		m.ReplyTo = h.to
		h.ref.Tell(m)
	}
	h.RunFor(0)
}

func (h *host) runs(msg actor.Message) {
	h.begins(msg)
	h.RunFor(time.Second)
}

// TestHostRefuses: an executor that refuses OnElected runs neither of the two.
func TestHostRefuses(t *testing.T) {
	h := newHost(sim.Script{
		Callback: func(*term.Term, term.Reason) sim.Call { t.Error("a callback runs"); return sim.Call{} },
		Refuse:   func(*term.Term) bool { return true },
	})
	refused := 0
	h.OnDeliver(func(_ actor.Ref, msg actor.Message) {
		if _, ok := msg.(election.CallbackRefused); ok {
			refused++
		}
	})
	h.runs(election.RunElected{Term: h.term("s", "x", 1, time.Hour)})
	h.StopHasComeBack()
	if err := h.Err(); err != nil || refused != 1 || h.Monitor.Met[sim.CallbackRefused] != 1 {
		t.Errorf("it refuses %d times, counted %d times: %v", refused, h.Monitor.Met[sim.CallbackRefused], err)
	}
}

// TestCalls acts out callbacks: when each has returned, and with what.
func TestCalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		call   sim.Call
		want   time.Duration
		panics bool
		met    sim.Situation
	}{
		{"no time", sim.Call{}, 0, false, sim.TermBegun},
		{"a second", sim.Call{Lasts: time.Second}, time.Second, false, sim.TermBegun},
		{"inline, however long", sim.Call{Lasts: time.Second, Inline: true}, 0, false, sim.CallbackInline},
		{"panics", sim.Call{Lasts: time.Second, Panics: true}, time.Second, true, sim.TermBegun},
		{"calls from inside", sim.Call{Then: func() {}}, 0, false, sim.CalledFromInside},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(sim.Script{Callback: func(*term.Term, term.Reason) sim.Call { return tt.call }})
			returned, panicked := time.Duration(-1), false
			h.OnDeliver(func(_ actor.Ref, msg actor.Message) {
				if m, ok := msg.(election.CallbackDone); ok {
					returned, panicked = time.Duration(h.Now()), m.Err != nil
				}
			})
			h.begins(election.RunElected{Term: h.term("s", "x", 1, time.Hour)})
			h.RunFor(time.Minute)
			if returned != tt.want || panicked != tt.panics {
				t.Errorf("it returns after %v, with a panic: %v; want %v and %v", returned, panicked, tt.want, tt.panics)
			}
			if met := h.Monitor.Met; tt.met != sim.TermBegun && met[tt.met] != 1 {
				t.Errorf("%v was met %d times, want once", tt.met, met[tt.met])
			}
		})
	}
}

// TestWork acts out tasks.
func TestWork(t *testing.T) {
	for _, tt := range []struct {
		name   string
		work   sim.Work
		cancel time.Duration // when it is cancelled, and again half a second later
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
			h := newHost(sim.Script{Task: func(*term.Term) sim.Work { return tt.work }})
			returned := time.Duration(-1)
			h.OnDeliver(func(_ actor.Ref, msg actor.Message) {
				if _, ok := msg.(election.TaskExited); ok {
					returned = time.Duration(h.Now())
				}
			})
			tm := h.term("s", "x", 1, time.Hour)
			h.ref.Tell(election.StartTask{ReplyTo: h.to, Term: tm})
			for _, at := range []time.Duration{tt.cancel, tt.cancel + time.Second/2} {
				h.In(at, func() { h.ref.Tell(election.CancelTask{Term: tm, Reason: term.Stopped}) })
			}
			h.RunFor(time.Hour)
			if returned != tt.want {
				t.Errorf("it returned after %v, want %v", returned, tt.want)
			}
		})
	}
}

// TestWrites: a task writes under its token to both resources, until it returns.
func TestWrites(t *testing.T) {
	h := newHost(sim.Script{Task: func(*term.Term) sim.Work { return sim.Work{Writes: time.Second, Lasts: 2500 * time.Millisecond} }})
	writes := make(map[string]int)
	h.OnDeliver(func(to actor.Ref, msg actor.Message) {
		if w, ok := msg.(sim.Write); ok && w == (sim.Write{Name: "x", Token: 7}) {
			writes[to.String()]++
		}
	})
	tm := h.term("s", "x", 7, time.Hour)
	for range 2 { // the second run does not go on with what the first one did
		h.ref.Tell(election.StartTask{ReplyTo: h.to, Term: tm})
		h.RunFor(time.Minute)
	}
	if len(writes) != 2 || writes["resource/guarded"] != 6 || writes["resource/unguarded"] != 6 {
		t.Errorf("two runs write %v, want 3 times each to both resources", writes)
	}
}
