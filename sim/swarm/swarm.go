// Package swarm draws worlds in which everything goes wrong that may, lets them live
// and heal, and looks for one in which something does not hold that always must.
//
// Each class of faults is there in some of the worlds only (swarm testing, after
// Groce and others, 2012): faults that hide behind others show in the rest.
package swarm

import (
	"fmt"
	"strings"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
)

// World is a cluster of a few clients that contend for the same names, and what
// happens to it. All of it is drawn.
type World struct {
	*sim.Cluster

	names    []string
	sets     [][]string // of names of locks
	actions  int
	faults   faults
	calls    []call
	locks    []lockOf
	meetings []meeting
	healing  bool
	outage   bool            // of the backend
	durable  map[string]bool // names with a durable schedule
	wakes    bool            // whoever waits for a name is told when it becomes free
	sluggish bool            // elections are, and the network is not
}

// faults are the classes of them that this world has. That a class is there changes
// nothing as long as nobody makes use of it, so that is the calm choice.
type faults struct {
	pauses, sleeps, crashes, cuts  bool
	storeRestarts, storePauses     bool
	outages, losses, removals      bool
	clocks, closes, locks, drops   bool
	panics, inside, refusals, deaf bool
	writes                         bool
}

// call is something that was asked of a client, and must come back.
type call struct {
	what   string
	client *sim.Client
	life   int // of the client
	reply  *sim.Reply
}

type lockOf struct {
	*sim.Lock
	client *sim.Client
	life   int
}

const (
	lease = 3 * time.Second
	// stall is the longest that a message is under way: longer than a lease.
	stall = 4 * time.Second
	// longest is how long a task that does not heed its context takes.
	longest = 5 * time.Second
	// actions is how many things are done to a world.
	actions = 25
)

// New draws a world.
func New(c sim.Chooser) *World { return Tell(c, nil) }

// Tell draws a world that tells f what happens in it, unless that is nil.
func Tell(c sim.Chooser, f func(sim.Entry)) *World {
	p := session.Defaults(lease)
	p.Drift = 0.02
	if c.Choose("margin", 2) == 1 {
		p.Margin = 0 // the drift must do all by itself, to the nanosecond
	}
	w := &World{Cluster: sim.NewCluster(c, p), actions: actions, wakes: true, durable: make(map[string]bool)}
	w.OnArrive(w.met(true))
	w.OnDeliver(w.met(false))
	w.names = []string{"a", "b"}
	if w.Once("many names", 32) {
		for i := range 20 {
			w.names = append(w.names, fmt.Sprint("n", i))
		}
	}
	w.sets = [][]string{{"x"}, {"x", "y"}, {"y", "z"}, {"x", "z"}}
	switch w.Choose("lag", 5) {
	case 2:
		w.Lag = func(actor.Ref) time.Duration { return w.lag(50, 100*time.Millisecond) }
	case 3:
		w.Lag = func(actor.Ref) time.Duration { return w.lag(4, 200*time.Microsecond) }
	case 4:
		w.Lag, w.sluggish = w.sluggishly, true
	}
	w.drawFaults()
	w.drawNet()
	w.drawStore()
	if f != nil {
		w.Cluster.Tell(f)
	}
	w.drawClients()
	return w
}

func (w *World) drawFaults() {
	for _, f := range []struct {
		name string
		on   *bool
	}{
		{"pauses", &w.faults.pauses}, {"sleeps", &w.faults.sleeps}, {"crashes", &w.faults.crashes}, {"cuts", &w.faults.cuts},
		{"store restarts", &w.faults.storeRestarts}, {"store pauses", &w.faults.storePauses}, {"outages", &w.faults.outages},
		{"losses", &w.faults.losses}, {"removals", &w.faults.removals}, {"clocks", &w.faults.clocks}, {"closes", &w.faults.closes},
		{"locks", &w.faults.locks}, {"drops", &w.faults.drops}, {"panics", &w.faults.panics}, {"inside", &w.faults.inside},
		{"refusals", &w.faults.refusals}, {"deaf", &w.faults.deaf}, {"writes", &w.faults.writes},
	} {
		*f.on = !w.yes("no " + f.name)
	}
}

func (w *World) drawNet() {
	weather := &w.Net.Weather
	switch w.Choose("delay kind", 5) {
	case 1:
		weather.Delay = sim.Constant(20 * time.Millisecond)
	case 2:
		weather.Delay = sim.Uniform(0, 100*time.Millisecond)
	case 3:
		weather.Delay = sim.Exponential(30 * time.Millisecond)
	case 4:
		heavy := sim.Pareto(5*time.Millisecond, 1.2)
		weather.Delay = func(u float64) time.Duration { return min(heavy(u), stall) }
	}
	if w.sluggish {
		weather.Delay = nil
	}
	weather.Stall = sim.Uniform(0, stall)
	weather.Late = w.odds("late messages", 10)
	weather.Lose = w.odds("lost messages", 10)
	weather.Double = w.odds("doubled messages", 5)
}

// sluggishly is the lag of a world in which elections may take longer to hear of
// something than the store to answer.
func (w *World) sluggishly(to actor.Ref) time.Duration {
	if strings.Contains(to.String(), "/election ") {
		return w.lag(3, 20*time.Millisecond)
	}
	return w.lag(2, 200*time.Microsecond)
}

// lag is how long an actor's step has to wait: hardly, and once in odds times for as
// long as a goroutine that is not scheduled.
func (w *World) lag(odds int64, long time.Duration) time.Duration {
	switch {
	case w.healing:
		return 0
	case w.Once("long lag", odds):
		return w.upTo("lag of a step", long)
	}
	return w.upTo("lag of a step", 20*time.Microsecond)
}

func (w *World) drawStore() {
	config := memory.Config{Wall: w.Wall}
	if w.yes("shorter leases") {
		config.MaxLease = lease - w.upTo("shorter", 2*time.Second)
	}
	if w.yes("tokens count from 1") {
		config.Wall = nil
		w.faults.losses = false // tokens would start anew
	}
	w.Configure(config)
	w.Mood.Errors = w.odds("errors", 10)
	if w.Once("slow store", 4) {
		w.Mood.Slow = sim.Exponential(50 * time.Millisecond)
	}
	w.Mood.Silent = w.Once("silent store", 4)
}

func (w *World) drawClients() {
	first := w.NewClient("client-0", w.upTo("offset", time.Hour), w.rate())
	w.electAll(first)
	for i := 1; i < 3; i++ {
		name := fmt.Sprint("client-", i)
		var cl *sim.Client
		if i == 1 && w.Once("same machine", 4) {
			cl = w.NewClientOn(first.Neighbour(name))
		} else {
			cl = w.NewClient(name, w.upTo("offset", time.Hour), w.rate())
		}
		w.electAll(cl)
	}
}

func (w *World) upTo(label string, d time.Duration) time.Duration {
	return time.Duration(w.Choose(label, int64(d)+1))
}

// lasting is how long a fault lasts, or the time between two: up to d, and three
// quarters of it if nothing else is drawn. A failure can then be shrunk to fewer
// decisions.
func (w *World) lasting(label string, d time.Duration) time.Duration {
	if drawn := w.upTo(label, d); drawn > 0 {
		return drawn
	}
	return d / 4 * 3
}

func (w *World) yes(label string) bool { return w.Choose(label, 2) == 1 }

func (w *World) odds(label string, n int64) int64 {
	if w.yes(label) {
		return n
	}
	return 0
}

// rate is that of a clock which differs from the backend's by at most the drift:
// as fast as it may be, as slow, or none of both.
func (w *World) rate() float64 {
	switch w.Choose("rate", 3) {
	case 1:
		return 1 + w.Params.Drift
	case 2:
		return 1 - w.Params.Drift
	}
	return 1
}

// Run lets the world live, ends all faults, and returns what does not hold: a
// [*sim.Violation].
func (w *World) Run() error {
	for range w.actions {
		w.NextPhase()
		w.RunFor(w.lasting("calm", 1500*time.Millisecond))
		if w.Err() != nil {
			return w.Err()
		}
		w.act()
	}
	w.heal()
	return w.Err()
}
