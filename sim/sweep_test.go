package sim_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/election"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/term"
)

// sweep is a world in which everything goes wrong that may: machines pause and
// crash, clocks drift as far as they are allowed to, messages are lost, late, doubled
// and overtaken, the backend is away, and users stop, step down and restart at any
// time, with tasks that do not return when they should.
type sweep struct {
	*sim.Cluster
	params  session.Params
	names   []string
	locks   []*sim.Lock
	longest time.Duration // that a deaf task takes
}

// stall is the longest that a message is under way: longer than a lease.
const stall = 4 * time.Second

func newSweep(c sim.Chooser) *sweep {
	p := session.Defaults(3 * time.Second)
	p.Drift = 0.02
	if c.Choose("margin", 2) == 1 {
		p.Margin = 0 // the drift must do all by itself, to the nanosecond
	}
	s := &sweep{Cluster: sim.NewCluster(c, p), params: p, names: []string{"a", "b"}, longest: 5 * time.Second}
	s.Lag = func() time.Duration { return s.upTo("lag", 20*time.Microsecond) }
	// Each class of faults is there in one half of all worlds: those that hide
	// behind others show in the rest.
	s.Net.Weather.Delay = s.maybe("delay", 100*time.Millisecond)
	s.Net.Weather.Stall = s.maybe("stall", stall)
	s.Net.Weather.Late = s.odds("late", 10)
	s.Net.Weather.Lose = s.odds("lose", 10)
	s.Net.Weather.Double = s.odds("double", 5)
	for i := range 3 {
		cl := s.NewClient(fmt.Sprint("client-", i), s.upTo("offset", time.Hour), s.rate())
		s.electAll(cl)
	}
	return s
}

func (s *sweep) upTo(label string, d time.Duration) time.Duration {
	return time.Duration(s.Choose(label, int64(d)+1))
}

func (s *sweep) yes(label string) bool { return s.Choose(label, 2) == 1 }

func (s *sweep) maybe(label string, d time.Duration) time.Duration {
	if s.yes(label) {
		return d
	}
	return 0
}

func (s *sweep) odds(label string, n int64) int64 {
	if s.yes(label) {
		return n
	}
	return 0
}

// rate is that of a clock which differs from the backend's by at most the drift:
// as fast as it may be, as slow, or none of both.
func (s *sweep) rate() float64 {
	switch s.Choose("rate", 3) {
	case 1:
		return 1 + s.params.Drift
	case 2:
		return 1 - s.params.Drift
	}
	return 1
}

var errTask = errors.New("the task failed")

func (s *sweep) script() sim.Script {
	script := sim.Script{
		AfterReturn:  election.Policy(s.Choose("after return", 3)),
		AfterFailure: election.Policy(s.Choose("after failure", 3)),
		Refuse:       func(*term.Term) bool { return s.Once("refuse", 20) },
	}
	if s.yes("listener") {
		script.Callback = func(*term.Term, term.Reason) time.Duration { return s.upTo("callback", 100*time.Millisecond) }
	}
	if s.yes("task") {
		script.Task = func(*term.Term) sim.Work {
			w := sim.Work{Lasts: 1 + s.upTo("lasts", s.longest), Tidies: s.upTo("tidies", time.Second)}
			w.Deaf = s.yes("deaf")
			if s.yes("fails") {
				w.Err = errTask
			}
			return w
		}
	}
	return script
}

func (s *sweep) electAll(cl *sim.Client) {
	for _, name := range s.names {
		cl.Elect(name, s.script())
	}
}

// act is one thing that somebody does, or that happens to somebody.
func (s *sweep) act() {
	cl := s.Clients[s.Choose("client", int64(len(s.Clients)))]
	name := s.names[s.Choose("name", int64(len(s.names)))]
	switch s.Choose("action", 12) {
	case 0:
	case 1, 2:
		cl.Pause()
		s.In(s.upTo("pause", 2*s.params.Lease), cl.Resume)
	case 3:
		s.restart(cl)
	case 4, 5:
		s.cut(cl)
	case 6:
		s.Store.Crash()
		s.StartStore()
	case 7:
		s.Store.Pause()
		s.In(s.upTo("store pause", s.params.Lease), s.Store.Resume)
	case 8:
		cl.Elections[name].StepDown(s.upTo("cooldown", s.params.Lease))
	case 9:
		old := cl.Elections[name]
		old.Stop(func() {
			if cl.Elections[name] == old {
				cl.Elect(name, s.script())
			}
		})
	case 10:
		s.locks = append(s.locks, cl.Lock(s.yes("once"), [][]string{{"x"}, {"x", "y"}, {"y", "z"}, {"x", "z"}}[s.Choose("set", 4)]...))
	case 11:
		for _, l := range s.locks {
			l.Release()
		}
		s.locks = nil
	}
}

func (s *sweep) restart(cl *sim.Client) {
	cl.Crash()
	cl.Start()
	s.electAll(cl)
}

func (s *sweep) cut(cl *sim.Client) {
	switch s.Choose("direction", 3) {
	case 0:
		s.Net.Cut(cl.Node, s.Store)
	case 1:
		s.Net.CutOneWay(cl.Node, s.Store)
	case 2:
		s.Net.CutOneWay(s.Store, cl.Node)
	}
	s.In(s.upTo("cut", 2*s.params.Lease), func() { s.Net.Heal(cl.Node, s.Store) })
}

// run lets that many things happen, then ends all faults, and returns what does not
// hold.
func (s *sweep) run(actions int) error {
	for range actions {
		s.RunFor(s.upTo("calm", 2*time.Second))
		s.act()
	}
	s.Net.Calm()
	s.Store.Resume()
	for _, cl := range s.Clients {
		cl.Resume()
	}
	for _, l := range s.locks {
		l.Release()
	}
	if err := s.recovers(); err != nil {
		return errors.Join(s.Err(), err)
	}
	return s.Err()
}

// recovers checks what must come true once faults have stopped.
func (s *sweep) recovers() error {
	// A name has a leader within a lease and an attempt period: after a cooldown
	// and a task that did not return, and a pause before the next session.
	limit := s.params.Lease + s.AttemptPeriod() + s.longest + s.params.Lease + s.params.RenewInterval
	for _, cl := range s.Clients {
		if !s.RunUntil(s.params.Lease+s.params.RenewInterval, cl.Live) {
			return fmt.Errorf("%v has no session", cl)
		}
	}
	for _, name := range s.names {
		if !s.RunUntil(limit, s.Led(name)) {
			return fmt.Errorf("nobody leads %s", name)
		}
	}
	// A lease nobody uses does not outlive two renewal rounds of its session, or
	// its session.
	if !s.RunUntil(s.params.Lease, func() bool { return len(s.Monitor.Unused()) == 0 }) {
		return fmt.Errorf("unused leases: %+v", s.Monitor.Unused())
	}
	// Close always comes back, and what the client had is free then.
	closed := make(map[string]bool)
	for _, cl := range s.Clients {
		closed[cl.View().Session] = true
		reply := cl.Close()
		if !s.RunUntil(s.params.Lease+time.Second, reply.Done) {
			return fmt.Errorf("Close of %v does not come back", cl)
		}
		if err := reply.Err(); err != nil {
			return err
		}
	}
	for _, h := range s.Model.Inspect(s.Store.Now(), nil) {
		if closed[h.Session] {
			return fmt.Errorf("after its client was closed: %+v", h)
		}
	}
	// What processes had that crashed takes a lease, from their last message on.
	s.RunFor(stall + s.params.Lease)
	if held := s.Model.Inspect(s.Store.Now(), nil); len(held) > 0 {
		return fmt.Errorf("after all clients were closed: %+v", held)
	}
	return nil
}

// traced runs a sweep and returns its trace.
func traced(c sim.Chooser, actions int, out io.Writer) (*sweep, error) {
	s := newSweep(c)
	s.TraceTo(out)
	return s, s.run(actions)
}

const actions = 40

// TestSweep looks for a world in which something does not hold that always must.
func TestSweep(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	seen := make(map[string]int)
	for seed := range uint64(seeds) {
		s := newSweep(sim.Random(seed))
		if err := s.run(actions); err != nil {
			var trace bytes.Buffer
			_, _ = traced(sim.Random(seed), actions, &trace)
			lines := bytes.SplitAfter(trace.Bytes(), []byte("\n"))
			t.Fatalf("seed %d: %v\nThe trace ends with:\n%s", seed, err, bytes.Join(lines[max(0, len(lines)-40):], nil))
		}
		for what, n := range s.Monitor.Seen {
			seen[what] += n
		}
	}
	// A sweep that does not reach what it is about proves nothing.
	for _, what := range []string{
		"Elected", "revoked: STOPPED", "revoked: STEPPED_DOWN", "revoked: DEADLINE_PASSED",
		"session ended: DEADLINE_PASSED", "session ended: STOPPED", "SessionSuspended", "SessionResumed", "OpenFailed",
		"renewed: unknown", "attempted: unknown", "released: unknown",
		"HandoverStarted", "HandoverTimedOut", "TaskOverrunning", "TaskEnded", "CallbackRefused",
	} {
		if seen[what] < seeds/10 {
			t.Errorf("%q was seen %d times in %d worlds", what, seen[what], seeds)
		}
	}
	if t.Failed() || testing.Verbose() {
		for _, what := range slices.Sorted(maps.Keys(seen)) {
			t.Logf("%7d %s", seen[what], what)
		}
	}
}

// TestSameSeedSameTrace runs worlds twice, and compares all that happened.
func TestSameSeedSameTrace(t *testing.T) {
	hashes := make(map[uint64]uint64)
	for seed := range uint64(40) {
		var first, second bytes.Buffer
		a, err := traced(sim.Random(seed), actions, &first)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := traced(sim.Random(seed), actions, &second)
		if a.Hash() != b.Hash() || a.Steps() != b.Steps() || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("seed %d takes two courses: %d steps, and %d", seed, a.Steps(), b.Steps())
		}
		if other, dup := hashes[a.Hash()]; dup {
			t.Errorf("seeds %d and %d take the same course", seed, other)
		}
		hashes[a.Hash()] = seed
	}
}

// TestSweepShrinks draws each decision from rapid, which shrinks what it finds to a
// world in which little happens.
func TestSweepShrinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSweep(sim.ChooserFunc(func(label string, n int64) int64 {
			return rapid.Int64Range(0, n-1).Draw(t, label)
		}))
		s.Lag = nil
		if err := s.run(10); err != nil {
			t.Fatal(err)
		}
	})
}
