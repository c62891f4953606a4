package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/simba-go/simba/sim"
	"github.com/simba-go/simba/sim/swarm"
)

const sweepHelp = `Lets the worlds of many seeds live, and stops at the first that breaks a rule. It
writes a trace of that world then, and exits with 1. A sweep that has not met all
situations proves little: that is an error too, from 1,000 seeds on.`

// enough is how many worlds meet every situation, with a wide margin.
const enough = 1000

func sweepCommand() *cobra.Command {
	var (
		s      swarm.Sweep
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "sweep --seeds N",
		Short:   "Look for a world that breaks a rule",
		Long:    sweepHelp,
		Example: "  simba-sim sweep --seeds 10000\n  simba-sim sweep --from 10000 --seeds 10000 --twice",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.Seeds == 0 || s.From+s.Seeds < s.From {
				return fmt.Errorf("--seeds is %d, from %d on; it must be above zero, and the last seed below 2^64", s.Seeds, s.From)
			}
			if s.Workers < 0 {
				return fmt.Errorf("--workers is %d; it must not be negative", s.Workers)
			}
			start, p := time.Now(), newProgress(cmd.ErrOrStderr())
			found, err := s.Run(cmd.Context(), func(f swarm.Found) {
				p.show("%d of %d worlds, %s", f.Seeds, s.Seeds, rate(f, time.Since(start)))
			})
			p.clear()
			r := result{Found: found, took: time.Since(start), from: s.From}
			if asJSON {
				if err := r.writeJSON(cmd.OutOrStdout()); err != nil {
					return err
				}
			} else {
				r.print(cmd.OutOrStdout())
			}
			if err != nil {
				return fmt.Errorf("the sweep was ended after %d of %d worlds: %w", found.Seeds, s.Seeds, err)
			}
			return r.judge(cmd.OutOrStdout(), asJSON)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&s.Seeds, "seeds", 0, "how many worlds to let live")
	f.Uint64Var(&s.From, "from", 0, "the seed of the first")
	f.IntVar(&s.Workers, "workers", 0, "how many worlds to run at once; 0 for one on each processor")
	f.BoolVar(&s.Twice, "twice", false, "run each world twice, and compare what happened")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// result is what a sweep has found.
type result struct {
	swarm.Found
	took time.Duration
	from uint64
}

func rate(f swarm.Found, took time.Duration) string {
	s := took.Seconds()
	return fmt.Sprintf("%.0f worlds/s, %.2f million events/s, %.1f virtual hours", float64(f.Seeds)/s, float64(f.Events)/s/1e6, f.Virtual.Hours())
}

func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "%d worlds from seed %d: %d events, %v of virtual time, in %v (%s)\n",
		r.Seeds, r.from, r.Events, r.Virtual.Round(time.Second), r.took.Round(time.Millisecond), rate(r.Found, r.took))
	if r.Failure != nil {
		return // what that has to say is more important
	}
	fmt.Fprintln(w, "\nSituations that the worlds were in:")
	for i, n := range r.Met {
		fmt.Fprintf(w, "%12d  %v\n", n, sim.Situation(i))
	}
}

func (r result) writeJSON(w io.Writer) error {
	met := make(map[string]uint64, len(r.Met))
	for i, n := range r.Met {
		met[sim.Situation(i).String()] = n
	}
	out := struct {
		From      uint64            `json:"from"`
		Worlds    uint64            `json:"worlds"`
		Events    uint64            `json:"events"`
		Virtual   float64           `json:"virtualSeconds"`
		Took      float64           `json:"seconds"`
		Met       map[string]uint64 `json:"met"`
		Seed      *uint64           `json:"failedSeed,omitempty"`
		Invariant int               `json:"invariant,omitempty"`
		What      string            `json:"what,omitempty"`
	}{From: r.from, Worlds: r.Seeds, Events: r.Events, Virtual: r.Virtual.Seconds(), Took: r.took.Seconds(), Met: met}
	if f := r.Failure; f != nil {
		t := newTrace("", nil, nil, f.Err)
		out.Seed, out.Invariant, out.What = &f.Seed, t.Invariant, t.What
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// judge is how the command ends.
func (r result) judge(w io.Writer, quiet bool) error {
	if f := r.Failure; f != nil {
		path := fmt.Sprintf("violation-%d.json", f.Seed)
		l, err := plan{}.live(sim.Random(f.Seed), true)
		if err != nil {
			return err
		}
		if err := newTrace("", &f.Seed, l.decisions, f.Err).write(path); err != nil {
			return errors.Join(&brokenError{f.Err}, err)
		}
		if !quiet {
			r.tell(w, l, path)
		}
		return &brokenError{fmt.Errorf("seed %d: %w", f.Seed, f.Err)}
	}
	if missing := r.Met.Missing(); len(missing) > 0 && r.Seeds >= enough {
		return &brokenError{fmt.Errorf("in %d worlds these situations were not met: %v; the sweep proves little without them", r.Seeds, missing)}
	}
	if !quiet {
		fmt.Fprintln(w, "\nNo rule was broken.")
	}
	return nil
}

// last is how many lines of a broken world's story are shown.
const last = 30

// tell shows a broken world to somebody who has never seen one.
func (r result) tell(w io.Writer, l *lived, path string) {
	lines := l.lines(false)
	if n := len(lines); n > last {
		fmt.Fprintf(w, "\nThe world of seed %d, in its last %d of %d lines:\n", r.Failure.Seed, last, n)
		lines = lines[n-last:]
	} else {
		fmt.Fprintf(w, "\nThe world of seed %d:\n", r.Failure.Seed)
	}
	for _, s := range lines {
		fmt.Fprintln(w, s)
	}
	l.verdict(w)
	fmt.Fprintf(w, `
To see it again, make it smaller, and look at what is left, in lines and in a browser:
  go run ./cmd/simba-sim run --seed %d --messages
  go run ./cmd/simba-sim shrink %s
  go run ./cmd/simba-sim replay %s --messages
  go run ./cmd/simba-sim report %[3]s

`, r.Failure.Seed, path, shrunken(path))
}
