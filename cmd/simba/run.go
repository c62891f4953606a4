package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/cmd/simba/internal/child"
	"github.com/spf13/cobra"
)

const runHelp = `Contend for NAME, and run CMD while leading: in one place at a time, and in another
one when this one fails.

When CMD exits with 0 its work is done: the lease is released, and simba exits with
0. Otherwise simba steps down, and contends again after a pause that grows with each
failure; others come first. With --once it exits with CMD's code instead.

With --policy simba goes on whatever CMD exits with, until it is asked to end:
  hold      it keeps the lease, and runs CMD again in its next term only
  restart   it runs CMD again in the same term
  stepdown  it steps down, and contends again
The last two come after a pause, unless CMD ran for a third of the lease and exited
with 0.

CMD, with all that it has started, is asked to end with SIGTERM and killed after the
grace: when simba gets SIGTERM, SIGINT or SIGHUP, when simba stepdown says so, when
renewals fail, or when the store says that the lease is lost. It never runs past the
moment at which others may get the lease, except if the store gave that away early;
--grace 0s then kills it at once. A second signal kills it at once too. If simba itself
is killed, so is CMD. SIGUSR1 and SIGUSR2 are passed on to CMD.

CMD gets SIMBA_NAME, SIMBA_TOKEN and SIMBA_SESSION.`

const runExamples = `  simba run nightly-report -- ./report.sh
  simba run mailer --lease 5s --grace 2s -- ./mailer --queue prod
  simba run address --policy hold -- ip address add 10.0.0.7/24 dev eth0`

type runFlags struct {
	grace  positiveOrZero
	once   bool
	policy policy
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{grace: defaultGrace}
	cmd := &cobra.Command{
		Use:               "run NAME [flags] -- CMD ARG...",
		Short:             "Run CMD while leading, again and again until it succeeds",
		Long:              runHelp,
		Example:           runExamples,
		GroupID:           groupRun,
		Annotations:       commandTaker,
		Args:              nameAndCommand,
		ValidArgsFunction: completeCommand,
		RunE: runE(func(ctx context.Context, args []string) error {
			if f.once && f.policy.given() {
				return usagef("--once and --policy exclude each other: with --once simba ends when CMD does")
			}
			return a.run(ctx, args[0], args[1:], f)
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&f.grace, "grace", graceUsage)
	cmd.Flags().BoolVar(&f.once, "once", false, "exit with CMD's code when it ends, whatever it is")
	cmd.Flags().Var(&f.policy, "policy", "go on when CMD ends, whatever its code: hold, restart or stepdown")
	if err := cmd.RegisterFlagCompletionFunc("policy", completePolicy); err != nil {
		panic(err) // there is no such flag
	}
	return cmd
}

// campaign is one simba run.
type campaign struct {
	*work
	once   bool
	policy policy
	log    *slog.Logger

	result outcome       // of the last run
	over   chan struct{} // closed when that settles it
}

func (a *app) run(ctx context.Context, name string, cmd []string, f *runFlags) error {
	c, err := a.connectToWork(ctx, cmd)
	if err != nil {
		return err
	}
	r := &campaign{
		work: newWork(cmd, time.Duration(f.grace.duration), a.signals, c),
		once: f.once, policy: f.policy, log: a.global.logger(), over: make(chan struct{}),
	}
	election, err := c.Run(name, r.lead, f.policy.options()...)
	if err != nil {
		return errors.Join(err, c.hangUp(a.signals))
	}
	hangUp := a.reachable(c, election)
	a.narrate(ctx, c, name)
	select {
	case <-r.over:
	case <-ctx.Done():
	case <-election.Done():
	}
	hangUp()
	return r.end(ctx)
}

// lead is the task of the election: one run of CMD. What follows is a policy.
func (r *campaign) lead(ctx context.Context, t *simba.Term) error {
	select {
	case <-r.over:
		return nil // elected or run once more before the election could be stopped
	default:
	}
	r.result = r.under(ctx, t)
	if r.settled() {
		close(r.over)
		return nil
	}
	err := r.result.error()
	r.say(t, err)
	return err
}

// say tells why CMD has ended, and what follows. Who was told to step down has said so.
func (r *campaign) say(t *simba.Term, err error) {
	log := r.log.With("name", t.Name(), "token", t.Token())
	switch {
	case r.result.asked:
	case r.result.lost != nil:
		log.Warn("simba: contending again", "because", oneLine(err))
	case err != nil:
		log.Warn("simba: "+r.policy.follows(), "because", oneLine(err))
	default:
		log.Info("simba: "+r.policy.follows(), "because", "CMD has ended")
	}
}

// settled reports whether there is no reason to go on.
func (r *campaign) settled() bool {
	var start *child.StartError
	o := r.result
	switch {
	case r.once, r.signals.asked.Err() != nil, o.exit.Interrupted:
		return true
	case o.lost != nil:
		return false
	case errors.As(o.err, &start):
		return true // it will not start the next time either
	case o.asked, r.policy.given():
		return false
	}
	return o.error() == nil
}

// end is what the process exits with, after the last run.
func (r *campaign) end(ctx context.Context) error {
	select {
	case <-r.over:
		return r.result.error()
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("the election has ended by itself")
}
