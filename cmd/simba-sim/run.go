package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simba-go/simba/sim"
)

func runCommand() *cobra.Command {
	var (
		seed     uint64
		messages bool
		out      string
	)
	cmd := &cobra.Command{
		Use:     "run --seed N",
		Short:   "Let one world live, and tell what happens in it",
		Example: "  simba-sim run --seed 42\n  simba-sim run --seed 42 --messages | grep client-1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l := live(sim.Random(seed), true)
			l.print(cmd.OutOrStdout(), messages)
			l.verdict(cmd.OutOrStdout())
			if out != "" {
				if err := newTrace(&seed, l.decisions, l.err).write(out); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Trace: %s\n", out)
			}
			return l.broken()
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "the seed from which all decisions are drawn")
	cmd.Flags().BoolVar(&messages, "messages", false, "tell of the messages to and from the backend as well")
	cmd.Flags().StringVar(&out, "out", "", "write a trace to this file, for replay, shrink and report")
	return cmd
}

func replayCommand() *cobra.Command {
	var messages bool
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Make the world of a trace happen again",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := readTrace(args[0])
			if err != nil {
				return err
			}
			l := live(t.Decisions.Chooser(), true)
			l.print(cmd.OutOrStdout(), messages)
			l.verdict(cmd.OutOrStdout())
			return l.broken()
		},
	}
	cmd.Flags().BoolVar(&messages, "messages", false, "tell of the messages to and from the backend as well")
	return cmd
}
