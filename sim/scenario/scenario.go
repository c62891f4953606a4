// Package scenario describes worlds as data: who is there, what the network and the
// backend are like, what happens when, and what must have come of it. A [Scenario]
// is read from a YAML file, or written in Go.
//
// Some classical stories come with it, see [Stories].
package scenario

import (
	"time"

	"github.com/simba-go/simba/sim"
)

// Scenario is a world, and what happens in it. What is left out is calm: no time, no
// fault, a perfect clock.
type Scenario struct {
	Title string `yaml:"title"` // a name for people
	Story string `yaml:"story"` // a few sentences
	// Lasts is how long the world lives, in true time, as all times of events are.
	Lasts   time.Duration `yaml:"lasts"`
	Params  Params        `yaml:"params"`  // of all clients
	Network Network       `yaml:"network"` // between all machines
	Backend Backend       `yaml:"backend"` // on a machine of its own, called store
	Clients []Client      `yaml:"clients"` // at least one
	Events  []Event       `yaml:"events"`  // in any order
	Expect  Expect        `yaml:"expect"`  // at the end
}

// Params are the times by which all clients live. Those that are left out derive
// from the lease.
type Params struct {
	Lease   time.Duration  `yaml:"lease"`   // of a session
	Renew   *time.Duration `yaml:"renew"`   // from one renewal to the next
	Drift   *float64       `yaml:"drift"`   // that clocks may have
	Margin  *time.Duration `yaml:"margin"`  // off the local deadline
	Jitter  *time.Duration `yaml:"jitter"`  // of attempts
	Backoff *time.Duration `yaml:"backoff"` // the shortest, after a failure
}

// Network is how messages between machines travel.
type Network struct {
	Delay     Span  `yaml:"delay"`     // of a message
	Lose      int64 `yaml:"lose"`      // one message in so many is lost; none for zero
	Duplicate int64 `yaml:"duplicate"` // one in so many arrives twice; none for zero
	Late      int64 `yaml:"late"`      // one in so many takes as long as Stall says; none for zero
	Stall     Span  `yaml:"stall"`     // instead of Delay
}

// Backend is what the backend is like.
type Backend struct {
	Grants time.Duration `yaml:"grants"` // the longest lease; zero for what is asked for
	Silent bool          `yaml:"silent"` // it tells nobody what becomes free
	Errors int64         `yaml:"errors"` // one call in so many fails, before or after it was carried out
	Slow   Span          `yaml:"slow"`   // answers are held back so long
	Rate   float64       `yaml:"rate"`   // of its clock, zero for 1
}

// Client is a process that uses the library.
type Client struct {
	Name      string        `yaml:"name"`      // of the process, and of its machine
	With      string        `yaml:"with"`      // another client, whose machine it shares
	Starts    time.Duration `yaml:"starts"`    // when it is there for the first time
	Offset    time.Duration `yaml:"offset"`    // of its machine's clock
	Rate      float64       `yaml:"rate"`      // of its machine's clock, zero for 1
	Elections []Election    `yaml:"elections"` // may be none
}

// Election is an election that a client takes part in from the start of its process,
// and what the user's code is like there.
type Election struct {
	Name         string    `yaml:"name"`         // of the lease
	Listener     *Listener `yaml:"listener"`     // nil for none
	Task         *Task     `yaml:"task"`         // nil for none
	AfterReturn  string    `yaml:"afterReturn"`  // hold, restart, yield or finish; hold if empty
	AfterFailure string    `yaml:"afterFailure"` // the same
}

// Listener is what callbacks are like.
type Listener struct {
	Lasts   Span `yaml:"lasts"`   // each of them
	Inline  bool `yaml:"inline"`  // on the engine's own step
	Refuses bool `yaml:"refuses"` // the executor does not take OnElected
	Panics  bool `yaml:"panics"`  // instead of the return
}

// Task is what the work of a leader is like.
type Task struct {
	Lasts  Span          `yaml:"lasts"`  // until it returns by itself; never if left out
	Deaf   bool          `yaml:"deaf"`   // it does not heed that it is cancelled
	Tidies Span          `yaml:"tidies"` // from its cancellation to its return
	Writes time.Duration `yaml:"writes"` // between two writes to the protected resource; never for zero
	Fails  bool          `yaml:"fails"`  // it returns an error
	Panics bool          `yaml:"panics"` // instead of the return
}

// Event is something that is done to the world. Which of the other fields there must
// be or may be is up to Do, see [Actions].
type Event struct {
	At       time.Duration `yaml:"at"`       // since the world began
	Do       string        `yaml:"do"`       // one of Actions
	On       string        `yaml:"on"`       // a client, store, or leader: the client that leads Name then
	For      Span          `yaml:"for"`      // after which it is undone; never if left out
	Name     string        `yaml:"name"`     // of an election or a lease
	Names    []string      `yaml:"names"`    // of a lock
	Cooldown time.Duration `yaml:"cooldown"` // of a step-down
	By       time.Duration `yaml:"by"`       // how far, or how much
	Rate     float64       `yaml:"rate"`     // of a clock
	Message  string        `yaml:"message"`  // a kind of message, see [Messages]
	Way      string        `yaml:"way"`      // to or from the store; both if empty
}

// Expect is what must have come of it at the end. No invariant may be violated that
// is neither in Tolerate nor in Violated.
type Expect struct {
	Leader   map[string]string `yaml:"leader"`   // by election: a client, somebody or nobody
	Terms    int               `yaml:"terms"`    // how many began, unless zero
	Met      []string          `yaml:"met"`      // situations that occurred
	Never    []string          `yaml:"never"`    // situations that did not
	Tolerate []int             `yaml:"tolerate"` // invariants that may be violated, by number
	Violated []int             `yaml:"violated"` // invariants that must be
}

// Run builds the world of a scenario, lets it live, and returns what did not come as
// expected.
func (s *Scenario) Run(c sim.Chooser) error {
	cluster, err := s.Build(c)
	if err != nil {
		return err
	}
	return s.Play(cluster)
}

// Play lets a world that was built live to its end. It returns the world's failure,
// such as a [*sim.Violation], or an [*UnmetError].
func (s *Scenario) Play(cluster *sim.Cluster) error {
	cluster.RunFor(s.Lasts)
	if err := cluster.Err(); err != nil {
		return err
	}
	return s.Expect.unmet(s.Title, cluster)
}
