package scenario

import (
	"errors"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// play is a scenario that is acted out.
type play struct {
	*sim.Cluster
	clients map[string]*client
}

// client is a client of a play.
type client struct {
	*sim.Client
	plan  *Client
	locks []held
}

type held struct {
	*sim.Lock
	life int // of the client
}

// Build returns the world of a scenario, in which nothing has happened yet and all
// events are planned. Who runs it is up to the caller, see [Scenario.Play].
func (s *Scenario) Build(c sim.Chooser) (*sim.Cluster, error) { return s.Tell(c, nil) }

// Tell is like Build, and f is told of what happens in the world, for people.
func (s *Scenario) Tell(c sim.Chooser, f func(sim.Entry)) (*sim.Cluster, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p := &play{Cluster: sim.NewCluster(c, s.Params.session()), clients: make(map[string]*client)}
	p.Monitor.Tolerate(s.Expect.tolerated()...)
	p.prepare(&s.Network, &s.Backend)
	if f != nil {
		p.Cluster.Tell(f)
	}
	for i := range s.Clients {
		p.add(&s.Clients[i])
	}
	for i := range s.Events {
		e := &s.Events[i]
		p.At(actor.Instant(e.At), func() { p.do(e) })
	}
	return p.Cluster, nil
}

// session are the parameters with those that were left out.
func (p *Params) session() session.Params {
	all := session.Defaults(p.Lease)
	set(&all.RenewInterval, p.Renew)
	set(&all.Drift, p.Drift)
	set(&all.Margin, p.Margin)
	set(&all.RetryJitter, p.Jitter)
	set(&all.MinBackoff, p.Backoff)
	return all
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (p *play) prepare(n *Network, b *Backend) {
	p.Net.Weather = sim.Weather{
		Delay: n.Delay.distribution(), Lose: n.Lose, Double: n.Duplicate, Late: n.Late, Stall: n.Stall.distribution(),
	}
	p.Mood = sim.Mood{Errors: b.Errors, Slow: b.Slow.distribution(), Silent: b.Silent}
	if b.Grants > 0 {
		p.Configure(memory.Config{MaxLease: b.Grants, Wall: p.Wall})
	}
	if b.Rate != 0 {
		p.Store.SetRate(b.Rate)
	}
}

func rate(r float64) float64 {
	if r == 0 {
		return 1
	}
	return r
}

// add adds a client, now or when it starts.
func (p *play) add(plan *Client) {
	join := func() {
		cl := &client{plan: plan}
		if plan.With != "" {
			cl.Client = p.NewClientOn(p.clients[plan.With].Neighbour(plan.Name))
		} else {
			cl.Client = p.NewClient(plan.Name, plan.Offset, rate(plan.Rate))
		}
		p.clients[plan.Name] = cl
		cl.electAll(p)
	}
	if plan.Starts == 0 {
		join()
		return
	}
	p.At(actor.Instant(plan.Starts), join)
}

func (cl *client) electAll(p *play) {
	for i := range cl.plan.Elections {
		e := &cl.plan.Elections[i]
		cl.Elect(e.Name, e.script(p))
	}
}

var policies = map[string]election.Policy{
	"": election.Hold, "hold": election.Hold, "restart": election.Restart, "yield": election.Yield, "finish": election.Finish,
}

// script is the user's code of an election.
func (e *Election) script(p *play) sim.Script {
	s := sim.Script{AfterReturn: policies[e.AfterReturn], AfterFailure: policies[e.AfterFailure]}
	if l := e.Listener; l != nil {
		s.Refuse = func(*term.Term) bool { return l.Refuses }
		s.Callback = func(*term.Term, term.Reason) sim.Call {
			return sim.Call{Lasts: p.draw("callback", &l.Lasts), Inline: l.Inline, Panics: l.Panics}
		}
	}
	if k := e.Task; k != nil {
		s.Task = func(*term.Term) sim.Work {
			return sim.Work{
				Lasts: p.draw("task", &k.Lasts), Deaf: k.Deaf, Tidies: p.draw("tidies", &k.Tidies),
				Writes: k.Writes, Err: k.failure(), Panics: k.Panics,
			}
		}
	}
	return s
}

func (p *play) draw(label string, s *Span) time.Duration { return p.Draw(label, s.distribution()) }

var errTask = errors.New("scenario: the task fails")

func (k *Task) failure() error {
	if k.Fails {
		return errTask
	}
	return nil
}
