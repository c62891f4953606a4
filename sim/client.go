package sim

import (
	"sync/atomic"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// Client is a process that uses the library.
type Client struct {
	*Node
	Session   actor.Ref            // of the process that runs now
	Elections map[string]*Election // by name, of the process that runs now
	// Sink is told of all events; it may be nil.
	Sink observe.Sink

	cluster *Cluster
	view    atomic.Pointer[session.Snapshot]
	life    int
	closing bool
	started []*Election // by the process that runs now, also those that have ended
}

// NewClient adds a machine and starts a process on it that opens a session.
func (c *Cluster) NewClient(name string, offset time.Duration, rate float64) *Client {
	return c.NewClientOn(c.NewNode(name, offset, rate))
}

// NewClientOn starts a process on a node that opens a session.
func (c *Cluster) NewClientOn(n *Node) *Client {
	cl := &Client{Node: n, cluster: c}
	c.Clients = append(c.Clients, cl)
	cl.Start()
	return cl
}

// Start starts the process, after a crash or a close.
func (c *Client) Start() {
	c.cluster.Monitor.node(c.Node).restart(c)
	c.Elections = make(map[string]*Election)
	c.view.Store(nil)
	c.started = nil
	c.life++
	c.world.fault(c.name, "started", "the process starts")
	c.closing = false
	c.Session = c.Spawn("session", session.New(session.Config{
		Params: c.cluster.Params, Label: c.String(), Backend: &c.cluster.backend, Clock: c.Node, Sink: c.sink, View: &c.view,
	}))
}

func (c *Client) sink(e observe.Event) {
	c.cluster.Monitor.event(c, e)
	c.tell(e)
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

// Life counts the processes that were started, so that they can be told apart.
func (c *Client) Life() int { return c.life }

// Closing reports whether Close was asked of the process that runs now.
func (c *Client) Closing() bool { return c.closing }

// WorksForEver reports whether a task runs that will never return.
func (c *Client) WorksForEver() bool {
	for ref := range c.Node.actors {
		if h, ok := ref.behavior.(*Host); ok && h.running != nil && h.work.Deaf && h.work.Lasts == 0 {
			return true
		}
	}
	return false
}

// Crash ends the process without a word.
func (c *Client) Crash() {
	c.Node.Crash()
	c.cluster.Monitor.node(c.Node).restart(nil)
	c.Elections = nil
}

// Resume lets the process go on after a pause.
func (c *Client) Resume() {
	m := c.cluster.Monitor
	if w := m.node(c.Node); c.Paused() && w.session != "" && !c.Now().Before(w.deadline) {
		m.Met[ExpiryWhilePaused]++
	}
	c.Node.Resume()
}

// Wake ends the sleep of the client's machine. The library notices that it may have
// slept, and looks at its deadline: see [session.Check].
func (c *Client) Wake() {
	m := c.cluster.Monitor
	if w := m.node(c.Node); c.Asleep() && w.session != "" && !c.Now().Before(w.deadline) {
		m.Met[SuspendedMachine]++
	}
	c.Node.Wake()
	c.Session.Tell(session.Check{})
}

// Close stops all elections, and then closes the session, like a client of the
// library does. The reply comes, and then is called, when all that is done.
func (c *Client) Close(then ...func()) *Reply {
	c.closing = true
	r := &Reply{then: func(actor.Message) {
		for _, f := range then {
			f()
		}
	}}
	left := len(c.started) + 1
	oneLess := func() {
		if left--; left == 0 {
			ask(c.Session, session.Close{}, r.Tell)
		}
	}
	for _, e := range c.started {
		e.Stop(oneLess)
	}
	oneLess()
	return r
}

// Election is an election of a client.
type Election struct {
	name    string
	client  *Client
	ref     actor.Ref
	host    *Host
	joined  bool // the name, at the session
	stopped bool // was asked for
	view    atomic.Pointer[election.Snapshot]
}

// Elect makes the client contend for name, as soon as none of its other elections
// and locks has that name any more.
func (c *Client) Elect(name string, s Script) *Election {
	e := &Election{name: name, client: c}
	e.host = NewHost(c.cluster, name, s)
	host := c.between(name, s, c.Spawn("host of "+name, e.host))
	e.ref = c.Spawn("election "+name, election.New(election.Config{
		Name: name, Session: c.Session, Host: host, Listens: s.Callback != nil, Works: s.Task != nil,
		AfterReturn: s.AfterReturn, AfterFailure: s.AfterFailure,
		Params: c.cluster.Params, Sink: c.sink, View: &e.view,
	}))
	c.Elections[name] = e
	c.started = append(c.started, e)
	c.cluster.Monitor.node(c.Node).actor(e.ref).election = e
	e.join(c.Session)
	return e
}

// leading returns the election that has a term. It need not be the last one of its name,
// which may have been started before that one has heard that it is to stop.
func (c *Client) leading(name string, token uint64) *Election {
	for _, e := range c.started {
		if t := e.Term(); e.name == name && t != nil && t.Token() == token {
			return e
		}
	}
	return c.Elections[name]
}

func (e *Election) join(at actor.Ref) {
	ask(at, session.Join{Names: []string{e.name}, Owner: e.ref}, func(answer actor.Message) {
		switch answer.(type) {
		case session.Done:
			if e.stopped { // before it could begin
				at.Tell(session.Leave{Name: e.name, Owner: e.ref})
				return
			}
			e.joined = true
			e.ref.Tell(election.Start{})
		case *session.InUseError: // a task of a stopped election still runs, for example
			if !e.stopped {
				e.client.world.In(e.client.cluster.Params.MinBackoff, func() { e.join(at) })
			}
		}
	})
}

// Status returns where the election stands.
func (e *Election) Status() election.Status { return e.view.Load().Status }

// Term returns the term that the election holds now, or nil.
func (e *Election) Term() *term.Term { return e.view.Load().Term }

// Leads reports whether the election holds a valid term.
func (e *Election) Leads() bool {
	t := e.Term()
	return t != nil && e.client.Now().Before(term.Until(t))
}

// Scheduled reports whether the task is one that runs again and again, by a schedule.
func (e *Election) Scheduled() bool { return e.host.script.Plan != nil }

// Deaf reports whether a task runs that does not heed its context.
func (e *Election) Deaf() bool { return e.host.running != nil && e.host.work.Deaf }

// Ready reports whether the election waits for the name to become free, and nothing
// else.
func (e *Election) Ready() bool {
	v := e.view.Load()
	return e.joined && v.Status == election.Candidate && !v.Running && !e.client.Now().Before(v.Cooldown)
}

// Stop asks the election to hand over and to end, and calls each then, which may
// contend for the same name again, when that is done.
func (e *Election) Stop(then ...func()) *Reply {
	e.stopped = true
	return ask(e.ref, election.Stop{}, func(actor.Message) {
		e.host.stopHasComeBack()
		for _, f := range then {
			f()
		}
	})
}

// StepDown asks the election to hand over, and not to contend for a while.
func (e *Election) StepDown(cooldown time.Duration) *Reply {
	return ask(e.ref, election.StepDown{Cooldown: cooldown}, nil)
}
