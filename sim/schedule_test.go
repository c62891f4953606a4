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

func planOf(t *testing.T, w schedule.When) *schedule.Plan { return planWith(t, w, schedule.Options{}) }

func planWith(t *testing.T, w schedule.When, o schedule.Options) *schedule.Plan {
	p, err := schedule.NewPlan("x", w, o)
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

// TestMonitorWatchesTicks breaks what it watches over: each tick has a run, or one that
// stands for it.
func TestMonitorWatchesTicks(t *testing.T) {
	script := sim.Script{
		// Its first real run is far away.
		Plan: planWith(t, schedule.Rate(10), schedule.Options{Durable: true, Delay: time.Hour}),
		Task: sim.Diligent,
	}
	// runs says that the tick runs, and stands for others.
	runs := func(l *liar, tick int64, others int) {
		token := l.client.Elections["x"].Term().Token()
		if others > 0 {
			l.client.Say(observe.TicksSkipped{Name: "x", Token: token, Ticks: others})
		}
		l.client.Say(observe.RunStarted{Name: "x", Token: token, Tick: tick})
	}
	// again has the name led again after what ends the term.
	again := func(l *liar, end func(e *sim.Election)) {
		e := l.client.Elections["x"]
		token := e.Term().Token()
		end(e)
		l.RunUntil(time.Minute, func() bool {
			e := l.client.Elections["x"]
			return e != nil && e.Leads() && e.Term().Token() > token
		})
	}
	begun := func(l *liar) {
		l.leads(script)
		runs(l, 100, 0)
	}
	stepDown := func(e *sim.Election) { e.StepDown(0) }
	tell(t, newInsider, []lie{
		{"one after the other", func(l *liar) {
			begun(l)
			runs(l, 110, 0)
			runs(l, 140, 2)
			again(l, stepDown)
			runs(l, 160, 1)
		}, sim.Invariant{}},
		{"a tick that is left out", func(l *liar) {
			begun(l)
			runs(l, 120, 0)
		}, sim.TickKept},
		{"a tick that there was not", func(l *liar) {
			begun(l)
			runs(l, 120, 2)
		}, sim.TickKept},
		{"a tick out of step", func(l *liar) {
			begun(l)
			runs(l, 115, 0)
		}, sim.TickKept},
		{"others of another run", func(l *liar) {
			begun(l)
			runs(l, 120, 1)
			runs(l, 140, 0)
		}, sim.TickKept},
		{"a tick that is left out in a handover", func(l *liar) {
			begun(l)
			again(l, stepDown)
			runs(l, 120, 0)
		}, sim.TickKept},
		{"a tick that is left out in the second handover", func(l *liar) {
			begun(l)
			again(l, stepDown)
			again(l, stepDown)
			runs(l, 120, 0)
		}, sim.TickKept},
		{"a tick that is lost with its process", func(l *liar) {
			begun(l)
			again(l, func(*sim.Election) {
				l.client.Crash()
				l.client.Start()
				l.client.Elect("x", script)
			})
			runs(l, 120, 0)
			runs(l, 130, 0)
		}, sim.Invariant{}},
		{"ticks before and after a loss of the data", func(l *liar) {
			begun(l)
			again(l, func(*sim.Election) {
				l.LoseData()
				runs(l, 110, 0) // under a term that does not know of it
			})
			runs(l, 100, 0)
			again(l, stepDown)
			runs(l, 110, 0)
		}, sim.Invariant{}},
		{"a tick that is left out after a loss of the data", func(l *liar) {
			begun(l)
			again(l, func(*sim.Election) { l.LoseData() })
			runs(l, 100, 0)
			again(l, stepDown)
			runs(l, 120, 0)
		}, sim.TickKept},
		{"a tick that is left out after one that was lost", func(l *liar) {
			begun(l)
			again(l, func(*sim.Election) {
				l.client.Crash()
				l.client.Start()
				l.client.Elect("x", script)
			})
			runs(l, 120, 0)
			runs(l, 140, 0)
		}, sim.TickKept},
		{"a note that could not be taken back", func(l *liar) {
			begun(l)
			again(l, func(e *sim.Election) {
				token := e.Term().Token()
				e.StepDown(0)
				l.client.Sink = func(ev observe.Event) {
					if _, ok := ev.(observe.HandoverStarted); ok {
						l.client.Sink = nil
						l.client.Say(observe.NoteFailed{Name: "x", Token: token})
					}
				}
			})
			runs(l, 120, 0)
		}, sim.Invariant{}},
		{"a note that could not be written, but for no handover", func(l *liar) {
			begun(l)
			l.client.Say(observe.NoteFailed{Name: "x", Token: l.client.Elections["x"].Term().Token()})
			again(l, stepDown)
			runs(l, 120, 0)
		}, sim.TickKept},
	})
}
