package swarm

import (
	"time"

	"github.com/simba-go/simba/schedule"
	"github.com/simba-go/simba/sim"
)

// latest is when a schedule's run begins after its term at most, once faults have ended:
// after an initial delay, a minute of a cron line by a wall clock that may be 40 seconds
// behind that of the last leader, a look at the wall clock twice a minute, and what
// has been under way.
const latest = 3 * time.Minute

// schedulesGoOn: who leads by a schedule comes to a run.
func (w *World) schedulesGoOn() {
	for _, name := range w.names {
		leader := w.Leader(name)
		if leader == nil || !leader.Elections[name].Scheduled() {
			continue
		}
		e := leader.Elections[name]
		t := e.Term()
		w.within(latest, func() bool { return w.Monitor.Ran(name, t.Token()) || e.Term() != t }, sim.ScheduleGoesOn,
			"%v leads %q by a schedule, which does not run", leader, name)
	}
}

// plan draws when a function is to run.
func (w *World) plan(name string) *schedule.Plan {
	const least = 100 * time.Millisecond
	var when schedule.When
	interval, kind := least+w.upTo("interval", 2*time.Second), w.Choose("when", 3)
	switch kind {
	case 0:
		when = schedule.Every(interval)
	case 1:
		when = schedule.Rate(interval)
	case 2:
		when = schedule.Cron("* * * * *", "UTC")
	}
	plan, err := schedule.NewPlan(name, when, schedule.Options{
		Delay: w.upTo("initial delay", time.Second), Jitter: w.upTo("jitter", least-1), Durable: kind != 0 && (w.durable[name] || w.yes("durable")),
	})
	if err != nil {
		panic(err)
	}
	w.durable[name] = w.durable[name] || plan.Durable
	return plan
}
