package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
		Args:  oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, p, err := load(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], ".json") + ".html"
			}
			l, err := p.live(t.Decisions.Chooser(), true)
			if err != nil {
				return err
			}
			if err := l.writePage(out, p.title(t.Seed), "go run ./cmd/simba-sim replay "+args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d entries; open it in a browser\n", out, len(l.entries))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the page to this file (default: FILE with .html)")
	return cmd
}

// title says which world it is.
func (p plan) title(seed *uint64) string {
	switch {
	case p.scenario != nil:
		return p.scenario.Title
	case seed != nil:
		return fmt.Sprintf("The world of seed %d", *seed)
	}
	return "A simulated world"
}

// introduce writes what a scenario is about.
func (p plan) introduce(w io.Writer) {
	if p.scenario != nil {
		fmt.Fprintf(w, "%s\n%s\n", p.scenario.Title, strings.TrimSpace(p.scenario.Story))
		fmt.Fprintln(w)
	}
}

// writePage writes the timeline of a world, and how to see it again.
func (l *lived) writePage(path, title, again string) error {
	s := report.Story{
		Title:   title,
		Command: again,
		Params: []report.Param{
			{Name: "lease", Value: l.Params.Lease.String()},
			{Name: "renew interval", Value: l.Params.RenewInterval.Round(time.Millisecond).String()},
			{Name: "drift", Value: fmt.Sprint(l.Params.Drift)},
			{Name: "margin", Value: l.Params.Margin.String()},
			{Name: "decisions", Value: fmt.Sprint(len(l.decisions))},
		},
		Length: time.Duration(l.Now()),
		// A violation has a place of its own.
		Entries: slices.DeleteFunc(slices.Clone(l.entries), func(e sim.Entry) bool { return e.Kind == sim.KindViolation }),
	}
	var v *sim.Violation
	if errors.As(l.err, &v) {
		s.Violation = v
	}
	var page bytes.Buffer
	if err := report.Write(&page, s); err != nil {
		return err
	}
	return writeFile(path, page.Bytes(), "page")
}
