package props_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/memory"
	"github.com/simba-go/simba/sim"
)

// plain is the model itself, with somebody who watches all names as the model means
// it: what calls have freed they return, and what expires is looked for when the
// model says that something may.
type plain struct {
	t       *rapid.T
	model   *memory.Model
	at      actor.Instant
	opened  int
	notices []notice
}

func (p *plain) now() actor.Instant { return p.at }

func (p *plain) tell(freed ...string) {
	for _, name := range freed {
		p.notices = append(p.notices, notice{name, p.at})
	}
}

func (p *plain) told() []notice {
	told := p.notices
	p.notices = nil
	return told
}

func (p *plain) pass(d time.Duration) {
	until := p.at.Add(d)
	for {
		_, next := p.model.Vacant(p.at, names)
		if next > until {
			p.at = until
			return
		}
		if !p.at.Before(next) {
			p.t.Fatalf("at %d, what is not vacant becomes so at %d", p.at, next)
		}
		p.at = next
		freed, _ := p.model.Vacant(p.at, names)
		p.tell(freed...)
	}
}

func (p *plain) open(lease time.Duration) (backend.Grant, error) {
	p.opened++
	return p.model.Open(p.at, fmt.Sprint("s", p.opened), lease, "")
}

func (p *plain) renew(session string, known uint64, full bool) (backend.Renewal, error) {
	return p.model.Renew(p.at, session, known, full)
}

func (p *plain) acquire(session string, names []string, all bool) ([]backend.Outcome, error) {
	return p.model.Acquire(p.at, session, names, all)
}

func (p *plain) release(session string, leases []backend.Lease) {
	p.tell(p.model.Release(p.at, session, leases)...)
}

func (p *plain) closeSession(session string) {
	p.tell(slices.Collect(p.model.Close(p.at, session))...)
}

func (p *plain) inspect(names ...string) []backend.Holder { return p.model.Inspect(p.at, names) }

func (p *plain) vacant(names []string) ([]string, actor.Instant) {
	return p.model.Vacant(p.at, names)
}

func (p *plain) restart(lost bool) {
	if lost {
		p.model.Reset()
	}
}

// arbiter is the model behind its actor. It is the address for the answers, too, and
// watches all names.
type arbiter struct {
	t       *rapid.T
	world   *sim.World
	node    *sim.Node
	model   *memory.Model
	ref     actor.Ref
	asked   uint64
	answer  actor.Message // the last one
	notices []notice
}

func newArbiter(t *rapid.T, model *memory.Model) *arbiter {
	a := &arbiter{t: t, world: sim.NewWorld(sim.Random(1)), model: model}
	a.node = a.world.NewNode("store", 0, 1)
	a.restart(false)
	return a
}

func (a *arbiter) String() string { return "all names" }

// Tell takes what the arbiter sends.
func (a *arbiter) Tell(msg actor.Message) {
	if v, ok := msg.(*backend.Vacated); ok {
		for _, name := range v.Names {
			a.notices = append(a.notices, notice{name, a.now()})
		}
		return
	}
	a.answer = msg
}

func (a *arbiter) told() []notice {
	told := a.notices
	a.notices = nil
	return told
}

func (a *arbiter) now() actor.Instant { return a.node.Now() }

func (a *arbiter) pass(d time.Duration) {
	before := a.world.Steps()
	if a.world.RunUntil(d, func() bool { return a.world.Steps()-before > 1000 }) {
		a.t.Fatalf("it does not come to rest within %d", d)
	}
	if err := a.world.Err(); err != nil {
		a.t.Fatal(err)
	}
}

func (a *arbiter) call() backend.Call {
	a.asked++
	return backend.Call{ID: a.asked, ReplyTo: a, Timeout: time.Hour}
}

// ask returns the answer, which has to come within the step.
func ask[A any](a *arbiter, request actor.Message) A {
	a.answer = nil
	a.ref.Tell(request)
	a.pass(0)
	answer, ok := a.answer.(A)
	if !ok {
		a.t.Fatalf("%T is answered with %T", request, a.answer)
	}
	return answer
}

func (a *arbiter) open(lease time.Duration) (backend.Grant, error) {
	answer := ask[*backend.OpenAnswer](a, &backend.OpenRequest{Call: a.call(), Lease: lease})
	return answer.Grant, answer.Err
}

func (a *arbiter) renew(session string, known uint64, full bool) (backend.Renewal, error) {
	answer := ask[*backend.RenewAnswer](a, &backend.RenewRequest{Call: a.call(), Session: session, Known: known, Full: full})
	return answer.Renewal, answer.Err
}

func (a *arbiter) acquire(session string, names []string, all bool) ([]backend.Outcome, error) {
	answer := ask[*backend.AcquireAnswer](a, &backend.AcquireRequest{Call: a.call(), Session: session, Names: names, All: all})
	return answer.Outcomes, answer.Err
}

func (a *arbiter) release(session string, leases []backend.Lease) {
	if answer := ask[*backend.ReleaseAnswer](a, &backend.ReleaseRequest{Call: a.call(), Session: session, Leases: leases}); answer.Err != nil {
		a.t.Fatal(answer.Err)
	}
}

func (a *arbiter) closeSession(session string) {
	if answer := ask[*backend.CloseAnswer](a, &backend.CloseRequest{Call: a.call(), Session: session}); answer.Err != nil {
		a.t.Fatal(answer.Err)
	}
}

func (a *arbiter) inspect(names ...string) []backend.Holder {
	answer := ask[*backend.InspectAnswer](a, &backend.InspectRequest{Call: a.call(), Names: names})
	if answer.Err != nil {
		a.t.Fatal(answer.Err)
	}
	return answer.Holders
}

// vacant is not of the protocol.
func (a *arbiter) vacant(names []string) ([]string, actor.Instant) {
	return a.model.Vacant(a.now(), names)
}

func (a *arbiter) restart(lost bool) {
	a.node.Crash()
	if lost {
		a.model.Reset()
	}
	a.ref = a.node.Spawn("arbiter", memory.NewActor(a.model))
	a.ref.Tell(&backend.WatchRequest{ReplyTo: a, Add: names})
	a.pass(0)
}
