package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// few is how many decisions a person can follow. So few are wanted of most bugs: of three in four.
const few = 15

// A summary judges all results.
type summary struct {
	results []result
	whole   bool // of all mutants, so that it can be judged how many shrink
	dry     bool // nothing was run
}

// shrinks reports whether rapid has found a small world for the very bug. One that it has shrunk to another is of no help.
func (r result) shrinks() bool {
	return r.Shrunk != nil && r.Shrunk.Decisions <= few && slices.Contains(r.Catchers, r.Shrunk.Invariant)
}

func (s summary) count(is func(result) bool) int {
	n := 0
	for _, r := range s.results {
		if is(r) {
			n++
		}
	}
	return n
}

func (s summary) problems() int { return s.count(func(r result) bool { return r.Problem != "" }) }

func (s summary) shrunk() int { return s.count(result.shrinks) }

func (s summary) shrinksEnough() bool { return !s.whole || 4*s.shrunk() >= 3*len(s.results) }

func (s summary) ok() bool { return s.problems() == 0 && s.shrinksEnough() }

func (s summary) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return s.writeJSON(w)
	}
	if !s.dry {
		if err := s.writeTable(w); err != nil {
			return err
		}
	}
	for _, r := range s.results {
		if r.Problem != "" {
			fmt.Fprintf(w, "%s %s\n", r.Name, strings.TrimSpace(r.Problem))
		}
	}
	_, err := fmt.Fprintln(w, s.line())
	return err
}

func (s summary) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(map[string]any{
		"ok": s.ok(), "mutants": len(s.results), "problems": s.problems(), "shrunk": s.shrunk(), "results": s.results,
	})
}

func (s summary) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MUTANT\tINVARIANT\tSEEDS\tDECISIONS")
	for _, r := range s.results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Name, r.caught(), r.seeds(), r.decisions())
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// line sums it up, below what is wrong, where a person looks first.
func (s summary) line() string {
	good, all := len(s.results)-s.problems(), len(s.results)
	if s.dry {
		return fmt.Sprintf("%d of %d bugs apply and compile", good, all)
	}
	line := fmt.Sprintf("%d of %d bugs caught by the invariant that they name, %d shrunk to at most %d decisions", good, all, s.shrunk(), few)
	if !s.shrinksEnough() {
		line += ", which must be three in four"
	}
	return line
}

func (r result) caught() string {
	if r.Caught == nil {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.Caught.Invariant, r.Caught.Name))
}

func (r result) seeds() string {
	if r.Caught == nil {
		return "-"
	}
	return fmt.Sprint(r.Caught.Seeds)
}

// decisions names the invariant if rapid has ended at one that the mutant does not name.
func (r result) decisions() string {
	switch {
	case r.Shrunk == nil:
		return "-"
	case !slices.Contains(r.Catchers, r.Shrunk.Invariant):
		return fmt.Sprintf("%d (invariant %d)", r.Shrunk.Decisions, r.Shrunk.Invariant)
	}
	return fmt.Sprint(r.Shrunk.Decisions)
}

// list says what the bugs are.
func list(w io.Writer, mutants []mutant) error {
	for _, m := range mutants {
		if _, err := fmt.Fprintf(w, "%s (invariant %s)\n\t%s\n", m.name, oneOf(m.catchers), m.bug); err != nil {
			return err
		}
	}
	return nil
}

// progress is one line that changes, for a person at a terminal; nothing for anybody else.
type progress struct {
	w           io.Writer // nil without a terminal
	total, seen int
}

func newProgress(w io.Writer, total int) *progress {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{w: w, total: total}
		}
	}
	return &progress{total: total}
}

func (p *progress) done(r result) {
	p.seen++
	p.say(r.Name)
}

func (p *progress) say(what string) {
	if p.w != nil {
		fmt.Fprintf(p.w, "\r\033[K%d of %d: %s", p.seen, p.total, what)
	}
}

func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
