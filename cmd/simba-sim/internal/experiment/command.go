package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const help = `Let many worlds live in which one value varies and all others stay, and measure what
comes of it: how long a failover takes after a crash, how long nobody leads, how many
terms are lost for nothing, how many calls to the backend it takes.

In each world the leader crashes, is cut off from the backend for two leases, and is
paused, in turn, again and again; in the experiments pause, drift and jump it suffers
one sort of faults only.

Clocks are faster or slower than the backend's by --drift. As long as that is at most
--bound, and the backend's clock does not jump, every rule is checked, and a broken one
ends the experiment. Beyond that, two leaders at once are expected, and counted: how
often, for how long, and what becomes of the writes of the one that should not write.`

const examples = `  simba-sim experiment lease
  simba-sim experiment lease --values 2s,4s,8s --worlds 500
  simba-sim experiment drift jump --out figures
  simba-sim experiment --loss 5% --json`

// options are the flags.
type options struct {
	base   Setup
	values []string
	worlds int
	seed   uint64
	out    string
	json   bool
}

// Command returns the command "experiment".
func Command() *cobra.Command {
	o := &options{base: base(), worlds: 100}
	cmd := &cobra.Command{
		Use:       "experiment [KIND...]",
		Short:     "Measure failover, availability and calls in many worlds, and plot them",
		Long:      help + "\n\n" + listKinds(),
		Example:   examples,
		ValidArgs: kindNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func listKinds() string {
	var b strings.Builder
	b.WriteString("Kinds of experiments, all if none is given:\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-8s %s\n", k.name, k.says)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (o *options) register(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringSliceVar(&o.values, "values", nil, "values that the experiment tries, such as 1s,2s,5s; it takes one KIND")
	f.IntVar(&o.worlds, "worlds", o.worlds, "how many worlds live for each value")
	f.Uint64Var(&o.seed, "seed", 0, "the seed of the first; the same seed finds the same")
	f.StringVar(&o.out, "out", "", "write CSV files and figures, as SVG and PNG, into this folder")
	f.BoolVar(&o.json, "json", false, "print what was found as JSON")
	for _, k := range kinds {
		if k.name == "jump" {
			continue // there is none but in its own experiment
		}
		what, _, _ := strings.Cut(k.says, ";")
		f.Var(&flagValue{k, &o.base}, k.name, what)
	}
	f.Var(&flagValue{bound, &o.base}, "bound", "the drift that clients allow for")
	f.Var(&flagValue{every, &o.base}, "every", "mean time from one fault to the next")
	f.IntVar(&o.base.Faults, "faults", o.base.Faults, "how many faults each world goes through")
}

// They are no experiments, and written like them.
var every = &kind{name: "every", of: seconds, set: func(s *Setup, x float64) { s.Every = duration(x) }, get: func(s *Setup) float64 { return s.Every.Seconds() }}
var bound = &kind{name: "bound", of: share, set: func(s *Setup, x float64) { s.Bound = x }, get: func(s *Setup) float64 { return s.Bound }}

// flagValue is a flag for one value of a setup.
type flagValue struct {
	kind  *kind
	setup *Setup
}

// Set takes what a person has written.
func (v *flagValue) Set(text string) error {
	x, err := v.kind.of.parse(text)
	if err != nil {
		return fmt.Errorf("it must be %s", v.kind.of.must)
	}
	v.kind.set(v.setup, x)
	return nil
}

// String is the value as a person writes it.
func (v *flagValue) String() string {
	if v.kind == nil { // a zero value, which pflag makes
		return ""
	}
	return v.kind.of.write(v.kind.get(v.setup))
}

// Type is the word for it in the help.
func (v *flagValue) Type() string {
	switch {
	case v.kind.of.scale == 100:
		return "share"
	case v.kind.of.must == count.must:
		return "n"
	}
	return "duration"
}

func (o *options) run(ctx context.Context, names []string, out, progress io.Writer) error {
	sweeps, err := o.sweeps(names, progress)
	if err != nil {
		return err
	}
	if err := o.folder(); err != nil {
		return err
	}
	var results []*Result
	for _, s := range sweeps {
		r, err := s.run(ctx)
		if err != nil {
			return err
		}
		if o.out != "" {
			if err := r.write(o.out); err != nil {
				return err
			}
		}
		if !o.json {
			r.print(out)
		}
		results = append(results, r)
	}
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	if o.out != "" {
		fmt.Fprintf(out, "CSV files and figures are in %s.\n", o.out)
	}
	return nil
}

// sweeps are the experiments that were asked for. All of them are checked before the
// first one runs.
func (o *options) sweeps(names []string, progress io.Writer) ([]*sweep, error) {
	if o.worlds < 1 {
		return nil, fmt.Errorf("--worlds is %d; it must be 1 or more", o.worlds)
	}
	if err := o.base.validate(); err != nil {
		return nil, err
	}
	if o.values != nil && len(names) != 1 {
		return nil, fmt.Errorf("--values is for one kind of experiment, and there are %d; name one of %s", len(names), strings.Join(kindNames(), ", "))
	}
	if len(names) == 0 {
		names = kindNames()
	}
	var sweeps []*sweep
	for _, name := range names {
		k, err := kindOf(name)
		if err != nil {
			return nil, err
		}
		s := &sweep{kind: k, base: o.base, worlds: o.worlds, seed: o.seed, progress: tell(progress, name)}
		values := k.values
		if o.values != nil {
			values = o.values
		}
		if s.values, err = k.points(o.base, values); err != nil {
			return nil, err
		}
		sweeps = append(sweeps, s)
	}
	return sweeps, nil
}

func (o *options) folder() error {
	if o.out == "" {
		return nil
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// tell returns a progress function, which says every few seconds how far a sweep is.
func tell(w io.Writer, name string) func(done, all int) {
	const often = 2 * time.Second
	var last time.Time
	return func(done, all int) {
		now := time.Now()
		if last.IsZero() {
			last = now
		}
		if now.Sub(last) >= often {
			last = now
			fmt.Fprintf(w, "experiment %s: %d of %d worlds\n", name, done, all)
		}
	}
}
