package swarm_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// states are those that entries of each kind may say.
var states = map[sim.Kind][]string{
	sim.KindMessage:  {"sent", "lost", "doubled", "late"},
	sim.KindSession:  {"OPENING", "LIVE", "SUSPENDED", "CLOSED"},
	sim.KindElection: {"CANDIDATE", "LEADER", "STEPPING_DOWN", "STOPPED"},
	sim.KindLock:     {"WAITING", "HELD", "RELEASING", "OVER"},
	sim.KindTerm:     {"begun", "ended"},
	sim.KindTask:     {"running", "cancelled", "exited"},
	sim.KindCallback: {"elected", "revoked", ""},
	sim.KindWrite:    {"accepted", "refused"},
}

// key is what an entry about a term is about.
type key struct {
	node, name string
	token      uint64
}

// stories follow what entries say, and fail if that cannot be.
type stories struct {
	t     *testing.T
	seed  uint64
	now   time.Duration
	begun map[key]time.Duration
	ended map[key]time.Duration
}

func (s *stories) must(ok bool, e sim.Entry, what string) {
	s.t.Helper()
	if !ok {
		s.t.Errorf("seed %d: %s: %+v", s.seed, what, e)
	}
}

func (s *stories) follow(e sim.Entry) {
	s.must(e.Text != "" && e.Node != "" && e.Kind != "", e, "it does not say what happens, or where")
	if allowed, known := states[e.Kind]; known {
		s.must(slices.Contains(allowed, e.State), e, "there is no such state")
	} else {
		s.must(e.Kind == sim.KindFault && e.State != "", e, "there is no such kind")
	}
	k := key{e.Node, e.Name, e.Token}
	late := e.Kind == sim.KindTerm // whose owner may hear or notice it late
	s.must(e.At >= s.now || late, e, "time goes back")
	s.now = max(s.now, e.At)
	switch e.Kind {
	case sim.KindMessage:
		s.must(e.To != "" && (e.State == "lost" && e.Until == 0 || e.State != "lost" && e.Until >= e.At), e, "a message goes nowhere, or back in time")
	case sim.KindTerm:
		s.term(k, e)
	case sim.KindTask, sim.KindCallback:
		begun, known := s.begun[k]
		s.must(known && begun <= e.At, e, "of a term that has not begun")
	}
}

func (s *stories) term(k key, e sim.Entry) {
	begun, known := s.begun[k]
	if e.State == "begun" {
		s.must(!known, e, "a term begins twice")
		s.begun[k] = e.At
		return
	}
	_, over := s.ended[k]
	s.must(known && !over && begun <= e.At, e, "a term ends that has not begun, or has ended")
	s.ended[k] = e.At
}

// TestStoriesMakeSense: whatever happens in a world, what is told of it can be. To
// listen changes nothing.
func TestStoriesMakeSense(t *testing.T) {
	for seed := range uint64(30) {
		s := &stories{t: t, seed: seed, begun: make(map[key]time.Duration), ended: make(map[key]time.Duration)}
		told := swarm.Tell(sim.Random(seed), s.follow)
		silent := swarm.New(sim.Random(seed))
		if err := errors.Join(told.Run(), silent.Run()); err != nil {
			t.Fatal(err)
		}
		if told.Hash() != silent.Hash() || told.Steps() != silent.Steps() {
			t.Errorf("seed %d: a world that tells its story takes another course", seed)
		}
		if len(s.begun) == 0 {
			t.Errorf("seed %d: nothing is told", seed)
		}
		if n := told.Monitor.Met[sim.TermBegun]; uint64(len(s.begun)) > n { // of some, their owner never hears
			t.Errorf("seed %d: %d terms begin, and %d are told of", seed, n, len(s.begun))
		}
	}
}
