package sim

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/session"
)

// Cluster is a world with a backend, a protected resource and Clients: they have the
// same Params, talk over a Net, and are watched by a Monitor.
type Cluster struct {
	*World
	Net     *Net
	Params  session.Params
	Model   *memory.Model // what the backend knows; it outlives a crash
	Mood    Mood          // of the backend
	Store   *Node         // the backend's machine
	Monitor *Monitor
	Clients []*Client

	losses             uint64 // of the backend's data
	resource           *Node
	backend            Address
	guarded, unguarded actor.Ref // resources, with a check of tokens and without
}

// NewCluster returns a cluster without clients, whose backend's clock is the true
// time. A perfect network connects it.
func NewCluster(c Chooser, p session.Params) *Cluster {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	w := NewWorld(c)
	cl := &Cluster{World: w, Net: w.NewNet(), Params: p, Store: w.NewNode("store", 0, 1), resource: w.NewNode("resource", 0, 1)}
	cl.Model = memory.NewModel(memory.Config{Wall: cl.Wall})
	cl.Monitor = newMonitor(cl)
	cl.guarded, cl.unguarded = cl.newResource("guarded", true), cl.newResource("unguarded", false)
	cl.StartStore()
	return cl
}

func (c *Cluster) newResource(name string, checks bool) actor.Ref {
	return c.resource.Spawn(name, &resource{checks: checks, highest: make(map[string]uint64), told: func(w Write, accepted bool) {
		c.Monitor.wrote(w, checks, accepted)
	}})
}

// StartStore starts the backend on its machine, which must have crashed, with the
// data that are in Model.
func (c *Cluster) StartStore() {
	c.fault(c.Store.name, "started", "the backend starts")
	c.backend.Bind(c.Store.Spawn("backend", &moody{store: memory.NewActor(c.Model), cluster: c}))
}

// Configure replaces the backend by a new one, which knows nothing. It comes before
// there are clients. A configuration without [Cluster.Wall] is for worlds in which
// no data are lost.
func (c *Cluster) Configure(config memory.Config) {
	c.Model = memory.NewModel(config)
	c.RestartStore()
}

// Wall is the backend's wall clock in microseconds, from which tokens start. To
// restart without data takes it a millisecond at least.
func (c *Cluster) Wall(now actor.Instant) uint64 {
	return uint64(max(now, 0))/uint64(time.Microsecond) + 1000*c.losses
}

// Leader returns the client that has a valid term of name, or nil.
func (c *Cluster) Leader(name string) *Client {
	for _, cl := range c.Clients {
		if e := cl.Elections[name]; e != nil && e.Leads() {
			return cl
		}
	}
	return nil
}

// Led reports whether somebody has a valid term of name. It is a condition for
// [World.RunUntil].
func (c *Cluster) Led(name string) func() bool {
	return func() bool { return c.Leader(name) != nil }
}

// LedBy is like Led, by that client.
func (c *Cluster) LedBy(name string, by *Client) func() bool {
	return func() bool { return c.Leader(name) == by }
}

// AttemptPeriod is the longest time between two attempts of a candidate.
func (c *Cluster) AttemptPeriod() time.Duration {
	return c.Params.RenewInterval/2 + c.Params.RetryJitter
}

// Reply is where the answer to something that was asked of the simulated system
// arrives.
type Reply struct {
	Answer actor.Message // nil as long as there is none
	then   func(answer actor.Message)
}

// Tell takes the answer.
func (r *Reply) Tell(answer actor.Message) {
	if r.Answer != nil {
		return
	}
	r.Answer = answer
	if r.then != nil {
		r.then(answer)
	}
}

// String names the reply for people.
func (r *Reply) String() string { return "reply" }

// Done reports whether there is an answer. It is a condition for
// [World.RunUntil].
func (r *Reply) Done() bool { return r.Answer != nil }

// Err returns the answer if it is an error.
func (r *Reply) Err() error {
	switch a := r.Answer.(type) {
	case error:
		return a
	case actor.Unanswered:
		return fmt.Errorf("sim: %s had ended", a.To)
	}
	return nil
}

// ask asks an actor, and calls then, unless it is nil, with the answer.
func ask(to actor.Ref, msg actor.Message, then func(answer actor.Message)) *Reply {
	r := &Reply{then: then}
	to.Tell(actor.NewRequest(msg, r))
	return r
}
