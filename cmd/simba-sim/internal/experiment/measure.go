package experiment

import (
	"math"
	"slices"
	"time"
)

// measure is what was measured in a world, or in several.
type measure struct {
	Worlds        int
	Time          time.Duration // true time, in all
	Leaderless    time.Duration // of it, without a valid term
	Overlap       time.Duration // with more than one
	Overlaps      int           // how often that began
	OverlapWorlds int           // worlds in which it did
	Needless      int           // terms lost although their process ran and was connected
	Faults        int           // crashes, cuts, pauses and jumps
	Pauses        int
	PausesLost    int // that cost the term
	Calls         int // to the backend
	Writes        int // to both resources
	StaleRefused  uint64
	StaleAccepted uint64
	Failovers     []time.Duration // from a leader's crash to the next valid term
}

// add takes another measure in.
func (m *measure) add(o *measure) {
	m.Worlds++
	m.Time += o.Time
	m.Leaderless += o.Leaderless
	m.Overlap += o.Overlap
	m.Overlaps += o.Overlaps
	if o.Overlaps > 0 {
		m.OverlapWorlds++
	}
	m.Needless += o.Needless
	m.Faults += o.Faults
	m.Pauses += o.Pauses
	m.PausesLost += o.PausesLost
	m.Calls += o.Calls
	m.Writes += o.Writes
	m.StaleRefused += o.StaleRefused
	m.StaleAccepted += o.StaleAccepted
	m.Failovers = append(m.Failovers, o.Failovers...)
}

// Point is what was measured in all worlds of one value. Times are in seconds.
type Point struct {
	Value   string  `json:"value"`   // as a person writes it
	X       float64 `json:"x"`       // seconds, a share or a count
	Outside bool    `json:"outside"` // the assumptions
	Worlds  int     `json:"worlds"`  // that lived
	Hours   float64 `json:"hours"`   // of virtual time, in all

	Failovers   int     `json:"failovers"`    // after a crash; one that is waited for in vain counts as 20 leases
	FailoverP50 float64 `json:"failover_p50"` // the median
	FailoverP99 float64 `json:"failover_p99"` // 99 of 100 take no longer
	FailoverMax float64 `json:"failover_max"` // the longest

	Leaderless      float64 `json:"leaderless"`        // share of the time
	Needless        int     `json:"needless"`          // terms lost although the process ran and was connected
	NeedlessPerHour float64 `json:"needless_per_hour"` // of virtual time
	CallsPerSecond  float64 `json:"calls_per_second"`  // of all clients together
	Pauses          int     `json:"pauses"`            // of a leader
	PausesLost      float64 `json:"pauses_lost"`       // share of them

	Faults           int     `json:"faults"`             // crashes, cuts, pauses and jumps
	Overlaps         int     `json:"overlaps"`           // how often two began to lead at once
	OverlapsPerFault float64 `json:"overlaps_per_fault"` // their ratio
	OverlapWorlds    float64 `json:"overlap_worlds"`     // share of them
	Overlap          float64 `json:"overlap"`            // mean duration
	Writes           int     `json:"writes"`             // that the resources were sent, to both of them
	StaleRefused     uint64  `json:"stale_refused"`      // by the resource that checks tokens
	StaleAccepted    uint64  `json:"stale_accepted"`     // by the one without a check
}

// point sums a measure up.
func (m *measure) point() Point {
	hours := m.Time.Hours()
	slices.Sort(m.Failovers)
	return Point{
		Worlds: m.Worlds, Hours: hours,
		Failovers:   len(m.Failovers),
		FailoverP50: quantile(m.Failovers, 0.5), FailoverP99: quantile(m.Failovers, 0.99), FailoverMax: quantile(m.Failovers, 1),
		Leaderless: ratio(m.Leaderless.Seconds(), m.Time.Seconds()),
		Needless:   m.Needless, NeedlessPerHour: ratio(float64(m.Needless), hours),
		CallsPerSecond: ratio(float64(m.Calls), m.Time.Seconds()),
		Pauses:         m.Pauses, PausesLost: ratio(float64(m.PausesLost), float64(m.Pauses)),
		Faults: m.Faults, Overlaps: m.Overlaps, OverlapsPerFault: ratio(float64(m.Overlaps), float64(m.Faults)),
		OverlapWorlds: ratio(float64(m.OverlapWorlds), float64(m.Worlds)),
		Overlap:       ratio(m.Overlap.Seconds(), float64(m.Overlaps)),
		Writes:        m.Writes, StaleRefused: m.StaleRefused, StaleAccepted: m.StaleAccepted,
	}
}

// quantile returns the least of sorted durations that at least a share q of them does
// not exceed, in seconds; 0 for none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(0, rank)].Seconds()
}

// ratio is 0 of nothing.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
