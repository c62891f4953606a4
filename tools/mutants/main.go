// Command mutants plants bugs in the module, one at a time, and lets the simulated worlds look for them: a check that
// cannot fail proves nothing. It fails if the invariant that a bug names does not catch it within so many seeds, or if too
// few of them shrink to a world that a person can follow. docs/mutants.md says more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

// bugs is where the planted bugs are, below the module's root.
const bugs = "sim/mutants"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are what the command line says.
type options struct {
	root, keep string
	pkg        string
	json, list bool
	dry        bool
	seeds      int
	shrink     time.Duration
	workers    int
	names      []string
}

func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: mutants [flags] [NAME...]\n\nPlants the bugs of "+bugs+" one at a time, and fails if the simulator misses one.")
		f.PrintDefaults()
	}
	f.StringVar(&o.root, "root", "", "the module's `folder` (default: the nearest one above with a folder "+bugs+")")
	f.StringVar(&o.pkg, "pkg", "./props_test", "the `package` whose TestSafety and TestWorld look for the bugs")
	f.StringVar(&o.keep, "keep", "", "keep each bug's overlay.json in this `folder`, for go run -overlay")
	f.BoolVar(&o.json, "json", false, "print the results as JSON")
	f.BoolVar(&o.list, "list", false, "say what the bugs are, and run nothing")
	f.BoolVar(&o.dry, "n", false, "only see that the bugs apply and compile")
	f.IntVar(&o.seeds, "seeds", 5000, "that a bug may take")
	f.DurationVar(&o.shrink, "shrink", 10*time.Second, "how long rapid may shrink a world; 0 leaves that out")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "bugs that are examined at once")
	err := f.Parse(args)
	o.names = f.Args()
	return o, err
}

// run returns the exit code: 1 if a mutant has a problem, and 2 if nothing could be found out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	ok, err := o.execute(ctx, stdout, stderr)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "mutants:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

func (o options) execute(ctx context.Context, stdout, stderr io.Writer) (ok bool, err error) {
	root, err := findRoot(o.root)
	if err != nil {
		return false, err
	}
	all, err := load(filepath.Join(root, bugs))
	if err != nil {
		return false, err
	}
	chosen, err := choose(all, o.names)
	if err != nil {
		return false, err
	}
	if o.list {
		return true, list(stdout, chosen)
	}
	l, cleanUp, err := o.lab(root)
	if err != nil {
		return false, err
	}
	defer cleanUp()
	p := newProgress(stderr, len(chosen))
	defer p.clear()
	if !o.dry {
		p.say("without a bug")
		if err := l.check(ctx); err != nil {
			return false, err
		}
	}
	results := each(chosen, o.workers, func(m mutant) result { return l.examine(ctx, m) }, p.done)
	p.clear()
	if ctx.Err() != nil {
		return false, errors.New("interrupted")
	}
	s := summary{results: results, whole: len(o.names) == 0 && !o.dry && o.shrink > 0, dry: o.dry}
	return s.ok(), s.write(stdout, o.json)
}

func (o options) lab(root string) (l *lab, cleanUp func(), err error) {
	l = &lab{
		dry: o.dry, root: root, pkg: o.pkg, seeds: o.seeds, baseline: min(300, o.seeds),
		shrink: o.shrink, limit: 2 * time.Minute,
	}
	if o.keep != "" {
		l.dir, err = filepath.Abs(o.keep)
		return l, func() {}, err
	}
	l.dir, err = os.MkdirTemp("", "mutants-")
	return l, func() { os.RemoveAll(l.dir) }, err
}

// findRoot looks for the module upwards from the working folder, if none is given.
func findRoot(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, bugs)); err == nil && info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no folder %s in %s or above it: name the module's root with -root", bugs, dir)
		}
	}
}
