package sim

import (
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/schedule"
)

// wallEpoch is what wall clocks read when a world begins.
const wallEpoch = schedule.Moment(1_780_000_000 * time.Second)

// between puts a schedule between an election and its host, if the script has one.
func (c *Client) between(name string, s Script, host actor.Ref) actor.Ref {
	if s.Plan == nil {
		return host
	}
	ref := c.Spawn("schedule "+name, schedule.New(schedule.Config{
		Name: name, Plan: s.Plan, Host: host, Sink: c.sink,
		Wall: func() schedule.Moment { return c.wall() }, Backend: &c.cluster.backend,
		Timeout: c.cluster.Params.RenewInterval, Pause: c.cluster.Params.MinBackoff,
	}))
	c.cluster.Monitor.node(c.Node).actor(ref).schedule = true
	return ref
}

// wall is the machine's wall clock. It differs from others by more than clocks should:
// a leader whose clock is behind must not repeat a tick.
func (c *Client) wall() schedule.Moment {
	now := schedule.Moment(c.world.now)
	return wallEpoch + now + (schedule.Moment(c.Now())-now)%schedule.Moment(20*time.Second)
}

// starts: of one election, nothing runs twice at once. A schedule starts many runs
// under one term.
func (h *Host) starts(m election.StartTask) {
	if h.running != nil {
		h.cluster.Monitor.violate(OneTask, "%s begins to run while a run under token %d has not returned", termOf(m.Term), h.running.Token())
	}
}

// runStarts: no run starts after its schedule has told the election that the task has
// exited, for the next leader may begin then.
func (m *Monitor) runStarts(from *process, t *watched) {
	if a := m.node(from.node).actors[from]; a == nil || !a.schedule {
		t.left = false
		return
	}
	if t.left {
		m.violate(HandoverInOrder, "a run of %s starts after the schedule has told that it was over, on %s", termOf(t.term), t.node)
	}
}
