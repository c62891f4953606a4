package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/cmd/simba/internal/child"
	"github.com/simba-go/simba/cmd/simba/internal/tty"
	"github.com/spf13/cobra"
)

// What the commands that run CMD have in common.
const graceUsage = "how long CMD may take to end before it is killed"

var defaultGrace = positiveOrZero{duration(10 * time.Second)}

// commandTaker marks the commands that take a CMD.
var commandTaker = map[string]string{"takes": "CMD", endOfHelp: exitCodes}

func takesCommand(cmd *cobra.Command) bool { return cmd.Annotations["takes"] == "CMD" }

// nameAndCommand checks NAME -- CMD ARG...
func nameAndCommand(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	right := "write: " + cmd.CommandPath() + " NAME -- CMD ARG..."
	switch {
	case len(args) == 0 || dash == 0:
		return usagef("NAME is missing; %s", right)
	case dash < 0 && len(args) == 1:
		return usagef("-- and CMD are missing; %s", right)
	case dash < 0:
		return usagef("-- is missing before CMD; write: %s %s -- %s", cmd.CommandPath(), args[0], strings.Join(args[1:], " "))
	case dash > 1:
		return usagef("there are %d names before --; there must be one; %s", dash, right)
	case len(args) == dash || args[dash] == "":
		return usagef("CMD is missing after --; %s", right)
	}
	return checkName(args[0])
}

func checkName(name string) error {
	if err := simba.CheckName(name); err != nil {
		return exitOf(err)
	}
	return nil
}

// completeCommand leaves CMD to the shell. There is nothing to propose for NAME.
func completeCommand(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	if cmd.ArgsLenAtDash() < 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// connectToWork connects, unless there is no such CMD: a stand-by should say so
// today, and not on the night when it is needed.
func (a *app) connectToWork(ctx context.Context, cmd []string) (*connection, error) {
	if err := child.Find(cmd[0]); err != nil {
		return nil, outcome{err: err}.error()
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	if c.private {
		a.global.logger().Warn("simba: memory: is private to this process, so it keeps nobody else from running CMD; use sqlite:PATH")
	}
	return c, nil
}

// narrate tells a person at a terminal for whom we wait. It ends with ctx or the
// client.
func (a *app) narrate(ctx context.Context, c *connection, name string) {
	if tty.IsTerminal(os.Stderr) {
		go tellHolders(ctx, os.Stderr, c, name)
	}
}

func tellHolders(ctx context.Context, w io.Writer, c *connection, name string) {
	for h, err := range c.Observe(ctx, name) {
		if err == nil && h.Held && h.Session != c.Snapshot().Session {
			fmt.Fprintf(w, "simba: %q is held by %s (token %d); waiting\n", name, printable(h.Label), h.Token)
		}
	}
}
