package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

// lived is a world that has been run.
type lived struct {
	*swarm.World
	decisions sim.Decisions
	entries   []sim.Entry
	err       error
}

// live lets a world live, and keeps what happens in it.
func live(c sim.Chooser, keep bool) *lived {
	l := &lived{}
	r := sim.Record(c)
	var tell func(sim.Entry)
	if keep {
		tell = func(e sim.Entry) { l.entries = append(l.entries, e) }
	}
	l.World = swarm.Tell(r, tell)
	l.err = l.Run()
	l.decisions = r.Decisions
	// That a term was over is noticed later than it was.
	slices.SortStableFunc(l.entries, func(a, b sim.Entry) int { return cmp.Compare(a.At, b.At) })
	return l
}

// print writes what happened, a line for each entry. Messages come only if they are
// asked for.
func (l *lived) print(w io.Writer, messages bool) {
	for _, e := range l.entries {
		if e.Kind == sim.KindMessage && !messages {
			continue
		}
		fmt.Fprintln(w, line(e))
	}
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
		fmt.Fprintf(w, "\nNothing was broken.")
	}
	fmt.Fprintf(w, "\n%v of virtual time, %d events, %d decisions, hash %016x.\n",
		time.Duration(l.Now()).Round(time.Millisecond), l.Steps(), len(l.decisions), l.Hash())
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
