package swarm

import (
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
)

// act is one thing that somebody does, or that happens to somebody.
func (w *World) act() {
	cl := w.Clients[w.Choose("client", int64(len(w.Clients)))]
	switch f := w.faults; w.Choose("action", 23) {
	case 0, 1:
	case 2, 3:
		when(f.pauses, w.pause, cl)
	case 4:
		when(f.sleeps, w.sleep, cl)
	case 5:
		when(f.crashes, w.crash, cl)
	case 6, 7:
		when(f.cuts, w.cut, cl)
	case 8:
		w.store()
	case 9:
		w.loseSomething()
	case 10:
		when(f.clocks && !cl.Asleep(), func(cl *sim.Client) { cl.SetRate(w.rate()) }, cl)
	case 11, 12:
		w.stepDown(cl, w.name())
	case 13, 14:
		w.stop(cl, w.name())
	case 15:
		when(f.closes, w.close, cl)
	case 16, 17:
		when(f.locks, w.lock, cl)
	case 18:
		w.releaseLocks()
	case 19:
		when(f.drops, w.drop, cl)
	case 20:
		w.Monitor.Look()
	case 21, 22:
		w.meet(cl, w.name())
	}
}

func when(on bool, do func(*sim.Client), cl *sim.Client) {
	if on {
		do(cl)
	}
}

func (w *World) name() string { return w.names[w.Choose("name", int64(len(w.names)))] }

func (w *World) pause(cl *sim.Client) {
	cl.Pause()
	w.In(w.lasting("pause", 2*lease), cl.Resume)
}

func (w *World) sleep(cl *sim.Client) {
	cl.Suspend()
	w.In(w.lasting("sleep", 2*lease), func() { w.wake(cl) })
}

// wake wakes a machine, and all clients on it notice.
func (w *World) wake(cl *sim.Client) {
	for _, other := range w.Clients {
		if other.SameMachine(cl.Node) {
			other.Wake()
		}
	}
}

func (w *World) crash(cl *sim.Client) {
	cl.Crash()
	if w.yes("stays down") {
		w.In(w.lasting("down", lease), func() { w.start(cl) })
		return
	}
	w.start(cl)
}

// start starts a client, unless somebody has.
func (w *World) start(cl *sim.Client) {
	if cl.Elections == nil {
		cl.Start()
		w.electAll(cl)
	}
}

func (w *World) cut(cl *sim.Client) {
	there, back := true, true
	switch w.Choose("direction", 3) {
	case 1:
		back = false
	case 2:
		there = false
	}
	if there {
		w.Net.CutOneWay(cl.Node, w.Store)
	}
	if back {
		w.Net.CutOneWay(w.Store, cl.Node)
	}
	w.In(w.lasting("cut", 2*lease), func() {
		if there {
			w.Net.HealOneWay(cl.Node, w.Store)
		}
		if back {
			w.Net.HealOneWay(w.Store, cl.Node)
		}
	})
}

// store is something that happens to the backend.
func (w *World) store() {
	switch f := w.faults; w.Choose("what with the store", 3) {
	case 0:
		if f.storePauses {
			w.Store.Pause()
			w.In(w.lasting("store pause", lease), w.Store.Resume)
		}
	case 1:
		if f.storeRestarts {
			w.RestartStore()
			w.wakes, w.outage = false, false
		}
	case 2:
		if f.outages {
			w.StopStore()
			w.wakes, w.outage = false, true
			w.In(w.lasting("outage", lease), w.storeIsBack)
		}
	}
}

// storeIsBack ends an outage, unless something else has.
func (w *World) storeIsBack() {
	if w.outage {
		w.outage = false
		w.StartStore()
	}
}

// loseSomething is an operator's mistake, or a disk's.
func (w *World) loseSomething() {
	switch f := w.faults; {
	case f.losses && w.yes("all data"):
		w.LoseData()
		w.wakes, w.outage = false, false
	case f.removals:
		w.RemoveLease(w.name())
	}
}

// drop loses the next message of one kind.
func (w *World) drop(cl *sim.Client) {
	kinds := []func(actor.Message) bool{
		is[*backend.RenewRequest], is[*backend.RenewAnswer], is[*backend.AcquireAnswer],
		is[*backend.ReleaseRequest], is[*backend.ReleaseAnswer], is[*backend.Vacated],
	}
	which := kinds[w.Choose("kind", int64(len(kinds)))]
	w.Net.DropNext(cl.Node, w.Store, which)
	w.Net.DropNext(w.Store, cl.Node, which)
}

func is[M actor.Message](msg actor.Message) bool {
	_, ok := msg.(M)
	return ok
}

// cooldown is short, and once in a while much shorter than anything else.
func (w *World) cooldown() time.Duration {
	if w.Once("tiny cooldown", 2) {
		return w.tiny()
	}
	return w.upTo("cooldown", lease)
}

func (w *World) tiny() time.Duration { return 1 + w.upTo("cooldown", 20*time.Microsecond) }

// blink steps down, and contends again at once: before its session knows what it has won.
func (w *World) blink(cl *sim.Client, name string) {
	if e := cl.Elections[name]; e != nil {
		w.await("StepDown of "+name, cl, e.StepDown(w.tiny()))
	}
}

func (w *World) stepDown(cl *sim.Client, name string) {
	e := cl.Elections[name]
	if e == nil {
		return
	}
	w.await("StepDown of "+name, cl, e.StepDown(w.cooldown()))
	if w.Once("again", 3) {
		w.await("StepDown of "+name, cl, e.StepDown(w.cooldown()))
	}
}

// stop stops an election, and starts it again: when that is done, or right away.
func (w *World) stop(cl *sim.Client, name string) {
	old := cl.Elections[name]
	if old == nil {
		return
	}
	again := func() {
		if cl.Elections != nil && cl.Elections[name] == old && !cl.Closing() {
			cl.Elect(name, w.script(cl, name))
		}
	}
	if w.Once("at once", 4) {
		w.await("Stop of "+name, cl, old.Stop())
		again()
		return
	}
	w.await("Stop of "+name, cl, old.Stop(again))
}

// close closes a client, and starts it again when that is done.
func (w *World) close(cl *sim.Client) {
	if cl.Elections == nil || cl.Closing() {
		return
	}
	life := cl.Life()
	w.await("Close", cl, cl.Close(func() {
		w.In(w.lasting("closed", time.Second), func() {
			if cl.Life() == life && cl.Elections != nil {
				cl.Crash()
				w.start(cl)
			}
		})
	}))
}

func (w *World) lock(cl *sim.Client) {
	if cl.Elections == nil {
		return
	}
	l := cl.Lock(w.yes("once"), w.sets[w.Choose("set", int64(len(w.sets)))]...)
	w.locks = append(w.locks, lockOf{l, cl, cl.Life()})
}

func (w *World) releaseLocks() {
	for _, l := range w.locks {
		if l.life == l.client.Life() {
			w.await("Release of a lock", l.client, l.Release())
		}
	}
	w.locks = nil
}

// await notes a call that must come back.
func (w *World) await(what string, cl *sim.Client, reply *sim.Reply) {
	w.calls = append(w.calls, call{what, cl, cl.Life(), reply})
}
