package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simba-go/simba/sim"
)

func runHelp() string {
	return `Lets one world live, and tells what happens in it: a world in which everything goes
wrong that may, drawn from a seed, or a scenario.

Stories that come with the program:
  ` + strings.Join(titles(), "\n  ") + `

Others are files: docs/experiments.md says how they are written.`
}

func runCommand() *cobra.Command {
	var (
		seed      uint64
		messages  bool
		out, page string
	)
	cmd := &cobra.Command{
		Use:   "run [STORY|FILE]",
		Short: "Let one world live, and tell what happens in it",
		Long:  runHelp(),
		Example: "  simba-sim run --seed 42\n  simba-sim run --seed 42 --messages | grep client-1\n" +
			"  simba-sim run \"the long pause\" --html pause.html",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			p, err := findPlan(name)
			if err != nil {
				return err
			}
			l, err := p.live(sim.Random(seed), true)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			p.introduce(w)
			l.print(w, messages)
			l.verdict(w)
			t := newTrace(name, &seed, l.decisions, l.err)
			if out != "" {
				if err := t.write(out); err != nil {
					return err
				}
				fmt.Fprintf(w, "Trace: %s\n", out)
			}
			if page != "" {
				again := fmt.Sprintf("go run ./cmd/simba-sim run --seed %d", seed)
				if name != "" {
					again = fmt.Sprintf("go run ./cmd/simba-sim run %q --seed %d", name, seed)
				}
				if err := l.writePage(page, p.title(&seed), again); err != nil {
					return err
				}
				fmt.Fprintf(w, "Timeline: %s\n", page)
			}
			return l.broken()
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "the seed from which all decisions are drawn")
	cmd.Flags().BoolVar(&messages, "messages", false, "tell of the messages to and from the backend as well")
	cmd.Flags().StringVar(&out, "out", "", "write a trace to this file, for replay, shrink and report")
	cmd.Flags().StringVar(&page, "html", "", "write the timeline to this file, as a page for a browser")
	return cmd
}

func replayCommand() *cobra.Command {
	var messages bool
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Make the world of a trace happen again",
		Args:  oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, p, err := load(args[0])
			if err != nil {
				return err
			}
			l, err := p.live(t.Decisions.Chooser(), true)
			if err != nil {
				return err
			}
			l.print(cmd.OutOrStdout(), messages)
			l.verdict(cmd.OutOrStdout())
			return l.broken()
		},
	}
	cmd.Flags().BoolVar(&messages, "messages", false, "tell of the messages to and from the backend as well")
	return cmd
}

// writeFile writes what a command has made.
func writeFile(path string, data []byte, what string) error {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("the %s could not be written: %w", what, err)
	}
	return nil
}
