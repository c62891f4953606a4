package sim_test

import (
	"testing"
	"time"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

func planOf(t *testing.T, w schedule.When) *schedule.Plan {
	p, err := schedule.NewPlan("x", w, schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSchedule lets two clients take turns at a schedule.
func TestSchedule(t *testing.T) {
	for _, when := range []schedule.When{
		schedule.Every(500 * time.Millisecond), schedule.Rate(time.Second), schedule.Cron("* * * * *", "UTC"),
	} {
		c := sim.NewCluster(sim.Random(1), params)
		runs := make(map[*sim.Client]int)
		for _, name := range []string{"a", "b"} {
			cl := c.NewClient(name, time.Minute, 1)
			cl.Sink = func(e observe.Event) {
				if _, ok := e.(observe.RunStarted); ok {
					runs[cl]++
				}
			}
			cl.Elect("x", sim.Script{
				Plan: planOf(t, when),
				Task: func(*term.Term) sim.Work {
					return sim.Work{Lasts: 1500 * time.Millisecond, Tidies: 100 * time.Millisecond}
				},
			})
		}
		for range 10 {
			if !c.RunUntil(time.Minute, c.Led("x")) {
				t.Fatalf("%v: nobody leads: %v", when, c.Err())
			}
			c.RunFor(90 * time.Second)
			leader := c.Leader("x")
			leader.Elections["x"].StepDown(20 * time.Second)
			if !c.RunUntil(20*time.Second, func() bool { l := c.Leader("x"); return l != nil && l != leader }) {
				t.Fatalf("%v: nobody else leads: %v", when, c.Err())
			}
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		if len(runs) != 2 || runs[c.Clients[0]] < 5 || runs[c.Clients[1]] < 5 {
			t.Errorf("%v: there are %d runs by one and %d by the other", when, runs[c.Clients[0]], runs[c.Clients[1]])
		}
	}
}

// TestMonitorWatchesSchedules breaks what it watches over.
func TestMonitorWatchesSchedules(t *testing.T) {
	script := sim.Script{
		Plan: planOf(t, schedule.Every(time.Second)),
		Task: func(*term.Term) sim.Work { return sim.Work{Lasts: time.Second} },
	}
	tell(t, newInsider, []lie{
		{"one run after the other", func(l *liar) {
			l.leads(script)
			l.RunFor(10 * time.Second)
		}, sim.Invariant{}},
		{"two runs at once", func(l *liar) {
			_, tm := l.leads(sim.Script{Task: sim.Diligent})
			ref := l.client.Spawn("another host", sim.NewHost(l.Cluster, "x", script))
			ref.Tell(election.StartTask{ReplyTo: l.to, Term: tm})
			ref.Tell(election.StartTask{ReplyTo: l.to, Term: tm})
			l.RunFor(0)
		}, sim.OneTask},
		{"a tick that has run", func(l *liar) {
			l.client.Say(observe.RunStarted{Name: "x", Token: 1, Tick: 5})
			l.client.Say(observe.RunStarted{Name: "y", Token: 1, Tick: 5})
			l.client.Say(observe.RunStarted{Name: "x", Token: 2, Tick: 5})
		}, sim.TickOnce},
		{"a tick before one that has run", func(l *liar) {
			l.client.Say(observe.RunStarted{Name: "x", Token: 1, Tick: 5})
			l.client.Say(observe.RunStarted{Name: "x", Token: 2, Tick: 4})
		}, sim.TickOnce},
		{"a tick again after a loss of the data", func(l *liar) {
			l.client.Say(observe.RunStarted{Name: "x", Token: 1, Tick: 5})
			l.LoseData()
			l.client.Say(observe.RunStarted{Name: "x", Token: 2, Tick: 5})
			l.client.Say(observe.RunStarted{Name: "x", Token: 2})
			l.client.Say(observe.RunStarted{Name: "x", Token: 2})
		}, sim.Invariant{}},
		{"a run after the last", func(l *liar) {
			e, tm := l.leads(script)
			l.sayTo(e.Ref(), election.TaskExited{Term: tm})
			l.RunFor(10 * time.Second)
		}, sim.HandoverInOrder},
	})
}
