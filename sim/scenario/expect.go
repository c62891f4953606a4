package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simba-go/simba/sim"
)

// UnmetError says what did not come as a scenario expects it.
type UnmetError struct {
	Title  string   // of the scenario
	Broken []string // expectations, and what came instead
}

// Error lists them in one line.
func (e *UnmetError) Error() string {
	return fmt.Sprintf("scenario: %q did not come as expected: %s", e.Title, strings.Join(e.Broken, "; "))
}

// tolerated are the invariants that may be violated.
func (x *Expect) tolerated() (all []sim.Invariant) {
	for _, n := range slices.Concat(x.Tolerate, x.Violated) {
		if i, ok := invariant(n); ok {
			all = append(all, i)
		}
	}
	return all
}

func invariant(number int) (sim.Invariant, bool) {
	all := sim.Invariants()
	i := slices.IndexFunc(all, func(i sim.Invariant) bool { return i.Number == number })
	if i < 0 {
		return sim.Invariant{}, false
	}
	return all[i], true
}

func situation(name string) (sim.Situation, bool) {
	all := sim.Situations()
	i := slices.IndexFunc(all, func(s sim.Situation) bool { return s.String() == name })
	if i < 0 {
		return 0, false
	}
	return all[i], true
}

// unmet returns an [*UnmetError], or nil.
func (x *Expect) unmet(title string, c *sim.Cluster) error {
	var broken []string
	require := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.Leader)) {
		want, got := x.Leader[name], nobody
		if l := c.Leader(name); l != nil {
			got = l.String()
		}
		require(got == want || want == somebody && got != nobody, "%s leads %q, not %s", got, name, want)
	}
	met := &c.Monitor.Met
	require(x.Terms == 0 || met[sim.TermBegun] == uint64(x.Terms), "%d terms began, not %d", met[sim.TermBegun], x.Terms)
	for _, name := range x.Met {
		s, _ := situation(name)
		require(met[s] > 0, "%q did not occur", name)
	}
	for _, name := range x.Never {
		s, _ := situation(name)
		require(met[s] == 0, "%q occurred, %d times", name, met[s])
	}
	for _, n := range x.Violated {
		i, _ := invariant(n)
		require(c.Monitor.Tolerated[n] > 0, "invariant %d, %q, was not violated", n, i.Name)
	}
	if broken == nil {
		return nil
	}
	return &UnmetError{title, broken}
}
