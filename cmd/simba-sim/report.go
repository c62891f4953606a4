package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simba-go/simba/cmd/simba-sim/internal/report"
	"github.com/simba-go/simba/sim"
)

func reportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Write the timeline of a trace's world as a page for a browser",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := readTrace(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], ".json") + ".html"
			}
			l := live(t.Decisions.Chooser(), true)
			var page bytes.Buffer
			if err := report.Write(&page, l.story(t, args[0])); err != nil {
				return err
			}
			if err := os.WriteFile(out, page.Bytes(), 0o644); err != nil {
				return fmt.Errorf("the page could not be written: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d entries, %d KB; open it in a browser\n", out, len(l.entries), page.Len()/1024)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the page to this file (default: FILE with .html)")
	return cmd
}

// story is what the page shows.
func (l *lived) story(t trace, path string) report.Story {
	s := report.Story{
		Title:   "A simulated world",
		Command: "go run ./cmd/simba-sim replay " + path,
		Params: []report.Param{
			{Name: "lease", Value: l.Params.Lease.String()},
			{Name: "renew interval", Value: l.Params.RenewInterval.String()},
			{Name: "drift", Value: fmt.Sprint(l.Params.Drift)},
			{Name: "margin", Value: l.Params.Margin.String()},
			{Name: "decisions", Value: fmt.Sprint(len(l.decisions))},
		},
		Length:  time.Duration(l.Now()),
		Entries: slices.DeleteFunc(slices.Clone(l.entries), func(e sim.Entry) bool { return e.Kind == sim.KindViolation }), // it has a place of its own
	}
	if t.Seed != nil {
		s.Title = fmt.Sprintf("The world of seed %d", *t.Seed)
	}
	var v *sim.Violation
	if errors.As(l.err, &v) {
		s.Violation = v
	}
	return s
}
