package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// endOfHelp is the annotation of a command with what comes last in its help.
const endOfHelp = "end of help"

// help writes what cobra knows of a command, in the order in which people need it.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintln(w, strings.TrimSpace(text))
	section(w, "Usage:", "  "+usageLine(cmd))
	section(w, "Examples:", cmd.Example)
	for _, g := range cmd.Groups() {
		section(w, g.Title, commandList(cmd, g.ID))
	}
	section(w, "Commands:", commandList(cmd, ""))
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if cmd.HasParent() {
		section(w, "Flags:", flagList(cmd.LocalFlags()))
		section(w, "Flags of every command:", flagList(cmd.InheritedFlags()))
	} else {
		section(w, "Flags of every command:", flagList(cmd.LocalFlags()))
	}
	section(w, "", cmd.Annotations[endOfHelp])
}

func section(w io.Writer, title, text string) {
	text = strings.Trim(text, "\n")
	switch {
	case text == "":
	case title == "":
		fmt.Fprintf(w, "\n%s\n", text)
	default:
		fmt.Fprintf(w, "\n%s\n%s\n", title, text)
	}
}

func usageLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND ..."
	}
	return cmd.UseLine()
}

func commandList(cmd *cobra.Command, group string) string {
	var list strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.GroupID == group && listed(sub) {
			fmt.Fprintf(&list, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	return list.String()
}

// listed is for those that people should know. Cobra does not count help.
func listed(cmd *cobra.Command) bool { return cmd.IsAvailableCommand() || cmd.Name() == "help" }

// flagList is in the order in which the flags were defined.
func flagList(flags *pflag.FlagSet) string {
	flags.SortFlags = false
	return flags.FlagUsages()
}
