package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/simba-go/simba"
	"github.com/spf13/cobra"
)

const statusHelp = `Show who holds the NAMEs, or without any, every lease that is held.

Looking does not contend for anything. What you see may be out of date a moment later;
REMAINING is for how long the holder keeps the lease if it does not renew it.

--json prints an array of objects with the fields name, held, holder, token, session
and remaining_ms. A NAME that nobody holds has held false, and the rest empty.`

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "status [NAME...]",
		Short:             "Show who holds which leases now",
		Long:              statusHelp,
		Example:           "  simba status\n  simba status deploy --json",
		GroupID:           groupLook,
		Args:              namesOnly,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: runE(func(ctx context.Context, names []string) error {
			return a.status(ctx, names, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func namesOnly(_ *cobra.Command, args []string) error {
	for _, name := range args {
		if err := checkName(name); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) status(ctx context.Context, names []string, asJSON bool) (err error) {
	c, err := a.connectShared(ctx)
	if err != nil {
		return err
	}
	holders, err := look(ctx, c, names)
	if err := errors.Join(err, c.hangUp(a.signals)); err != nil {
		return causeOf(ctx, unavailable(err))
	}
	switch {
	case asJSON:
		return writeArray(os.Stdout, holders)
	case len(holders) == 0:
		_, err = fmt.Println("No lease is held.")
		return err
	}
	return writeTable(os.Stdout, holders)
}

// look asks for any number of names.
func look(ctx context.Context, c *connection, names []string) ([]simba.Holder, error) {
	const atOnce = 1000
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	if len(names) == 0 {
		return c.Holders(ctx)
	}
	var holders []simba.Holder
	for some := range slices.Chunk(names, atOnce) {
		more, err := c.Holders(ctx, some...)
		if err != nil {
			return nil, err
		}
		holders = append(holders, more...)
	}
	return holders, nil
}
