package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines and containers without time zones

	"github.com/simba-go/simba"
	"github.com/spf13/cobra"
)

const scheduleHelp = `Contend for NAME, and run CMD again and again while leading. Exactly one of these says
when:

  --every 30s    30s after CMD has ended, and at first when simba is elected
  --rate 30s     each 30s, however long CMD takes, and at first when simba is elected
  --cron LINE    by the wall clock of the time zone --tz. LINE has five fields (minute,
                 hour, day of month, month, day of week), or is one of @hourly, @daily,
                 @weekly, @monthly and @yearly

Runs never overlap: if it is time again while CMD runs, CMD runs once more when it has
ended, however often it was time. A CMD that fails is logged, and runs again the next
time.

With --durable, the store keeps which times are done with: what was due while nobody
led is made up for, by one run, and no time is run twice, wherever CMD has begun to
run. Without it, what was due while nobody led is not made up for.

When a zone's clock is set ahead, a time that is left out runs right after the gap.
When it is set back, a time that comes twice runs the first time. A LINE for each hour
of the day goes by real time instead.

CMD is asked to end with SIGTERM and killed after the grace, as by simba run, when
simba is asked to end, when simba stepdown says so, or when the lease is lost. It never
runs past the moment at which others may get the lease. simba goes on until it is asked
to end by SIGTERM, SIGINT or SIGHUP. SIGUSR1 and SIGUSR2 are passed on to CMD.

CMD gets SIMBA_NAME, SIMBA_TOKEN and SIMBA_SESSION.`

const scheduleExamples = `  simba schedule mailbox --every 30s -- ./fetch.sh
  simba schedule report --durable \
      --cron '0 3 * * *' --tz Europe/Berlin -- ./report.sh
  simba schedule metrics --rate 1m --jitter 10s -- ./push.sh`

type scheduleFlags struct {
	every, rate   duration
	cron, zone    string
	delay, jitter duration
	durable       bool
	grace         positiveOrZero
	cmd           *cobra.Command
}

func (a *app) scheduleCommand() *cobra.Command {
	f := &scheduleFlags{grace: defaultGrace}
	cmd := &cobra.Command{
		Use:               "schedule NAME [flags] -- CMD ARG...",
		Short:             "Run CMD again and again while leading, at set times",
		Long:              scheduleHelp,
		Example:           scheduleExamples,
		GroupID:           groupRun,
		Annotations:       commandTaker,
		Args:              nameAndCommand,
		ValidArgsFunction: completeCommand,
		RunE: runE(func(ctx context.Context, args []string) error {
			return a.schedule(ctx, args[0], args[1:], f)
		}),
	}
	f.register(cmd)
	return cmd
}

func (f *scheduleFlags) register(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&f.every, "every", "run so long after the end of the last run")
	cmd.Flags().Var(&f.rate, "rate", "run so often, however long CMD takes")
	cmd.Flags().StringVar(&f.cron, "cron", "", "run by this cron `LINE`, such as '0 3 * * *'")
	cmd.Flags().StringVar(&f.zone, "tz", "", "time `ZONE` of --cron, such as Europe/Berlin or UTC")
	cmd.Flags().Var(&f.delay, "delay", "do not run for so long after simba was elected")
	cmd.Flags().Var(&f.jitter, "jitter", "run later by a random time below this")
	cmd.Flags().BoolVar(&f.durable, "durable", false, "keep at the store what has run, for --rate and --cron")
	cmd.Flags().Var(&f.grace, "grace", graceUsage)
}

// when returns what the flags say, or what is wrong with them.
func (f *scheduleFlags) when() (when simba.When, opts []simba.ScheduleOption, err error) {
	given := func(flag string) bool { return f.cmd.Flags().Changed(flag) }
	var ways []string
	for _, way := range []string{"every", "rate", "cron"} {
		if given(way) {
			ways = append(ways, "--"+way)
		}
	}
	switch {
	case len(ways) == 0:
		return when, nil, usagef("nothing says when CMD runs; give one of --every, --rate and --cron")
	case len(ways) > 1:
		return when, nil, usagef("%s exclude each other; give one of them", strings.Join(ways, " and "))
	case given("cron") && !given("tz"):
		return when, nil, usagef("--tz is missing; give the time zone of --cron, such as Europe/Berlin or UTC")
	case given("tz") && !given("cron"):
		return when, nil, usagef("--tz is for --cron; leave it out with %s", ways[0])
	case f.durable && given("every"):
		return when, nil, usagef("--durable is for --rate and --cron; --every goes by the end of the last run, and has no times to keep")
	}
	switch ways[0] {
	case "--every":
		when = simba.Every(time.Duration(f.every))
	case "--rate":
		when = simba.Rate(time.Duration(f.rate))
	default:
		when = simba.Cron(f.cron, f.zone)
	}
	opts = []simba.ScheduleOption{simba.InitialDelay(time.Duration(f.delay)), simba.Jitter(time.Duration(f.jitter))}
	if f.durable {
		opts = append(opts, simba.Durable())
	}
	return when, opts, inFlags(simba.CheckSchedule(when, opts...), ways[0])
}

// inFlags names the flags instead of the fields of a schedule.
func inFlags(err error, way string) error {
	flags := map[simba.ScheduleField]string{
		simba.FieldInterval: way, simba.FieldCron: way, simba.FieldZone: "--tz", simba.FieldDelay: "--delay", simba.FieldJitter: "--jitter", simba.FieldDurable: "--durable",
	}
	var wrong []error
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case nil:
		case *simba.ScheduleError:
			wrong = append(wrong, errors.New(flags[e.Field]+": "+e.Problem))
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				walk(err)
			}
		default:
			wrong = append(wrong, err)
		}
	}
	if walk(err); len(wrong) == 0 {
		return nil
	}
	return &exitError{exitUsage, errors.Join(wrong...)}
}

// rounds is one simba schedule.
type rounds struct {
	*work
	once        sync.Once
	interrupted chan struct{} // closed when somebody at the terminal has ended CMD
	result      outcome       // how
}

func (a *app) schedule(ctx context.Context, name string, cmd []string, f *scheduleFlags) error {
	when, opts, err := f.when()
	if err != nil {
		return err
	}
	c, err := a.connectToWork(ctx, cmd)
	if err != nil {
		return err
	}
	r := &rounds{
		work:        newWork(cmd, time.Duration(f.grace.duration), a.signals, c),
		interrupted: make(chan struct{}),
	}
	s, err := c.Schedule(name, when, r.round, opts...)
	if err != nil {
		return errors.Join(err, c.hangUp(a.signals))
	}
	hangUp := a.reachable(c, s)
	a.narrate(ctx, c, name)
	select {
	case <-r.interrupted:
		err = r.result.error()
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.Done():
		err = errors.New("the schedule has ended by itself")
	}
	hangUp()
	return err
}

// round is one run of CMD. The client logs the error that it returns.
func (r *rounds) round(ctx context.Context, t *simba.Term) error {
	o := r.under(ctx, t)
	switch {
	case o.exit.Interrupted:
		r.once.Do(func() {
			r.result = o
			close(r.interrupted)
		})
	case ctx.Err() != nil && o.lost == nil:
		return nil // it was asked to end, and has
	}
	return o.error()
}
