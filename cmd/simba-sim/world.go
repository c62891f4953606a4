package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/scenario"
	"github.com/simba-go/simba/sim/swarm"
)

// plan is what makes a world: a scenario, or the swarm if there is none.
type plan struct{ scenario *scenario.Scenario }

// findPlan finds a scenario by its title or its file; the swarm is nameless.
func findPlan(name string) (plan, error) {
	if name == "" {
		return plan{}, nil
	}
	if s := scenario.ByTitle(name); s != nil {
		return plan{s}, nil
	}
	if !strings.Contains(name, ".") {
		return plan{}, fmt.Errorf("there is no story %q; name a file, or one of these: %s", name, strings.Join(titles(), ", "))
	}
	s, err := scenario.Load(name)
	return plan{s}, err
}

// titles are those of the scenarios that come with the program.
func titles() []string {
	var all []string
	for _, s := range append(scenario.Stories(), scenario.Outside()...) {
		all = append(all, s.Title)
	}
	return all
}

// lived is a world that has been run.
type lived struct {
	*sim.Cluster
	decisions sim.Decisions
	entries   []sim.Entry
	err       error
}

// live lets a world live, and keeps what happens in it if that is asked for.
func (p plan) live(c sim.Chooser, keep bool) (*lived, error) {
	l := &lived{}
	r := sim.Record(c)
	var tell func(sim.Entry)
	if keep {
		tell = func(e sim.Entry) { l.entries = append(l.entries, e) }
	}
	if p.scenario == nil {
		w := swarm.Tell(r, tell)
		l.Cluster, l.err = w.Cluster, w.Run()
	} else {
		var err error
		if l.Cluster, err = p.scenario.Tell(r, tell); err != nil {
			return nil, err
		}
		l.err = p.scenario.Play(l.Cluster)
	}
	l.decisions = r.Decisions
	// That a term was over is noticed later than it was.
	slices.SortStableFunc(l.entries, func(a, b sim.Entry) int { return cmp.Compare(a.At, b.At) })
	return l, nil
}

// print writes what happened, a line for each entry. Messages come only if they are
// asked for, and of writes that go alike, only the first.
func (l *lived) print(w io.Writer, messages bool) {
	for _, s := range l.lines(messages) {
		fmt.Fprintln(w, s)
	}
}

func (l *lived) lines(messages bool) (lines []string) {
	var last string // write
	for _, e := range l.entries {
		if e.Kind == sim.KindMessage && !messages {
			continue
		}
		if e.Kind == sim.KindWrite {
			if e.Name+e.Text == last {
				continue
			}
			last = e.Name + e.Text
		}
		lines = append(lines, line(e))
	}
	return lines
}

// line puts an entry into one line.
func line(e sim.Entry) string {
	s := fmt.Sprintf("%11.6fs  %-9s %-10s", e.At.Seconds(), e.Node, e.Kind)
	if e.Name != "" {
		s += " " + e.Name
		if e.Token != 0 {
			s += fmt.Sprintf("=%d", e.Token)
		}
		s += ":"
	}
	s += " " + e.Text
	if e.Kind == sim.KindMessage {
		s += fate(e)
	}
	return s
}

// fate says what becomes of a message.
func fate(e sim.Entry) string {
	if e.State == "lost" {
		return " -> " + e.To + " (lost)"
	}
	s := fmt.Sprintf(" -> %s, %v later", e.To, (e.Until - e.At).Round(time.Microsecond))
	if e.State != "sent" {
		s += " (" + e.State + ")"
	}
	return s
}

// verdict says how it ended.
func (l *lived) verdict(w io.Writer) {
	var v *sim.Violation
	switch {
	case errors.As(l.err, &v):
		fmt.Fprintf(w, "\nBroken: invariant %d, %q. %s\nWhat happened: %s.\n", v.Number, v.Name, v.Says, v.What)
	case l.err != nil:
		fmt.Fprintf(w, "\nBroken: %v\n", l.err)
	default:
		fmt.Fprintf(w, "\n%s.", l.harmless())
	}
	fmt.Fprintf(w, "\n%v of virtual time, %d events, %d decisions, hash %016x.\n",
		time.Duration(l.Now()).Round(time.Millisecond), l.Steps(), len(l.decisions), l.Hash())
}

// harmless is how a world ended that came as expected. A scenario may expect that rules are
// broken: that is not nothing.
func (l *lived) harmless() string {
	var broken []string
	for _, i := range sim.Invariants() {
		if l.Monitor.Tolerated[i.Number] > 0 {
			broken = append(broken, fmt.Sprintf("invariant %d, %q", i.Number, i.Name))
		}
	}
	if broken == nil {
		return "Nothing was broken"
	}
	return "Broken, as the scenario expects: " + strings.Join(broken, ", and ")
}

// broken makes a world's failure an error of the command.
func (l *lived) broken() error {
	if l.err != nil {
		return &brokenError{l.err}
	}
	return nil
}

// sameFailure returns a test for worlds that break the same rule.
func sameFailure(err error) func(error) bool {
	var v *sim.Violation
	if !errors.As(err, &v) {
		return func(other error) bool { return other != nil }
	}
	return func(other error) bool {
		var o *sim.Violation
		return errors.As(other, &o) && o.Number == v.Number
	}
}
