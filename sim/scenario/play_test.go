package scenario_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/scenario"
)

// world is a scenario with two candidates, of which a comes first.
func world(events ...scenario.Event) *scenario.Scenario {
	candidate := []scenario.Election{{Name: "job", Listener: &scenario.Listener{}, Task: &scenario.Task{Writes: 100 * time.Millisecond}}}
	return &scenario.Scenario{
		Title: "t", Lasts: time.Minute, Params: scenario.Params{Lease: 10 * time.Second},
		Network: scenario.Network{Delay: scenario.Span{Constant: time.Millisecond}},
		Clients: []scenario.Client{{Name: "a", Elections: candidate}, {Name: "b", Starts: time.Second, Elections: candidate}},
		Events:  events,
	}
}

func at(seconds float64, do, on string, more func(e *scenario.Event)) scenario.Event {
	e := scenario.Event{At: time.Duration(seconds * float64(time.Second)), Do: do, On: on}
	if more != nil {
		more(&e)
	}
	return e
}

func lasting(d time.Duration) func(*scenario.Event) {
	return func(e *scenario.Event) { e.For = scenario.Span{Constant: d} }
}

func named(name string) func(*scenario.Event) { return func(e *scenario.Event) { e.Name = name } }

// TestEvents: each action does what its name says.
func TestEvents(t *testing.T) {
	leader := func(name string) scenario.Expect {
		return scenario.Expect{Leader: map[string]string{"job": name}}
	}
	met := func(x scenario.Expect, situations ...string) scenario.Expect {
		x.Met = situations
		return x
	}
	quiet := scenario.Expect{Leader: map[string]string{"job": "a"}, Terms: 1}
	var tried []string
	for _, tt := range []struct {
		name   string
		events []scenario.Event
		expect scenario.Expect
	}{
		{"nothing", nil, quiet},
		{"pause", []scenario.Event{at(10, "pause", "a", nil)}, leader("b")},
		{"pause for a moment", []scenario.Event{at(10, "pause", "a", lasting(time.Second))}, quiet},
		{"pause and resume", []scenario.Event{at(10, "pause", "a", nil), at(30, "resume", "a", nil)}, met(leader("b"), "expiry while paused")},
		{"suspend", []scenario.Event{at(10, "suspend", "a", lasting(30*time.Second))}, met(leader("b"), "machine asleep past the deadline")},
		{"suspend and wake", []scenario.Event{at(10, "suspend", "a", nil), at(30, "wake", "a", nil)}, met(leader("b"), "machine asleep past the deadline")},
		{"crash", []scenario.Event{at(10, "crash", "a", nil)}, leader("b")},
		{"crash and start", []scenario.Event{at(10, "crash", "a", lasting(time.Second)), at(30, "crash", "b", nil)}, leader("a")},
		{"close", []scenario.Event{at(10, "close", "a", nil)}, met(leader("b"), "term ended: STOPPED")},
		{"close and start", []scenario.Event{at(10, "close", "a", nil), at(11, "start", "a", nil), at(20, "close", "b", nil)}, leader("a")},
		{"stop", []scenario.Event{at(10, "stop", "a", named("job"))}, met(leader("b"), "term ended: STOPPED")},
		{"stop and elect", []scenario.Event{at(10, "stop", "a", named("job")), at(11, "elect", "a", named("job")), at(20, "stop", "leader", named("job"))}, leader("a")},
		{"step down", []scenario.Event{at(10, "step down", "leader", func(e *scenario.Event) {
			e.Name, e.Cooldown = "job", time.Hour
		})}, met(leader("b"), "term ended: STEPPED_DOWN")},
		{"lock and release", []scenario.Event{
			at(10, "lock", "a", func(e *scenario.Event) { e.Names = []string{"x", "y"} }), at(20, "release", "a", nil),
			at(30, "lock", "b", func(e *scenario.Event) { e.Names = []string{"y"} }),
		}, met(scenario.Expect{Leader: quiet.Leader, Terms: 4}, "lock acquired")},
		{"cut", []scenario.Event{at(10, "cut", "a", nil)}, met(leader("b"), "term ended: DEADLINE_PASSED")},
		{"cut for a moment", []scenario.Event{at(10, "cut", "a", lasting(4*time.Second))}, met(quiet, "suspended and recovered")},
		{"cut and heal one way", []scenario.Event{
			at(10, "cut", "a", func(e *scenario.Event) { e.Way = "to" }), at(14, "heal", "a", func(e *scenario.Event) { e.Way = "to" }),
		}, met(quiet, "suspended and recovered")},
		{"drop", []scenario.Event{at(10, "drop", "a", func(e *scenario.Event) { e.Message = "renew answer" })}, met(quiet, "renewal unknown")},
		{"crash of the store", []scenario.Event{at(10, "crash", "store", lasting(4*time.Second))}, met(quiet, "suspended and recovered")},
		{"crash and start of the store", []scenario.Event{at(10, "crash", "store", nil), at(14, "start", "store", nil)}, met(quiet, "suspended and recovered")},
		{"pause of the store", []scenario.Event{at(10, "pause", "store", lasting(4*time.Second))}, met(quiet, "renewal unknown")},
		{"pause and resume of the store", []scenario.Event{at(10, "pause", "store", nil), at(14, "resume", "store", nil)}, met(quiet, "renewal unknown")},
		{"restart", []scenario.Event{at(10, "restart", "store", nil)}, quiet},
		{"loss of data", []scenario.Event{at(11, "lose data", "store", nil)}, met(scenario.Expect{}, "data loss at the backend", "term ended: SESSION_EXPIRED")},
		{"removal", []scenario.Event{at(11, "remove lease", "", named("job"))}, met(scenario.Expect{}, "lease removed by hand", "term ended: TAKEN_OVER")},
		{"slow answers", []scenario.Event{at(10, "slow down", "store", func(e *scenario.Event) {
			e.By = 12 * time.Second
			e.For = scenario.Span{Constant: 11 * time.Second}
		})}, met(scenario.Expect{}, "renewal answer after the deadline")},
		{"a rate", []scenario.Event{
			at(5, "set rate", "a", func(e *scenario.Event) { e.Rate = 0.5 }), at(10, "cut", "a", nil),
		}, scenario.Expect{Leader: map[string]string{"job": "b"}, Violated: []int{1, 2}}},
		{"a rate of the store", []scenario.Event{
			at(5, "set rate", "store", func(e *scenario.Event) { e.Rate = 2 }), at(10, "cut", "a", nil),
		}, scenario.Expect{Leader: map[string]string{"job": "b"}, Violated: []int{1, 2}}},
		{"a jump", []scenario.Event{at(11, "jump", "a", func(e *scenario.Event) { e.By = time.Minute })}, met(scenario.Expect{}, "term ended: DEADLINE_PASSED")},
		{"a jump of the store", []scenario.Event{at(11, "jump", "store", func(e *scenario.Event) { e.By = time.Minute })}, scenario.Expect{Violated: []int{2}, Tolerate: []int{1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := world(tt.events...)
			for _, e := range tt.events {
				tried = append(tried, e.Do)
			}
			s.Expect = tt.expect
			for seed := range uint64(3) {
				if err := s.Run(sim.Random(seed)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	slices.Sort(tried)
	if got := slices.Compact(tried); !slices.Equal(got, scenario.Actions()) {
		t.Errorf("tried are %q, and there are %q", got, scenario.Actions())
	}
}

// TestUnmet: an expectation that does not come true is told, with what came instead.
func TestUnmet(t *testing.T) {
	s := world()
	s.Expect = scenario.Expect{
		Leader: map[string]string{"job": "b", "none": "somebody"}, Terms: 2, Met: []string{"task failed"}, Never: []string{"term begun"}, Violated: []int{1},
	}
	err := s.Run(sim.Random(1))
	var unmet *scenario.UnmetError
	if !errors.As(err, &unmet) {
		t.Fatalf("got %v, want an UnmetError", err)
	}
	want := []string{
		`a leads "job", not b`, `nobody leads "none", not somebody`, "1 terms began, not 2", `"task failed" did not occur`,
		`"term begun" occurred, 1 times`, `invariant 1, "one valid term", was not violated`,
	}
	if got := strings.Join(unmet.Broken, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestViolation: what is not tolerated fails the world.
func TestViolation(t *testing.T) {
	s := world(at(10, "cut", "a", nil))
	s.Clients[0].Rate = 0.5
	err := s.Run(sim.Random(1))
	var v *sim.Violation
	if !errors.As(err, &v) || v.Invariant != sim.DeadlineFirst {
		t.Errorf("got %v, want a violation of %v", err, sim.DeadlineFirst.Name)
	}
}

// TestNonsense: an event that makes no sense when it is due fails the world.
func TestNonsense(t *testing.T) {
	for want, events := range map[string][]scenario.Event{
		`"pause" is to happen to the leader of "none", and nobody leads it`: {at(1, "pause", "leader", named("none"))},
		`"pause" is to happen to a, whose process does not run`:             {at(1, "crash", "a", nil), at(2, "pause", "a", nil)},
		`"set rate" is to happen to a, whose machine sleeps`: {at(1, "suspend", "a", nil),
			at(2, "set rate", "a", func(e *scenario.Event) { e.Rate = 2 })},
	} {
		if err := world(events...).Run(sim.Random(1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestWhoIsThere: what clients, listeners and tasks are like arrives in the world.
func TestWhoIsThere(t *testing.T) {
	second := scenario.Span{Constant: time.Second}
	for _, tt := range []struct {
		name   string
		change func(s *scenario.Scenario)
		expect scenario.Expect
	}{
		{"a shared machine", func(s *scenario.Scenario) {
			s.Clients[1].With = "a"
			s.Events = []scenario.Event{at(10, "suspend", "a", nil)}
		}, scenario.Expect{Leader: map[string]string{"job": "nobody"}, Terms: 1}},
		{"callbacks inline", func(s *scenario.Scenario) { s.Clients[0].Elections[0].Listener = &scenario.Listener{Inline: true} },
			scenario.Expect{Met: []string{"callback run inline"}}},
		{"callbacks refused", func(s *scenario.Scenario) {
			s.Clients[0].Elections[0].Listener = &scenario.Listener{Refuses: true, Lasts: second}
		}, scenario.Expect{Met: []string{"callback refused"}}},
		{"callbacks that panic", func(s *scenario.Scenario) { s.Clients[0].Elections[0].Listener = &scenario.Listener{Panics: true} },
			scenario.Expect{Met: []string{"callback panicked"}}},
		{"a task that fails", func(s *scenario.Scenario) {
			s.Clients[0].Elections[0].Task = &scenario.Task{Lasts: second, Fails: true}
			s.Clients[0].Elections[0].AfterFailure = "yield"
		}, scenario.Expect{Met: []string{"task failed", "term ended: STEPPED_DOWN"}}},
		{"a task that panics", func(s *scenario.Scenario) {
			s.Clients[0].Elections[0].Task = &scenario.Task{Lasts: scenario.Span{Uniform: []time.Duration{time.Second, 2 * time.Second}}, Panics: true}
		}, scenario.Expect{Met: []string{"task panicked"}}},
		{"a task that finishes", func(s *scenario.Scenario) {
			s.Clients = s.Clients[:1]
			s.Clients[0].Elections[0].Task = &scenario.Task{Lasts: scenario.Span{Exponential: time.Second}}
			s.Clients[0].Elections[0].AfterReturn = "finish"
		}, scenario.Expect{Leader: map[string]string{"job": "nobody"}, Terms: 1}},
		{"short leases", func(s *scenario.Scenario) { s.Backend.Grants = 5 * time.Second }, scenario.Expect{Met: []string{"lease shortened"}}},
		{"errors", func(s *scenario.Scenario) { s.Backend.Errors = 5 }, scenario.Expect{Met: []string{"renewal unknown"}}},
		{"losses", func(s *scenario.Scenario) {
			s.Network = scenario.Network{Delay: scenario.Span{Pareto: &scenario.Pareto{Least: time.Millisecond, Shape: 1.5}}, Lose: 5, Duplicate: 5, Late: 5, Stall: second}
		}, scenario.Expect{Met: []string{"renewal unknown"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := world()
			s.Clients[0].Elections = []scenario.Election{s.Clients[0].Elections[0]}
			tt.change(s)
			s.Expect = tt.expect
			if err := s.Run(sim.Random(1)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTell: whoever listens hears of the events and of what comes of them, in the same
// world.
func TestTell(t *testing.T) {
	s := world(at(10, "pause", "a", nil))
	var heard []string
	c, err := s.Tell(sim.Random(1), func(e sim.Entry) { heard = append(heard, e.Node+" "+e.State) })
	if err != nil {
		t.Fatal(err)
	}
	silent, err := s.Build(sim.Random(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Play(c), s.Play(silent)); err != nil || c.Hash() != silent.Hash() {
		t.Errorf("with a listener the hash is %x, and without %x: %v", c.Hash(), silent.Hash(), err)
	}
	for _, want := range []string{"a started", "a paused", "b started"} {
		if !slices.Contains(heard, want) {
			t.Errorf("%q was not heard of, but %q", want, heard)
		}
	}
}

// TestByTitle finds what comes with the package.
func TestByTitle(t *testing.T) {
	if s := scenario.ByTitle("the long pause"); s == nil || s.Title != "the long pause" {
		t.Errorf("found %v", s)
	}
	if s := scenario.ByTitle("the clock that jumps"); s == nil {
		t.Error("the stories outside the assumptions are not found")
	}
	if s := scenario.ByTitle("none"); s != nil {
		t.Errorf("found %q", s.Title)
	}
}
