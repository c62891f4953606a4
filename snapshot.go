package simba

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is what an operator sees of a client. It is immutable.
type Snapshot struct {
	Session   string             // the id; empty while there is none
	State     SessionState       // StateOpening, StateLive, StateSuspended or StateClosed
	Remaining time.Duration      // to the session's local deadline; 0 while there is no session
	Interval  time.Duration      // between renewals, as in effect
	Leases    int                // held by the session: of elections and locks
	LastErr   error              // why the session's last call failed; nil if it did not
	Elections []ElectionSnapshot // that have not ended, by name; those of schedules, too
	Schedules []ScheduleSnapshot // that have not ended, by name
}

// Snapshot returns the client's state, without waiting for anything. Its parts are
// each consistent in themselves. Elections are in the order of their names, and
// only those that have not ended.
func (c *Client) Snapshot() Snapshot {
	var s Snapshot
	if v := c.view.Load(); v != nil {
		s = Snapshot{Session: v.Session, State: v.State, Interval: v.Interval, Leases: v.Leases, LastErr: v.LastErr}
		if v.Deadline != nil {
			s.Remaining = v.Deadline.Remaining()
		}
	}
	for _, m := range c.everybody() {
		if e, ok := m.(*Election); ok {
			s.Elections = append(s.Elections, e.Snapshot())
			if e.schedule != nil {
				s.Schedules = append(s.Schedules, e.schedule.Snapshot())
			}
		}
	}
	slices.SortFunc(s.Elections, func(a, b ElectionSnapshot) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Schedules, func(a, b ScheduleSnapshot) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// ElectionSnapshot is what an operator sees of the election of Name. It is immutable.
type ElectionSnapshot struct {
	Name      string
	Status    Status        // StatusCandidate, StatusLeader, StatusSteppingDown or StatusStopped
	Token     uint64        // of its term; 0 while it has none
	Remaining time.Duration // of its term
	Cooldown  time.Duration // left, zero if there is none
	Running   bool          // a task runs, of this term or an earlier one
	Restarts  int           // of the task, in all
	LastErr   error         // of the last task, callback or attempt that failed; nil if none did
}

// Snapshot returns the election's state, without waiting for anything.
func (e *Election) Snapshot() ElectionSnapshot {
	v := e.view.Load()
	s := ElectionSnapshot{Name: v.Name, Status: v.Status, Running: v.Running, Restarts: v.Restarts, LastErr: v.LastErr}
	if v.Term != nil {
		s.Token, s.Remaining = v.Term.Token(), v.Term.Remaining()
	}
	if v.Cooldown != 0 {
		s.Cooldown = max(0, v.Cooldown.Sub(e.client.system.Clock().Now()))
	}
	return s
}
