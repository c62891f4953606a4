package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/simba-go/simba"
	"github.com/spf13/pflag"
)

// globalFlags are those of every command.
type globalFlags struct {
	backend  string
	lease    time.Duration
	renew    time.Duration
	drift    float64
	margin   time.Duration
	id       string
	logLevel slog.Level
	flags    *pflag.FlagSet
}

func (g *globalFlags) register(flags *pflag.FlagSet) {
	g.lease, g.drift, g.margin, g.logLevel = simba.DefaultLease, 0.01, 50*time.Millisecond, slog.LevelWarn
	g.flags = flags
	flags.SortFlags = false
	flags.StringVar(&g.backend, "backend", "",
		"`URL` of the store: "+knownSchemes()+"\n(default $"+backendVar+", or else a SQLite file in your state folder)")
	flags.Var((*duration)(&g.lease), "lease", "how long others wait after a crash of this process")
	flags.Var((*duration)(&g.renew), "renew-interval", "time between renewals (default a third of the lease)")
	flags.Var((*fraction)(&g.drift), "drift", "by how much the rates of two clocks may differ")
	flags.Var((*duration)(&g.margin), "margin", "taken off the lease on top of the drift")
	flags.StringVar(&g.id, "id", "", "what others see as the holder, any `LABEL` (default host:pid)")
	flags.Var((*level)(&g.logLevel), "log-level", "what to log to stderr: debug, info, warn or error")
}

// options are those flags that the user has set: the others have better defaults,
// which depend on each other.
func (g *globalFlags) options() []simba.Option {
	opts := []simba.Option{simba.WithLease(g.lease), simba.WithLogger(g.logger())}
	set := func(flag string, o simba.Option) {
		if g.flags.Changed(flag) {
			opts = append(opts, o)
		}
	}
	set("renew-interval", simba.WithRenewInterval(g.renew))
	set("drift", simba.WithDrift(g.drift))
	set("margin", simba.WithMargin(g.margin))
	set("id", simba.WithLabel(g.id))
	return opts
}

func (g *globalFlags) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: g.logLevel}))
}

// duration is a flag with a unit.
type duration time.Duration

// Set implements [pflag.Value].
func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write a number with a unit, such as 500ms, 15s or 2m", s)
	}
	*d = duration(v)
	return nil
}

// String implements [pflag.Value]. Zero is empty: it is no default to show.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type implements [pflag.Value].
func (d *duration) Type() string { return "duration" }

// positiveOrZero is a duration flag of the command itself.
type positiveOrZero struct{ duration }

// Set implements [pflag.Value].
func (d *positiveOrZero) Set(s string) error {
	if err := d.duration.Set(s); err != nil {
		return err
	}
	if d.duration < 0 {
		return fmt.Errorf("%s is negative; it must be zero or more", s)
	}
	return nil
}

// fraction is a flag with a number that is not a percentage.
type fraction float64

// Set implements [pflag.Value].
func (f *fraction) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number; write a fraction, such as 0.01 for one percent", s)
	}
	*f = fraction(v)
	return nil
}

// String implements [pflag.Value].
func (f *fraction) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

// Type implements [pflag.Value].
func (f *fraction) Type() string { return "fraction" }

// level is a flag with a level of package slog.
type level slog.Level

// Set implements [pflag.Value].
func (l *level) Set(s string) error {
	for _, known := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(s, known.String()) {
			*l = level(known)
			return nil
		}
	}
	return fmt.Errorf("%q is not a level; write debug, info, warn or error", s)
}

// String implements [pflag.Value].
func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Type implements [pflag.Value].
func (l *level) Type() string { return "level" }
