package scenario

import (
	"fmt"
	"maps"
	"slices"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
)

// The names of what an event can be on, other than clients, and of who may lead.
const (
	onStore  = "store"
	onLeader = "leader"
	nobody   = "nobody"
	somebody = "somebody"
)

// action is a value of Event.Do.
type action struct {
	client func(p *play, cl *client, e *Event) // on a client; nil if it cannot be
	store  func(p *play, e *Event)             // on the store; nil if it cannot be
	none   func(p *play, e *Event)             // on nobody in particular; nil if it cannot be
	needs  []string                            // fields of the event
	takes  []string                            // that may be left out
}

// Actions returns the values of [Event.Do], sorted.
func Actions() []string { return slices.Sorted(maps.Keys(actions)) }

// actions are sorted by what they are about.
var actions = map[string]action{
	"pause":   {client: (*play).pause, store: (*play).pauseStore, takes: []string{"for"}},
	"resume":  {client: func(_ *play, cl *client, _ *Event) { cl.Resume() }, store: func(p *play, _ *Event) { p.Store.Resume() }},
	"suspend": {client: (*play).suspend, takes: []string{"for"}},
	"wake":    {client: func(p *play, cl *client, _ *Event) { p.wake(cl) }},
	"crash":   {client: (*play).crash, store: (*play).stopStore, takes: []string{"for"}},
	"start":   {client: func(p *play, cl *client, _ *Event) { p.start(cl) }, store: func(p *play, _ *Event) { p.startStore() }},
	"close":   {client: func(_ *play, cl *client, _ *Event) { cl.Close() }},

	"elect":     {client: (*play).elect, needs: []string{"name"}},
	"stop":      {client: (*play).stop, needs: []string{"name"}},
	"step down": {client: (*play).stepDown, needs: []string{"name"}, takes: []string{"cooldown"}},
	"lock":      {client: (*play).lock, needs: []string{"names"}},
	"release":   {client: (*play).release},

	"cut":  {client: (*play).cut, takes: []string{"for", "way"}},
	"heal": {client: (*play).heal, takes: []string{"way"}},
	"drop": {client: (*play).drop, needs: []string{"message"}},

	"restart":      {store: func(p *play, _ *Event) { p.RestartStore() }},
	"lose data":    {store: func(p *play, _ *Event) { p.LoseData() }},
	"remove lease": {none: func(p *play, e *Event) { p.RemoveLease(e.Name) }, needs: []string{"name"}},
	"slow down":    {store: (*play).slowStore, needs: []string{"by"}, takes: []string{"for"}},

	"set rate": {client: (*play).setRate, store: func(p *play, e *Event) { p.Store.SetRate(e.Rate) }, needs: []string{"rate"}},
	"jump":     {client: func(p *play, cl *client, e *Event) { cl.Jump(e.By) }, store: func(p *play, e *Event) { p.Store.Jump(e.By) }, needs: []string{"by"}},
}

// Messages returns the values of [Event.Message], sorted.
func Messages() []string { return slices.Sorted(maps.Keys(messages)) }

var messages = map[string]func(actor.Message) bool{
	"open": is[*backend.OpenRequest], "open answer": is[*backend.OpenAnswer],
	"renew": is[*backend.RenewRequest], "renew answer": is[*backend.RenewAnswer],
	"acquire": is[*backend.AcquireRequest], "acquire answer": is[*backend.AcquireAnswer],
	"release": is[*backend.ReleaseRequest], "release answer": is[*backend.ReleaseAnswer],
	"close": is[*backend.CloseRequest], "close answer": is[*backend.CloseAnswer],
	"vacated": is[*backend.Vacated],
}

func is[M actor.Message](msg actor.Message) bool {
	_, ok := msg.(M)
	return ok
}

// do makes an event happen.
func (p *play) do(e *Event) {
	a := actions[e.Do]
	switch {
	case e.On == "":
		a.none(p, e)
	case e.On == onStore:
		a.store(p, e)
	default:
		if cl := p.who(e); cl != nil {
			a.client(p, cl, e)
		}
	}
}

// who is the client that an event is on. The world fails if nobody leads whose
// leader it needs, or it has no process: its story makes no sense then.
func (p *play) who(e *Event) *client {
	cl := p.clients[e.On]
	if e.On == onLeader {
		if leader := p.Leader(e.Name); leader != nil {
			cl = p.clients[leader.String()]
		}
	}
	switch {
	case cl == nil:
		p.Fail(fmt.Errorf("%q is to happen to the leader of %q, and nobody leads it", e.Do, e.Name))
		return nil
	case cl.Elections == nil && e.Do != "start" && !ofMachine[e.Do]:
		p.Fail(fmt.Errorf("%q is to happen to %s, whose process does not run", e.Do, cl))
		return nil
	}
	return cl
}

// ofMachine are the actions that need no process.
var ofMachine = map[string]bool{"suspend": true, "wake": true, "cut": true, "heal": true, "set rate": true, "jump": true, "resume": true}

// undo does something once an event's time is over, if it has one.
func (p *play) undo(e *Event, f func()) {
	if d := e.For.distribution(); d != nil {
		p.In(p.Draw("how long to "+e.Do, d), f)
	}
}

func (p *play) pause(cl *client, e *Event) {
	cl.Pause()
	p.undo(e, cl.Resume)
}

func (p *play) pauseStore(e *Event) {
	p.Store.Pause()
	p.undo(e, p.Store.Resume)
}

func (p *play) suspend(cl *client, e *Event) {
	cl.Suspend()
	p.undo(e, func() { p.wake(cl) })
}

// wake wakes a machine, and all clients on it notice.
func (p *play) wake(cl *client) {
	for _, other := range p.Clients {
		if other.SameMachine(cl.Node) {
			other.Wake()
		}
	}
}

func (p *play) crash(cl *client, e *Event) {
	cl.Crash()
	p.undo(e, func() { p.start(cl) })
}

// start starts a process, instead of the one that runs, if any: it may have been
// closed.
func (p *play) start(cl *client) {
	if cl.Elections != nil {
		cl.Crash()
	}
	cl.Start()
	cl.electAll(p)
}

func (p *play) stopStore(e *Event) {
	p.StopStore()
	p.undo(e, p.startStore)
}

func (p *play) startStore() {
	p.StopStore() // nothing, if it has crashed
	p.StartStore()
}

func (p *play) slowStore(e *Event) {
	before := p.Mood.Slow
	p.Mood.Slow = sim.Constant(e.By)
	p.undo(e, func() { p.Mood.Slow = before })
}

func (p *play) elect(cl *client, e *Event) {
	for i := range cl.plan.Elections {
		if el := &cl.plan.Elections[i]; el.Name == e.Name {
			cl.Elect(el.Name, el.script(p))
		}
	}
}

func (p *play) stop(cl *client, e *Event) {
	if el := cl.Elections[e.Name]; el != nil {
		el.Stop()
	}
}

func (p *play) stepDown(cl *client, e *Event) {
	if el := cl.Elections[e.Name]; el != nil {
		el.StepDown(e.Cooldown)
	}
}

func (p *play) lock(cl *client, e *Event) {
	cl.locks = append(cl.locks, held{cl.Lock(false, e.Names...), cl.Life()})
}

// release gives back all locks of the process that runs.
func (p *play) release(cl *client, _ *Event) {
	for _, l := range cl.locks {
		if l.life == cl.Life() {
			l.Release()
		}
	}
	cl.locks = nil
}

// The ways of a cut.
const (
	wayTo   = "to"
	wayFrom = "from"
)

func (p *play) cut(cl *client, e *Event) {
	if e.Way != wayFrom {
		p.Net.CutOneWay(cl.Node, p.Store)
	}
	if e.Way != wayTo {
		p.Net.CutOneWay(p.Store, cl.Node)
	}
	p.undo(e, func() { p.heal(cl, e) })
}

func (p *play) heal(cl *client, e *Event) {
	if e.Way != wayFrom {
		p.Net.HealOneWay(cl.Node, p.Store)
	}
	if e.Way != wayTo {
		p.Net.HealOneWay(p.Store, cl.Node)
	}
}

func (p *play) drop(cl *client, e *Event) {
	p.Net.DropNext(cl.Node, p.Store, messages[e.Message])
	p.Net.DropNext(p.Store, cl.Node, messages[e.Message])
}

// setRate fails the world if the machine sleeps: its clock cannot be set then.
func (p *play) setRate(cl *client, e *Event) {
	if cl.Asleep() {
		p.Fail(fmt.Errorf("%q is to happen to %s, whose machine sleeps", e.Do, cl))
		return
	}
	cl.SetRate(e.Rate)
}
