package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/simba-go/simba"
	"github.com/spf13/cobra"
)

const watchHelp = `Show who holds NAME, now and after each change, until a signal ends it.

Looking does not contend for NAME. A holder who comes and goes between two looks may
be missed; tokens tell.

--json prints an object a line, with the fields of simba status --json.`

func (a *app) watchCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "watch NAME",
		Short:             "Show who holds a lease, and each change",
		Long:              watchHelp,
		Example:           "  simba watch deploy\n  simba watch deploy --json | jq -r .holder",
		GroupID:           groupLook,
		Args:              oneName,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: runE(func(ctx context.Context, args []string) error {
			return a.watch(ctx, args[0], asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object a line")
	return cmd
}

func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("there are %d names; %s takes one", len(args), cmd.CommandPath())
	}
	return checkName(args[0])
}

func (a *app) watch(ctx context.Context, name string, asJSON bool) (err error) {
	c, err := a.connectShared(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.hangUp(a.signals)) }()
	write := writeJSONLine
	if !asJSON {
		write = writeWatchLine
		if err := writeRow("TIME", "HOLDER", "TOKEN", "SESSION", "REMAINING"); err != nil {
			return err
		}
	}
	for h, err := range c.Observe(ctx, name) {
		switch {
		case errors.Is(err, simba.ErrClosed):
			return err
		case err != nil:
			a.global.logger().Warn("simba: the store does not answer; looking again", "name", name, "err", err)
		default:
			if err := write(h); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// writeRow writes columns that are as wide as they usually are: each line comes by
// itself.
func writeRow(columns ...any) error {
	_, err := fmt.Printf("%-12s  %-24s  %-16v  %-26s  %v\n", columns...)
	return err
}

func writeWatchLine(h simba.Holder) error {
	now := time.Now().Format("15:04:05.000")
	if !h.Held {
		return writeRow(now, "(vacant)", "-", "-", "-")
	}
	return writeRow(now, printable(h.Label), h.Token, h.Session, h.Remaining.Round(100*time.Millisecond))
}

func writeJSONLine(h simba.Holder) error { return writeObject(os.Stdout, h) }
