package swarm

import (
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// heal ends all faults, and looks at what must come true then. It ends early in a
// world that has failed.
func (w *World) heal() {
	w.NextPhase()
	w.calm()
	for _, check := range []func(){
		w.callsComeBack, w.startAnew, w.sessionsOpen, w.namesAreLed, w.schedulesGoOn, w.callsComeBack, w.nothingIsLeftBehind, w.aRenewalIsDropped, w.callsAreFew,
		w.everybodyCanLead, w.aCooldownCountsFromTheStepDown, w.clientsClose,
	} {
		if check(); w.Err() != nil {
			return
		}
		w.NextPhase()
	}
}

// calm ends the faults.
func (w *World) calm() {
	w.healing, w.meetings = true, nil
	w.Net.Calm()
	w.Mood = sim.Mood{}
	w.Store.Resume()
	w.storeIsBack()
	for _, cl := range w.Clients {
		cl.Resume()
		w.wake(cl)
		w.start(cl)
	}
	w.releaseLocks()
}

// startAnew ends what will not end by itself, and starts those again that were
// closed.
func (w *World) startAnew() {
	for _, cl := range w.Clients {
		if cl.Closing() || cl.WorksForEver() {
			cl.Crash()
			w.start(cl)
		}
	}
}

// within reports whether cond holds soon enough, and counts a violation if not.
func (w *World) within(limit time.Duration, cond func() bool, i sim.Invariant, format string, args ...any) bool {
	if w.RunUntil(limit, cond) || w.Err() != nil {
		return w.Err() == nil
	}
	w.Violate(i, format, args...)
	return false
}

func (w *World) sessionsOpen() {
	for _, cl := range w.Clients {
		w.within(lease+w.Params.RenewInterval, cl.Live, sim.NameIsLed, "%v has no session", cl)
	}
}

// limit is how long a name may be without a leader after everything: a lease, an
// attempt period, a cooldown, a task that does not return, and a pause before a new
// session is opened.
func (w *World) limit() time.Duration {
	return lease + w.AttemptPeriod() + lease + longest + w.Params.RenewInterval
}

func (w *World) namesAreLed() {
	for _, name := range w.names {
		w.within(w.limit(), w.Led(name), sim.NameIsLed, "nobody leads %q", name)
	}
}

func (w *World) callsComeBack() {
	for _, c := range w.calls {
		if !w.within(w.limit(), func() bool { return c.reply.Done() || c.life != c.client.Life() }, sim.CallsComeBack,
			"%s on %s does not come back", c.what, c.client) {
			return
		}
	}
}

// nothingIsLeftBehind: the sessions that live give back what they do not use. Those
// of processes that crashed end by themselves, see clientsClose.
func (w *World) nothingIsLeftBehind() {
	w.within(lease, func() bool {
		for _, h := range w.Monitor.Unused() {
			for _, cl := range w.Clients {
				if cl.View().Session == h.Session {
					return false
				}
			}
		}
		return true
	}, sim.NoLeaseLeftBehind, "a session holds a lease that it does not use")
}

// aRenewalIsDropped loses one renewal, or its answer.
func (w *World) aRenewalIsDropped() {
	cl := w.Clients[w.Choose("whose renewal", int64(len(w.Clients)))]
	w.RunFor(lease) // what was lost before shows by then
	lost := w.Monitor.Met[sim.DeadlinePassed]
	if w.yes("the answer") {
		w.Net.DropNext(w.Store, cl.Node, is[*backend.RenewAnswer])
	} else {
		w.Net.DropNext(cl.Node, w.Store, is[*backend.RenewRequest])
	}
	w.RunFor(2 * lease)
	if w.Err() == nil && w.Monitor.Met[sim.DeadlinePassed] > lost {
		w.Violate(sim.DroppedRenewal, "one renewal of %v was lost, and a term with it", cl)
	}
}

// callsAreFew counts calls in a calm time: at most one renewal and two rounds of
// attempts an interval, whatever the number of names. One more of each may be
// begun before or after it.
func (w *World) callsAreFew() {
	const rounds = 4
	renewals, attempts := make(map[actor.Ref]int), make(map[actor.Ref]int)
	counting := true
	w.OnSend(func(from, _ actor.Ref, msg actor.Message) {
		if !counting {
			return
		}
		switch msg.(type) {
		case *backend.RenewRequest:
			renewals[from]++
		case *backend.AcquireRequest:
			attempts[from]++
		}
	})
	interval := w.Params.RenewInterval
	for _, cl := range w.Clients {
		if v := cl.View(); v.State == session.Live {
			interval = min(interval, v.Interval) // all get the same grants
		}
	}
	won := w.Monitor.Met[sim.TermBegun]
	w.RunFor(rounds * interval)
	counting = false
	if w.Err() != nil || w.Monitor.Met[sim.TermBegun] > won {
		return // names that change hands cause attempts of their own
	}
	for _, cl := range w.Clients {
		if n := renewals[cl.Session]; n > rounds+1 {
			w.Violate(sim.ConstantCalls, "%v renews %d times in %d intervals", cl, n, rounds)
		}
		if n := attempts[cl.Session]; n > 2*rounds+2 {
			w.Violate(sim.ConstantCalls, "%v makes %d attempts in %d intervals", cl, n, rounds)
		}
	}
}

// everybodyCanLead stops the leaders of a name one by one: whoever cannot take over
// hides behind those who can.
func (w *World) everybodyCanLead() {
	name := w.names[0]
	delay := []time.Duration{0, time.Millisecond, 5 * time.Millisecond}[w.Choose("calm delay", 3)]
	w.Net.Weather.Delay = sim.Uniform(0, delay) // a notice may overtake the answer to an attempt
	attempted := false
	w.OnSend(func(_, _ actor.Ref, msg actor.Message) { attempted = attempted || is[*backend.AcquireRequest](msg) })
	for range len(w.Clients) - 1 {
		if !w.within(w.limit(), w.Led(name), sim.NameIsLed, "nobody leads %q", name) {
			return
		}
		if w.yes("amid an attempt") { // which then fails, and must be followed by another
			attempted = false
			w.RunUntil(lease, func() bool { return attempted })
		}
		leader := w.Leader(name)
		if leader == nil {
			return // between two terms
		}
		e := leader.Elections[name]
		quick := w.wakes && w.ready(name) && !e.Deaf()
		stopped := e.Stop()
		if quick && !(w.within(longestTidying+10*time.Millisecond, func() bool { return w.Leader(name) != leader },
			sim.QuickHandover, "%s was told to stop, and leads %q for long after", leader, name) &&
			w.within(10*time.Millisecond+10*delay, w.Led(name), sim.QuickHandover, "%s has stopped, and nobody leads %q soon after", leader, name)) {
			return
		}
		if !w.within(w.limit(), stopped.Done, sim.CallsComeBack, "Stop of %q on %s does not come back", name, leader) {
			return
		}
		if !w.within(w.limit(), w.Led(name), sim.NameIsLed, "nobody leads %q after its leader has stopped", name) {
			return
		}
	}
}

// ready reports whether somebody waits for a name that another one has.
func (w *World) ready(name string) bool {
	for _, cl := range w.Clients {
		if cl.Live() && cl.Elections[name].Ready() {
			return true
		}
	}
	return false
}

// aCooldownCountsFromTheStepDown steps the last candidate down, whose task takes a
// while to return.
func (w *World) aCooldownCountsFromTheStepDown() {
	name := w.names[0]
	leader := w.Leader(name)
	if leader == nil {
		return // between two terms
	}
	e := leader.Elections[name]
	stepDown := func(cooldown, limit time.Duration, i sim.Invariant) bool {
		token, asked := e.Term().Token(), w.Now()
		if !w.within(w.limit(), e.StepDown(cooldown).Done, sim.CallsComeBack, "StepDown of %q on %s does not come back", name, leader) {
			return false
		}
		left := max(0, limit-w.Now().Sub(asked))
		return w.within(left, func() bool { return e.Leads() && e.Term().Token() > token }, i,
			"%v after it stepped down for %v, %s does not lead %q", limit, cooldown, leader, name)
	}
	// Whatever its task is like, that of the next term behaves.
	if stepDown(0, w.limit(), sim.NameIsLed) && e.Leads() {
		const cooldown = 2 * tidies
		stepDown(cooldown, cooldown+cooldown/10, sim.NoAttemptUnasked) // its clock may be slow
	}
}

// clientsClose: Close comes back, and what the client had is free then. The last one
// may find no backend any more.
func (w *World) clientsClose() {
	closed := make(map[string]bool)
	for i, cl := range w.Clients {
		if i == len(w.Clients)-1 && w.yes("the backend goes first") {
			w.StopStore()
			w.within(2*lease, cl.Close().Done, sim.CallsComeBack, "Close of %s, without a backend, does not come back", cl)
			break
		}
		cl.Sink = func(e observe.Event) {
			if e, ok := e.(observe.SessionEnded); ok && e.Reason == term.Stopped {
				closed[e.Session] = true
			}
		}
		if !w.within(lease+time.Second, cl.Close().Done, sim.CallsComeBack, "Close of %s does not come back", cl) {
			return
		}
	}
	for _, h := range w.Model.Inspect(w.Store.Now(), nil) {
		if closed[h.Session] {
			w.Violate(sim.NoLeaseLeftBehind, "%q is held by %s, which was closed", h.Name, h.Label)
		}
	}
	// What processes had that crashed takes a lease, from their last message on.
	w.RunFor(stall + lease)
	if held := w.Model.Inspect(w.Store.Now(), nil); len(held) > 0 {
		w.Violate(sim.NoLeaseLeftBehind, "%q is held by %s after all clients were closed", held[0].Name, held[0].Label)
	}
}
