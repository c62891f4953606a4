package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simba-go/simba/cmd/simba-sim/internal/experiment"
)

const rootHelp = `simba-sim runs Simba's own session, election and lock in simulated worlds: one thread,
virtual time, and every decision drawn. Clocks drift, machines pause and sleep,
messages are lost, doubled and late, the backend fails, and users do what users do.
Checkers watch in true time for a broken rule.

The same seed always takes the same course.`

const rootExamples = `  simba-sim run --seed 42
  simba-sim sweep --seeds 10000
  simba-sim replay violation-42.json
  simba-sim shrink violation-42.json
  simba-sim report violation-42.json
  simba-sim experiment drift --out figures`

// oneTrace refuses a command line that does not name one trace.
func oneTrace(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("there are %d traces; write: simba-sim %s, with a trace that `simba-sim sweep` or `simba-sim run --out` has written", len(args), cmd.Use)
	}
	return nil
}

// root returns the whole command line.
func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "simba-sim",
		Short:         "Try to break Simba in simulated worlds",
		Long:          rootHelp,
		Example:       rootExamples,
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
	}
	cobra.EnableCommandSorting = false // a setting of the whole process, which this is
	cmd.AddCommand(runCommand(), sweepCommand(), replayCommand(), shrinkCommand(), reportCommand(), experiment.Command())
	return cmd
}
