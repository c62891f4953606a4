package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/sim"
)

// at lets f happen at a true instant.
func at(w *sim.World, d time.Duration, f func()) { w.At(actor.Instant(d), f) }

// timers starts an actor with timers, named by when they are due if nothing happens.
func timers(n *sim.Node, ds ...time.Duration) (*recorder, actor.Ref) {
	r := &recorder{}
	return r, n.Spawn("timers", on(r, func(ctx actor.Context) {
		for _, d := range ds {
			ctx.After(d, d)
		}
	}))
}

// TestSleep: the machine's clock goes on, and its timers are late by the sleep: on all
// of its nodes, and on no others.
func TestSleep(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	neighbour, other := n.Neighbour("m"), w.NewNode("other", 0, 1)
	var all []*recorder
	for _, n := range []*sim.Node{n, neighbour, other} {
		r, ref := timers(n, time.Second, 2*time.Second, 10*time.Second)
		at(w, 3*time.Second, func() { ref.Tell("message") })
		all = append(all, r)
	}
	at(w, 1500*time.Millisecond, n.Suspend)
	at(w, 4*time.Second, func() {
		if !n.Asleep() || !neighbour.Asleep() || other.Asleep() {
			t.Errorf("asleep: %v, its neighbour %v, another machine %v", n.Asleep(), neighbour.Asleep(), other.Asleep())
		}
		if n.Now() != actor.Instant(4*time.Second) {
			t.Errorf("after 4s its clock reads %v", time.Duration(n.Now()))
		}
		neighbour.Wake() // the same machine
	})
	w.RunFor(time.Minute)
	for _, r := range all[:2] {
		r.want(t, "1s@1s", "message@4s", "2s@4.5s", "10s@12.5s")
	}
	all[2].want(t, "1s@1s", "2s@2s", "message@3s", "10s@10s")
}

// TestSleepAndPause: whatever is inside of what, a timer counts the time awake, and
// comes when nothing is in its way any more.
func TestSleepAndPause(t *testing.T) {
	type step struct {
		at time.Duration
		do func(n *sim.Node)
	}
	const s = time.Second
	pause, resume, suspend, wake := (*sim.Node).Pause, (*sim.Node).Resume, (*sim.Node).Suspend, (*sim.Node).Wake
	crash := (*sim.Node).Crash
	for _, tt := range []struct {
		name  string
		steps []step
		want  []string // of timers of 2s, 4s and 10s
	}{
		{"a sleep within a pause", []step{{s, pause}, {3 * s, suspend}, {5 * s, wake}, {7 * s, resume}}, []string{"2s@7s", "4s@7s", "10s@12s"}},
		{"a pause that ends soon after a sleep", []step{{s, pause}, {3 * s, suspend}, {5 * s, wake}, {5500 * time.Millisecond, resume}},
			[]string{"2s@5.5s", "4s@6s", "10s@12s"}},
		{"a pause within a sleep", []step{{s, suspend}, {2 * s, pause}, {3 * s, resume}, {5 * s, wake}}, []string{"2s@6s", "4s@8s", "10s@14s"}},
		{"a pause that begins in a sleep", []step{{s, suspend}, {2 * s, pause}, {5 * s, wake}, {7 * s, resume}}, []string{"2s@7s", "4s@8s", "10s@14s"}},
		{"a pause that ends in a sleep", []step{{s, pause}, {3 * s, suspend}, {5 * s, resume}, {7 * s, wake}}, []string{"2s@7s", "4s@8s", "10s@14s"}},
		{"two sleeps", []step{{s, suspend}, {2 * s, wake}, {4 * s, suspend}, {9 * s, wake}}, []string{"2s@3s", "4s@10s", "10s@16s"}},
		{"asleep twice, awake twice", []step{{s, suspend}, {2 * s, suspend}, {3 * s, wake}, {4 * s, wake}}, []string{"2s@4s", "4s@6s", "10s@12s"}},
		{"awake without a sleep", []step{{s, wake}, {3 * s, resume}}, []string{"2s@2s", "4s@4s", "10s@10s"}},
		{"paused twice, resumed once", []step{{s, pause}, {2 * s, pause}, {3 * s, resume}}, []string{"2s@3s", "4s@4s", "10s@10s"}},
		{"a crash in a pause", []step{{s, pause}, {3 * s, crash}, {5 * s, resume}}, nil},
		{"a crash in a sleep", []step{{s, suspend}, {3 * s, crash}, {5 * s, wake}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := sim.NewWorld(sim.Random(1))
			n := w.NewNode("n", 0, 1)
			r, _ := timers(n, 2*s, 4*s, 10*s)
			for _, step := range tt.steps {
				at(w, step.at, func() { step.do(n) })
			}
			w.RunFor(time.Minute)
			r.want(t, tt.want...)
		})
	}
}

// TestCrashWhileFrozen: a new process runs at once where the old one was paused, and
// on a machine that sleeps, when that wakes up.
func TestCrashWhileFrozen(t *testing.T) {
	for name, tt := range map[string]struct {
		freeze func(*sim.Node)
		want   []string
	}{
		"paused": {(*sim.Node).Pause, []string{"1s@3s", "10s@12s"}},
		"asleep": {(*sim.Node).Suspend, []string{"1s@6s", "10s@15s"}},
	} {
		w := sim.NewWorld(sim.Random(1))
		n := w.NewNode("n", 0, 1)
		neighbour, _ := timers(n.Neighbour("m"), 4*time.Second)
		var r *recorder
		at(w, time.Second, func() { tt.freeze(n) })
		at(w, 2*time.Second, func() { n.Crash(); r, _ = timers(n, time.Second, 10*time.Second) })
		at(w, 5*time.Second, n.Wake)
		w.RunFor(time.Minute)
		if n.Paused() {
			t.Errorf("%s: after the crash it is still paused", name)
		}
		r.want(t, tt.want...)
		if len(neighbour.got) != 1 {
			t.Errorf("%s: its neighbour received %v", name, neighbour.got)
		}
	}
}

// TestNeighbour: neighbours share a machine, and are processes of their own.
func TestNeighbour(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", time.Hour, 2)
	m, other := n.Neighbour("m"), w.NewNode("other", time.Hour, 2)
	if !n.SameMachine(m) || !m.SameMachine(n) || n.SameMachine(other) || m.String() != "m" {
		t.Errorf("%v and %v are on one machine: %v; %v and %v: %v", n, m, n.SameMachine(m), n, other, n.SameMachine(other))
	}
	r, _ := timers(m, 3*time.Second)
	n.Pause()
	w.RunFor(time.Second)
	n.Crash()
	m.Jump(time.Minute)
	w.RunFor(time.Minute)
	r.want(t, "3s@1h1m3s")
	if n.Now() != m.Now() || n.Now() == other.Now() {
		t.Errorf("it is %v on n, %v on m and %v elsewhere", n.Now(), m.Now(), other.Now())
	}
}

// TestJump: the clock is ahead from then on, and timers do not notice, nor does a
// sleep.
func TestJump(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 2)
	r, _ := timers(n, 2*time.Second, 10*time.Second)
	at(w, 500*time.Millisecond, func() { n.Jump(time.Hour); n.Jump(0) })
	at(w, 2*time.Second, n.Suspend)
	at(w, 3*time.Second, func() { n.Jump(time.Hour) })
	at(w, 4*time.Second, n.Wake)
	w.RunFor(time.Minute)
	r.want(t, "2s@1h0m2s", "10s@2h0m14s")
	defer func() {
		if recover() == nil {
			t.Error("a clock was set back")
		}
	}()
	n.Jump(-1)
}

// TestSetRate: timers follow the clock.
func TestSetRate(t *testing.T) {
	w := sim.NewWorld(sim.Random(1))
	n := w.NewNode("n", 0, 1)
	other, _ := timers(w.NewNode("other", 0, 1), 10*time.Second)
	r, _ := timers(n, time.Second, 10*time.Second, 20*time.Second)
	var due []time.Duration
	w.OnDeliver(func(to actor.Ref, msg actor.Message) {
		if _, ok := msg.(time.Duration); ok && to.String() == "n/timers" {
			due = append(due, time.Duration(w.Now()))
		}
	})
	at(w, 5*time.Second, func() { n.SetRate(2) })
	at(w, 8*time.Second, func() { n.SetRate(0.5) })
	w.RunFor(time.Minute)
	r.want(t, "1s@1s", "10s@10s", "20s@20s")
	other.want(t, "10s@10s")
	if len(due) != 3 || due[0] != time.Second || due[1] != 7500*time.Millisecond || due[2] != 26*time.Second {
		t.Errorf("timers were due at %v, want 1s, 7.5s and 26s", due)
	}
	n.Suspend()
	defer func() {
		if recover() == nil {
			t.Error("the clock of a machine that sleeps was given another rate")
		}
	}()
	n.SetRate(1)
}
