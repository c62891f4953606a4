package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

const migrateHelp = `Make the tables that simba needs in a database, or bring them to the version of this
program. If they are there already it does nothing, and several may do it at once.

It takes a user who may do so; those who use the tables need fewer privileges. --print
prints the SQL in place of running it, for administrators who do that themselves, and
connects to nothing.`

func (a *app) migrateCommand() *cobra.Command {
	var print bool
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Make the tables in a PostgreSQL or MySQL database",
		Long:    migrateHelp,
		Example: "  simba migrate --backend postgres://admin@db/app\n  simba migrate --backend mysql://db/app --print | mysql app",
		GroupID: groupMore,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("simba migrate takes no argument, and got %q", args[0])
			}
			return nil
		},
		RunE: runE(func(ctx context.Context, _ []string) error { return a.migrate(ctx, print) }),
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the SQL, and do nothing")
	return cmd
}

func (a *app) migrate(ctx context.Context, print bool) error {
	s, url, err := a.chosen()
	if err != nil {
		return err
	}
	if s.migrate == nil {
		return usagef("%s: needs no migration; simba migrate is for %s", s.name, strings.Join(migratory(), " and "))
	}
	if print {
		script, err := s.script(url)
		if err != nil {
			return err
		}
		fmt.Print(script)
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	if err := s.migrate(ctx, url); err != nil {
		return causeOf(ctx, unavailable(redact(err, url)))
	}
	fmt.Fprintln(os.Stderr, "simba: the tables are there, in the version of this program")
	return nil
}

// migratory is the schemes that have tables.
func migratory() (usages []string) {
	for _, s := range schemes {
		if s.migrate != nil {
			usages = append(usages, s.usage)
		}
	}
	return usages
}
