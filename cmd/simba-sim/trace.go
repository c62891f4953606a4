package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/simba-go/simba/sim"
)

// trace is a file that makes a world happen again.
type trace struct {
	Format    string        `json:"format"`
	Scenario  string        `json:"scenario,omitempty"` // its title or file; none for a world of the swarm
	Seed      *uint64       `json:"seed,omitempty"`     // from which the decisions came, before they were shrunk
	Invariant int           `json:"invariant,omitempty"`
	Says      string        `json:"says,omitempty"` // what the invariant does
	What      string        `json:"what,omitempty"` // happened instead
	Decisions sim.Decisions `json:"decisions"`
}

const traceFormat = "simba-sim trace 1"

// newTrace is the trace of a world that was recorded, and how it ended.
func newTrace(scenario string, seed *uint64, ds sim.Decisions, err error) trace {
	t := trace{Format: traceFormat, Scenario: scenario, Seed: seed, Decisions: ds}
	if v := (*sim.Violation)(nil); errors.As(err, &v) {
		t.Invariant, t.Says, t.What = v.Number, v.Says, v.What
	} else if err != nil {
		t.What = err.Error()
	}
	return t
}

// write writes the trace, one decision a line.
func (t trace) write(path string) error {
	ds := t.Decisions
	t.Decisions = sim.Decisions{}
	head, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(string(head), "[]\n}"))
	b.WriteString("[")
	for i, d := range ds {
		line, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    ")
		b.Write(line)
	}
	b.WriteString("\n  ]\n}\n")
	return writeFile(path, []byte(b.String()), "trace")
}

// load reads a trace and finds what it is about.
func load(path string) (trace, plan, error) {
	t, err := readTrace(path)
	if err != nil {
		return t, plan{}, err
	}
	p, err := findPlan(t.Scenario)
	return t, p, err
}

func readTrace(path string) (trace, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return trace{}, fmt.Errorf("the trace could not be read: %w", err)
	}
	var t trace
	if err := json.Unmarshal(data, &t); err != nil {
		return trace{}, fmt.Errorf("%s is no trace: %w; `simba-sim sweep` and `simba-sim run --out` write one", path, err)
	}
	if t.Format != traceFormat {
		return trace{}, fmt.Errorf("%s has the format %q; this program reads %q", path, t.Format, traceFormat)
	}
	for i, d := range t.Decisions {
		if d.Label == "" || d.Number < 1 || d.Value < 1 {
			return trace{}, fmt.Errorf("%s: decision %d is %+v; it needs a label, and a number and a value above zero", path, i+1, d)
		}
	}
	return t, nil
}
