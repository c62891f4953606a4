package sim

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// Client is a process that uses the library, on a machine of its own.
type Client struct {
	*Node
	Session   actor.Ref            // of the process that runs now
	Elections map[string]*Election // by name, of the process that runs now
	// Sink is told of all events; it may be nil.
	Sink observe.Sink

	cluster *Cluster
	view    atomic.Pointer[session.Snapshot]
}

// NewClient adds a machine and starts a process on it that opens a session.
func (c *Cluster) NewClient(name string, offset time.Duration, rate float64) *Client {
	cl := &Client{Node: c.NewNode(name, offset, rate), cluster: c}
	c.Clients = append(c.Clients, cl)
	cl.Start()
	return cl
}

// Start starts the process, after a crash or a close.
func (c *Client) Start() {
	c.Elections = make(map[string]*Election)
	c.view.Store(nil)
	c.Session = c.Spawn("session", session.New(session.Config{
		Params: c.cluster.Params, Label: c.String(), Backend: &c.cluster.backend, Clock: c.Node, Sink: c.sink, View: &c.view,
	}))
}

func (c *Client) sink(e observe.Event) {
	c.cluster.Monitor.count(c, e)
	if c.Sink != nil {
		c.Sink(e)
	}
}

// View returns what the session shows of itself, nil before it has started.
func (c *Client) View() *session.Snapshot { return c.view.Load() }

// Live reports whether the client has a session. It is a condition for
// [World.RunUntil].
func (c *Client) Live() bool {
	v := c.View()
	return v != nil && v.State == session.Live
}

// Crash ends the process without a word.
func (c *Client) Crash() {
	c.Node.Crash()
	c.Elections = nil
}

// Close stops all elections, and then closes the session, like a client of the
// library does. The reply comes when all that is done.
func (c *Client) Close() *Reply {
	r := &Reply{}
	left := len(c.Elections)
	closeNow := func() { ask(c.Session, session.Close{}, r.Tell) }
	if left == 0 {
		closeNow()
	}
	for _, name := range slices.Sorted(maps.Keys(c.Elections)) {
		ask(c.Elections[name].ref, election.Stop{}, func(actor.Message) {
			if left--; left == 0 {
				closeNow()
			}
		})
	}
	return r
}

// Election is an election of a client.
type Election struct {
	name   string
	client *Client
	ref    actor.Ref
	view   atomic.Pointer[election.Snapshot]
}

// Elect makes the client contend for name, as soon as none of its other elections
// and locks has that name any more.
func (c *Client) Elect(name string, s Script) *Election {
	e := &Election{name: name, client: c}
	h := c.Spawn("host of "+name, NewHost(c.world, name, s))
	e.ref = c.Spawn("election "+name, election.New(election.Config{
		Name: name, Session: c.Session, Host: h, Listens: s.Callback != nil, Works: s.Task != nil,
		AfterReturn: s.AfterReturn, AfterFailure: s.AfterFailure,
		Params: c.cluster.Params, Sink: c.sink, View: &e.view,
	}))
	c.Elections[name] = e
	e.join(c.Session)
	return e
}

func (e *Election) join(at actor.Ref) {
	ask(at, session.Join{Names: []string{e.name}, Owner: e.ref}, func(answer actor.Message) {
		switch answer.(type) {
		case session.Done:
			e.ref.Tell(election.Start{})
		case *session.InUseError: // a task of a stopped election still runs, for example
			e.client.world.In(e.client.cluster.Params.MinBackoff, func() { e.join(at) })
		}
	})
}

// Status returns where the election stands.
func (e *Election) Status() election.Status { return e.view.Load().Status }

// Term returns the term that the election holds now, or nil.
func (e *Election) Term() *term.Term { return e.view.Load().Term }

// Stop asks the election to hand over and to end, and calls each then, which may
// contend for the same name again, when that is done.
func (e *Election) Stop(then ...func()) *Reply {
	return ask(e.ref, election.Stop{}, func(actor.Message) {
		for _, f := range then {
			f()
		}
	})
}

// StepDown asks the election to hand over, and not to contend for a while.
func (e *Election) StepDown(cooldown time.Duration) *Reply {
	return ask(e.ref, election.StepDown{Cooldown: cooldown}, nil)
}
