package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simba-go/simba/sim"
)

func shrinkCommand() *cobra.Command {
	var (
		limit int
		out   string
	)
	cmd := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Look for fewer decisions that break the same rule",
		Long: `Looks for fewer and smaller decisions that break the same rule as those of a trace,
and writes them to a trace of their own. A decision that is left out becomes calm:
the message is not lost, the process is not paused.`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit <= 0 {
				return fmt.Errorf("--limit is %d; it must be above zero", limit)
			}
			t, plan, err := load(args[0])
			if err != nil {
				return err
			}
			first, err := plan.live(t.Decisions.Chooser(), false)
			switch {
			case err != nil:
				return err
			case first.err == nil:
				return fmt.Errorf("the world of %s breaks no rule, so there is nothing to look for", args[0])
			}
			if out == "" {
				out = shrunken(args[0])
			}
			p := newProgress(cmd.ErrOrStderr())
			same, tried := sameFailure(first.err), 0
			small := sim.Shrink(t.Decisions, limit, func(ds sim.Decisions) bool {
				tried++
				p.show("%d worlds tried", tried)
				l, err := plan.live(ds.Chooser(), false)
				return cmd.Context().Err() == nil && err == nil && same(l.err)
			})
			p.clear()
			l, err := plan.live(small.Chooser(), false)
			if err != nil {
				return err
			}
			if err := newTrace(t.Scenario, t.Seed, l.decisions, l.err).write(out); err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%d decisions are left of %d, after %d worlds:\n", len(l.decisions), len(t.Decisions), tried)
			for _, d := range l.decisions {
				fmt.Fprintf(w, "  %s: %d\n", choiceOf(d), d.Value)
			}
			l.verdict(w)
			fmt.Fprintf(w, "Trace: %s\n", out)
			return cmd.Context().Err()
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 5000, "try at most so many worlds")
	cmd.Flags().StringVar(&out, "out", "", "write the trace to this file (default: FILE with -small)")
	return cmd
}

// choiceOf says which choice a decision is about.
func choiceOf(d sim.Decision) string {
	said := d.Label
	if d.About != "" {
		said += " of " + d.About
	}
	said += fmt.Sprintf(" (the %s", ordinal(d.Number))
	if d.Phase > 0 {
		said += fmt.Sprintf(" in phase %d", d.Phase)
	}
	return said + ")"
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

// shrunken is where the smaller trace goes.
func shrunken(path string) string { return strings.TrimSuffix(path, ".json") + "-small.json" }
