package sim

import (
	"errors"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Mood is what may be wrong with a backend that answers. The zero value is a good
// one.
type Mood struct {
	// Errors: one call in so many fails, before or after it was carried out: the
	// caller cannot tell. None for zero.
	Errors int64
	// Slow is how long an answer is held back; nil means that it is not.
	Slow Distribution
	// Silent backends do not broadcast what becomes vacant.
	Silent bool
}

// ErrStore is what calls fail with.
var ErrStore = errors.New("sim: the store is out of order")

// moody is a backend with a mood around the model's actor.
type moody struct {
	store   actor.Behavior
	cluster *Cluster
}

// Receive carries a request out, unless it fails before that.
func (m *moody) Receive(ctx actor.Context, msg actor.Message) {
	if h, ok := msg.(heldBack); ok {
		ctx.Send(h.to, h.answer)
		return
	}
	if to, answer := m.refusal(msg); answer != nil {
		m.cluster.aboutMessage(msg, to, m.cluster.Store)
		fails := m.fails("error before")
		m.cluster.about("")
		if fails {
			ctx.Send(to, answer)
			return
		}
	}
	m.store.Receive(&moodyContext{ctx, m}, msg)
}

func (m *moody) fails(label string) bool { return m.cluster.Once(label, m.cluster.Mood.Errors) }

// refusal is the answer to a request that is not carried out.
func (m *moody) refusal(msg actor.Message) (to actor.Ref, answer actor.Message) {
	switch r := msg.(type) {
	case *backend.OpenRequest:
		return r.ReplyTo, &backend.OpenAnswer{ID: r.ID, Err: ErrStore}
	case *backend.RenewRequest:
		return r.ReplyTo, &backend.RenewAnswer{ID: r.ID, Err: ErrStore}
	case *backend.AcquireRequest:
		return r.ReplyTo, &backend.AcquireAnswer{ID: r.ID, Err: ErrStore}
	case *backend.ReleaseRequest:
		return r.ReplyTo, &backend.ReleaseAnswer{ID: r.ID, Err: ErrStore}
	case *backend.CloseRequest:
		return r.ReplyTo, &backend.CloseAnswer{ID: r.ID, Err: ErrStore}
	case *backend.NoteRequest:
		return r.ReplyTo, &backend.NoteAnswer{ID: r.ID, Err: ErrStore}
	}
	return nil, nil
}

// heldBack is an answer that is slow to come.
type heldBack struct {
	to     actor.Ref
	answer actor.Message
}

// moodyContext is what the model's actor sends its answers through.
type moodyContext struct {
	actor.Context
	mood *moody
}

// Send sends an answer, or what becomes of it.
func (c *moodyContext) Send(to actor.Ref, msg actor.Message) {
	cl := c.mood.cluster
	cl.Monitor.answering(msg)
	if _, notice := msg.(*backend.Vacated); notice && cl.Mood.Silent {
		return
	}
	cl.aboutMessage(msg, cl.Store, to)
	defer cl.about("")
	if failed := failure(msg); failed != nil && c.mood.fails("error after") {
		cl.Monitor.answerLost(msg)
		msg = failed
	}
	if d := cl.Draw("slow", cl.Mood.Slow); d > 0 {
		c.After(d, heldBack{to, msg})
		return
	}
	c.Context.Send(to, msg)
}

// failure is what the caller gets instead of an answer.
func failure(answer actor.Message) actor.Message {
	switch a := answer.(type) {
	case *backend.OpenAnswer:
		return &backend.OpenAnswer{ID: a.ID, Err: ErrStore}
	case *backend.RenewAnswer:
		return &backend.RenewAnswer{ID: a.ID, Err: ErrStore}
	case *backend.AcquireAnswer:
		return &backend.AcquireAnswer{ID: a.ID, Err: ErrStore}
	case *backend.ReleaseAnswer:
		return &backend.ReleaseAnswer{ID: a.ID, Err: ErrStore}
	case *backend.CloseAnswer:
		return &backend.CloseAnswer{ID: a.ID, Err: ErrStore}
	case *backend.NoteAnswer:
		return &backend.NoteAnswer{ID: a.ID, Err: ErrStore}
	}
	return nil
}

// StopStore ends the backend's process. What it knows it keeps.
func (c *Cluster) StopStore() { c.Store.Crash() }

// RestartStore restarts the backend with the data that are in Model.
func (c *Cluster) RestartStore() {
	c.Store.Crash()
	c.StartStore()
}

// LoseData makes the backend forget everything, and restarts it: a restart without
// a disk, or a failover to a replica that had heard of nothing. No lease can be
// relied on that it gave away before, and the monitor does not expect it. Tokens
// still grow.
func (c *Cluster) LoseData() {
	c.Model.Reset()
	c.losses++
	c.Monitor.loseData()
	c.fault(c.Store.name, "lost", "the backend has lost its data")
	c.RestartStore()
}

// RemoveLease deletes the lease of name at the backend, like an operator does by
// hand. Whoever has it learns of it by a renewal.
func (c *Cluster) RemoveLease(name string) {
	if id, _ := c.Model.Recorded(name); id == "" {
		return
	}
	c.Model.Remove(name)
	c.Monitor.removed(name)
	c.fault(c.Store.name, "removed", "somebody deletes the lease of %s by hand", name)
}
