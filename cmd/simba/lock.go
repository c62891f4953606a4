package main

import (
	"context"
	"fmt"
	"time"

	"github.com/simba-go/simba"
	"github.com/spf13/cobra"
)

const lockHelp = `Wait until NAME is free, run CMD once while holding it, release it, and exit with
CMD's code.

--timeout bounds the wait: without it there is no bound, and with 0 simba tries once.
When it is over, the exit code is 75, and CMD was not run. The exit code is 76 if the
term was lost while CMD ran, whatever CMD made of it.

SIGTERM, SIGINT and SIGHUP to simba ask CMD, with all that it has started, to end with
SIGTERM; it is killed after the grace, and never runs past the moment at which others
may get the lease. A second signal kills it at once. If simba itself is killed, so is
CMD. SIGUSR1 and SIGUSR2 are passed on to CMD.

CMD gets SIMBA_NAME, SIMBA_TOKEN and SIMBA_SESSION.`

const lockExamples = `  simba lock deploy --timeout 1m -- ./deploy.sh
  simba lock backup --timeout 0 -- ./backup.sh || echo "another backup runs"`

type lockFlags struct {
	grace   positiveOrZero
	timeout positiveOrZero
	bounded bool // there is a timeout
}

func (a *app) lockCommand() *cobra.Command {
	f := &lockFlags{grace: defaultGrace}
	cmd := &cobra.Command{
		Use:               "lock NAME [flags] -- CMD ARG...",
		Short:             "Run CMD once, while nobody else holds NAME",
		Long:              lockHelp,
		Example:           lockExamples,
		GroupID:           groupRun,
		Annotations:       commandTaker,
		Args:              nameAndCommand,
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&f.timeout, "timeout", "how long to wait for NAME, 0 to try once (default no limit)")
	cmd.Flags().Var(&f.grace, "grace", graceUsage)
	cmd.RunE = runE(func(ctx context.Context, args []string) error {
		f.bounded = cmd.Flags().Changed("timeout")
		return a.lock(ctx, args[0], args[1:], f)
	})
	return cmd
}

func (a *app) lock(ctx context.Context, name string, cmd []string, f *lockFlags) error {
	c, err := a.connectToWork(ctx, cmd)
	if err != nil {
		return err
	}
	w := newWork(cmd, time.Duration(f.grace.duration), a.signals, c)
	err = a.locked(ctx, c, w, name, f)
	if closing := c.hangUp(a.signals); closing != nil {
		a.global.logger().Warn("simba: the lock was not released, and has to run out", "name", name, "err", closing)
	}
	return err
}

func (a *app) locked(ctx context.Context, c *connection, w *work, name string, f *lockFlags) error {
	lock, err := a.acquire(ctx, c, name, f)
	if err != nil {
		return causeOf(ctx, err)
	}
	// CMD stops when we are asked to, and when the term ends.
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(lock.Context(), func() { cancel(context.Cause(lock.Context())) })
	defer stop()
	return w.under(working, lock.Term).error()
}

func (a *app) acquire(ctx context.Context, c *connection, name string, f *lockFlags) (*simba.Lock, error) {
	timeout := time.Duration(f.timeout.duration)
	switch {
	case f.bounded && timeout == 0:
		return c.TryLock(ctx, name)
	case f.bounded:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("gave up after %v", timeout))
		defer cancel()
	}
	waiting, done := context.WithCancel(ctx)
	defer done()
	a.narrate(waiting, c, name)
	return c.Lock(ctx, name)
}
