package sim

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
)

// What a test needs to tell the monitor lies that no code of the library tells.

// Say makes the client report an event that has not happened.
func (c *Client) Say(e observe.Event) { c.sink(e) }

// Show makes the client's session show what is not so.
func (c *Client) Show(v session.Snapshot) { c.view.Store(&v) }

// Impersonate makes an actor of the client an election of that name.
func (c *Client) Impersonate(ref actor.Ref, name string) *Election {
	e := &Election{name: name, client: c, ref: ref}
	e.Show(election.Candidate)
	c.cluster.Monitor.node(c.Node).actor(ref).election = e
	return e
}

// Show makes the election show another status.
func (e *Election) Show(s election.Status) {
	e.view.Store(&election.Snapshot{Name: e.name, Status: s})
}

// Backend is whom clients talk to.
func (c *Cluster) Backend() actor.Ref { return &c.backend }

// LieInStore replaces what the backend does, but not its mood and its books.
func (c *Cluster) LieInStore(b actor.Behavior) {
	c.backend.Bind(c.Store.Spawn("liar", &moody{store: b, cluster: c}))
}

// Guarded is the resource that checks tokens.
func (c *Cluster) Guarded() actor.Ref { return c.guarded }

// Unguarded is the resource that does not.
func (c *Cluster) Unguarded() actor.Ref { return c.unguarded }

// Careless is a resource that only says that it checks tokens.
func (c *Cluster) Careless() actor.Ref {
	return c.resource.Spawn("careless", &resource{highest: make(map[string]uint64), told: func(w Write, accepted bool) {
		c.Monitor.wrote(w, true, accepted)
	}})
}

// StopHasComeBack ends the wait of Stop.
func (h *Host) StopHasComeBack() { h.stopHasComeBack() }

// Ref is the election's actor.
func (e *Election) Ref() actor.Ref { return e.ref }

// About says what choices are about.
func (w *World) About(what string) { w.about(what) }
