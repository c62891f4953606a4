package swarm

import (
	"time"

	"github.com/simba-go/simba/schedule"
)

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
		Delay: w.upTo("initial delay", time.Second), Jitter: w.upTo("jitter", least-1), Durable: kind != 0 && w.yes("durable"),
	})
	if err != nil {
		panic(err)
	}
	return plan
}
