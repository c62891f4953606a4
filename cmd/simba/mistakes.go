package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand says which commands the user may have meant.
func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	var names []string
	for _, sub := range root.Commands() {
		if listed(sub) {
			names = append(names, sub.Name())
		}
	}
	return usagef("unknown command %q; there are %s", name, strings.Join(names, ", "))
}

// flagError explains what is wrong with a flag.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0)) // whose flags are not known either
	}
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		return a.unknownFlag(cmd, unknown)
	case errors.As(err, &invalid):
		return usagef("--%s: %w", invalid.GetFlag().Name, errors.Unwrap(invalid))
	}
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

func (a *app) unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	name := "--" + e.GetSpecifiedName()
	if shorthands := e.GetSpecifiedShortnames(); shorthands != "" {
		name = "-" + shorthands
	}
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	if near := nearestFlag(cmd.Flags(), e.GetSpecifiedName()); near != "" {
		hint = "did you mean --" + near + "?"
	} else if takesCommand(cmd) && !slices.Contains(a.args, "--") {
		hint = "if it is for CMD, write -- before CMD: " + cmd.UseLine()
	}
	return usagef("unknown flag %s; %s", name, hint)
}

// nearestFlag returns the flag that is at most two typing mistakes away.
func nearestFlag(flags *pflag.FlagSet, name string) (nearest string) {
	best := 3
	flags.VisitAll(func(f *pflag.Flag) {
		if d := distance(f.Name, name); d < best && d < len(name) && !f.Hidden {
			best, nearest = d, f.Name
		}
	})
	return nearest
}

// distance is how many characters must be added, removed or replaced to make b
// of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
