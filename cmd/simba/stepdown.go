package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/cmd/simba/internal/control"
	"github.com/spf13/cobra"
)

const stepDownHelp = `Tell the simba run or simba schedule that leads NAME to let somebody else have it.

It asks its CMD to end, as it does when it is asked to end itself, releases the lease
when CMD has ended, and contends again after the time that --for says. Whoever waits
takes over at once. simba stepdown returns when the lease is released.

It reaches the processes of this user on this machine. If NAME is led elsewhere, run it
there. A simba lock has one term only: end it with SIGTERM.`

type stepDownFlags struct{ cooldown positiveOrZero }

func (a *app) stepDownCommand() *cobra.Command {
	f := &stepDownFlags{cooldown: positiveOrZero{duration(simba.DefaultLease)}}
	cmd := &cobra.Command{
		Use:               "stepdown NAME",
		Short:             "Tell who leads on this machine to step down",
		Long:              stepDownHelp,
		Example:           "  simba stepdown mailer\n  simba stepdown mailer --for 10m",
		GroupID:           groupTell,
		Annotations:       map[string]string{endOfHelp: exitCodes},
		Args:              oneName,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: runE(func(ctx context.Context, args []string) error {
			return a.stepDown(ctx, args[0], time.Duration(f.cooldown.duration))
		}),
	}
	cmd.Flags().Var(&f.cooldown, "for", "how long it does not contend, counted from now")
	return cmd
}

func (a *app) stepDown(ctx context.Context, name string, cooldown time.Duration) error {
	h, err := a.holderOf(ctx, name)
	if err != nil {
		return err
	}
	if !h.Held {
		return &exitError{exitNobody, fmt.Errorf("nobody leads %q", name)}
	}
	token, err := control.StepDown(ctx, control.Folder(), name, h.Session, cooldown)
	if err != nil {
		return causeOf(ctx, notSteppedDown(err, h))
	}
	_, err = fmt.Printf("%s, which led %q with token %d, has stepped down for %v.\n", printable(h.Label), name, token, cooldown)
	return err
}

// holderOf asks the store: what a name means depends on where it is kept, and only the
// session says which of many processes is meant.
func (a *app) holderOf(ctx context.Context, name string) (simba.Holder, error) {
	c, err := a.connectShared(ctx)
	if err != nil {
		return simba.Holder{}, err
	}
	holders, err := look(ctx, c, []string{name})
	if err := errors.Join(err, c.hangUp(a.signals)); err != nil {
		return simba.Holder{}, causeOf(ctx, unavailable(err))
	}
	return holders[0], nil
}

// notSteppedDown says what has become of the leader, as far as anybody knows.
func notSteppedDown(err error, h simba.Holder) error {
	var silent *control.SilentError
	who := fmt.Sprintf("%q is held by %s (session %s)", h.Name, printable(h.Label), h.Session)
	switch {
	case errors.Is(err, control.ErrNobody):
		return &exitError{exitNobody, fmt.Errorf("%s, which is no simba run or simba schedule of this user on this machine; run simba stepdown where it runs", who)}
	case errors.As(err, &silent):
		return &exitError{exitNobody, fmt.Errorf("%s; %w", who, err)}
	}
	return fmt.Errorf("%s: %w", who, err)
}
