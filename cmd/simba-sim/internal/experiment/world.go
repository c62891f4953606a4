package experiment

import (
	"fmt"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// job is the lease for which all clients contend.
const job = "job"

// world is one world of a setup that is measured.
type world struct {
	*sim.Cluster
	setup   Setup
	gauge   *gauge
	measure measure
	token   uint64 // the last one that the backend has given
}

// fault is something that happens while a client leads.
type fault func(w *world, leader *sim.Client)

var mixed = []fault{(*world).crash, (*world).cut, (*world).pause}

// live lets the world of a seed live, and returns what was measured in it.
func live(s Setup, seed uint64) (measure, error) {
	w := &world{Cluster: s.cluster(sim.Random(seed)), setup: s}
	w.gauge = newGauge(w)
	for i := range s.Nodes {
		w.join(fmt.Sprint("node-", i))
	}
	w.RunUntil(w.patience(), w.Led(job))
	w.gauge.begin()
	w.OnSend(w.count)
	sorts := s.sorts
	if sorts == nil {
		sorts = mixed
	}
	for i := 0; i < s.Faults && w.Err() == nil; i++ {
		w.calm()
		if w.RunUntil(w.patience(), w.Led(job)) {
			w.measure.Faults++
			sorts[i%len(sorts)](w, w.Leader(job))
		}
	}
	w.calm()
	w.gauge.end()
	w.measure.StaleRefused = w.Monitor.Met[sim.StaleRefused]
	w.measure.StaleAccepted = w.Monitor.Met[sim.StaleAccepted]
	return w.measure, w.Err()
}

// join adds a client, whose clock is as fast or as slow as the setup says.
func (w *world) join(name string) {
	rate := 1 - w.setup.Drift
	if w.Choose("rate", 2) == 1 {
		rate = 1 + w.setup.Drift
	}
	cl := w.NewClient(name, w.Draw("offset", sim.Uniform(0, time.Hour)), rate)
	w.gauge.add(cl, rate)
	w.elect(cl)
}

// elect makes a client contend. The work of a leader is to write.
func (w *world) elect(cl *sim.Client) {
	cl.Elect(job, sim.Script{Task: func(*term.Term) sim.Work { return sim.Work{Writes: w.setup.Lease / 20} }})
}

// patience is how long a leader is waited for.
func (w *world) patience() time.Duration { return 20 * w.setup.Lease }

// calm lets the world be for a while, so that faults come at any moment of the
// renewals.
func (w *world) calm() {
	w.RunFor(w.Draw("calm", sim.Uniform(w.setup.Every/2, w.setup.Every+w.setup.Every/2)))
}

// crash ends a leader's process, which is back once another one leads.
func (w *world) crash(cl *sim.Client) {
	w.gauge.crashed(cl)
	cl.Crash()
	w.RunUntil(w.patience(), w.Led(job))
	w.gauge.recovered()
	w.RunFor(w.setup.Lease)
	cl.Start()
	w.elect(cl)
}

// cut cuts a leader off from the backend, and not from the resource, for longer than
// its lease.
func (w *world) cut(cl *sim.Client) {
	w.gauge.disturb(cl)
	w.Net.Cut(cl.Node, w.Store)
	w.RunFor(2 * w.setup.Lease)
	w.Net.Heal(cl.Node, w.Store)
	w.gauge.disturbed(cl)
}

// pause stops a leader's process for a while.
func (w *world) pause(cl *sim.Client) {
	token := cl.Elections[job].Term().Token()
	w.gauge.disturb(cl)
	cl.Pause()
	w.RunFor(w.setup.Pause)
	cl.Resume()
	w.gauge.disturbed(cl)
	w.RunFor(w.setup.Lease)
	w.measure.Pauses++
	if t := cl.Elections[job].Term(); t == nil || t.Token() != token {
		w.measure.PausesLost++
	}
}

// jump sets the backend's clock ahead, whoever leads.
func (w *world) jump(*sim.Client) {
	w.Store.Jump(w.setup.Jump)
}

// lossy makes the network lose messages, but for those that none can lose: see
// [sim.Net].
func (s *Setup) lossy(cl *sim.Cluster) {
	if s.Loss == 0 {
		return
	}
	const parts = 1_000_000
	lost := int64(s.Loss * parts)
	inner := cl.Network
	cl.Network = func(arrivals []time.Duration, from, to *sim.Node, msg actor.Message) []time.Duration {
		if _, watch := msg.(*backend.WatchRequest); !watch && cl.Choose("loss", parts) >= parts-lost {
			return arrivals
		}
		return inner(arrivals, from, to, msg)
	}
}

// count counts calls to the backend, and writes, and looks at the backend's tokens.
func (w *world) count(_, _ actor.Ref, msg actor.Message) {
	switch msg := msg.(type) {
	case *backend.OpenRequest, *backend.RenewRequest, *backend.AcquireRequest, *backend.ReleaseRequest, *backend.CloseRequest:
		w.measure.Calls++
	case sim.Write:
		w.measure.Writes++
	case *backend.AcquireAnswer:
		w.granted(msg.Outcomes)
	}
}

// granted looks at tokens when the backend gives them. They grow there whatever clocks
// do, and no setup makes up for it if they do not.
func (w *world) granted(outcomes []backend.Outcome) {
	for _, o := range outcomes {
		if o.Won && o.Token < w.token {
			w.Violate(sim.TokensGrow, "the backend gives token %d for %q after token %d", o.Token, o.Name, w.token)
		}
		if o.Won {
			w.token = o.Token
		}
	}
}
