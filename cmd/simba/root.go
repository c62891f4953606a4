package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// app is what all commands share.
type app struct {
	args    []string
	signals *signals
	global  globalFlags
}

const (
	groupRun  = "run"
	groupLook = "look"
	groupTell = "tell"
	groupMore = "more"
)

const rootHelp = `simba runs commands in one place at a time, under leases of a store that you already
have.

Whoever leads has a term with a token that only grows. CMD gets it as SIMBA_TOKEN:
hand it on to what CMD writes to, which should refuse a smaller one after a larger
one. Without it, a CMD that was paused at the wrong moment could still write.`

const rootExamples = `  simba demo
  simba run nightly-report -- ./report.sh
  simba lock deploy --timeout 1m -- ./deploy.sh
  simba schedule report --cron '0 3 * * *' --tz Europe/Berlin -- ./report.sh
  simba status --json
  simba stepdown nightly-report`

// root returns the whole command line.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "simba",
		Short:         "Run commands in one place at a time",
		Long:          rootHelp,
		Example:       rootExamples,
		Annotations:   map[string]string{endOfHelp: exitCodes},
		Version:       version(),
		SilenceErrors: true, // report prints them, in one line
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(a.args)
	root.Flags().SortFlags = false
	cobra.EnableCommandSorting = false // a setting of the whole process, which this is
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(a.flagError)
	root.SetHelpFunc(help)
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run a command:"},
		&cobra.Group{ID: groupLook, Title: "Look at leases, without contending for them:"},
		&cobra.Group{ID: groupTell, Title: "Tell a leader:"},
		&cobra.Group{ID: groupMore, Title: "More:"},
	)
	root.SetCompletionCommandGroupID(groupMore)
	a.global.register(root.PersistentFlags())
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.runCommand(), a.lockCommand(), a.scheduleCommand(), a.statusCommand(), a.watchCommand(),
		a.stepDownCommand(), a.demoCommand(), a.migrateCommand())
	root.AddCommand(a.demoInternals()...)
	return root
}

// helpCommand is cobra's, but an unknown topic is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		GroupID: groupMore,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), args[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, sub := range cmd.Root().Commands() {
				if listed(sub) && len(args) == 0 {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// runE makes a command's function return nothing but an *exitError.
func runE(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd.Context(), args); err != nil {
			return exitOf(err)
		}
		return nil
	}
}

// version is what the build says about itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown), " + runtime.Version()
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" })
	if i >= 0 {
		v += fmt.Sprintf(", revision %.12s", info.Settings[i].Value)
	}
	return fmt.Sprintf("%s, %s %s/%s", v, info.GoVersion, runtime.GOOS, runtime.GOARCH)
}
