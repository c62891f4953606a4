package experiment

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"text/tabwriter"
)

// column is a column of the table.
type column struct {
	name string
	cell func(p *Point) string
}

var columns = []column{
	{"failover p50", func(p *Point) string { return short(p.FailoverP50) }},
	{"p99", func(p *Point) string { return short(p.FailoverP99) }},
	{"max", func(p *Point) string { return short(p.FailoverMax) }},
	{"no leader", func(p *Point) string { return fmt.Sprintf("%.2f%%", 100*p.Leaderless) }},
	{"needless/h", func(p *Point) string { return fmt.Sprintf("%.2f", p.NeedlessPerHour) }},
	{"pauses lost", func(p *Point) string { return of(p.Pauses, "%.0f%%", 100*p.PausesLost) }},
	{"calls/s", func(p *Point) string { return fmt.Sprintf("%.2f", p.CallsPerSecond) }},
	{"overlaps", func(p *Point) string { return of(p.Overlaps, "%v", p.Overlaps) }},
	{"per fault", func(p *Point) string { return of(p.Overlaps, "%.0f%%", 100*p.OverlapsPerFault) }},
	{"mean", func(p *Point) string { return short(p.Overlap) }},
	{"stale refused", func(p *Point) string { return fmt.Sprint(p.StaleRefused) }},
	{"accepted", func(p *Point) string { return fmt.Sprint(p.StaleAccepted) }},
}

// of formats what was measured of n things.
func of(n int, format string, x any) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// told are the columns that say something.
func (r *Result) told() (told []column) {
	for _, c := range columns {
		for i := range r.Points {
			if c.cell(&r.Points[i]) != "-" {
				told = append(told, c)
				break
			}
		}
	}
	return told
}

// short is a time in seconds for people.
func short(seconds float64) string {
	switch {
	case seconds == 0:
		return "-"
	case seconds < 1:
		return fmt.Sprintf("%.0fms", 1000*seconds)
	}
	return fmt.Sprintf("%.2fs", seconds)
}

// print writes the table.
func (r *Result) print(w io.Writer) {
	p := &r.Points[0]
	hours := 0.0
	for i := range r.Points {
		hours += r.Points[i].Hours
	}
	fmt.Fprintf(w, "%s: %s. %d worlds for each value, %.0f hours of virtual time.\n", r.Kind, r.kind.says, p.Worlds, hours)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	told, head := r.told(), []string{r.Kind}
	for _, c := range told {
		head = append(head, c.name)
	}
	fmt.Fprintln(t, strings.Join(head, "\t")+"\t")
	outside := false
	for i := range r.Points {
		p := &r.Points[i]
		cells := []string{p.Value}
		if p.Outside {
			cells[0], outside = "* "+p.Value, true
		}
		for _, c := range told {
			cells = append(cells, c.cell(p))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	}
	t.Flush()
	if outside {
		fmt.Fprintln(w, "* outside the assumptions: two leaders at once are expected. The resource that checks tokens accepted no stale write.")
	}
	fmt.Fprintln(w)
}

// write writes the CSV file and the figures into a folder.
func (r *Result) write(folder string) error {
	var table bytes.Buffer
	if err := r.csv(&table); err != nil {
		return err
	}
	path := filepath.Join(folder, r.Kind)
	if err := os.WriteFile(path+".csv", table.Bytes(), 0o666); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return r.plot(path)
}

// csv writes all that was measured. Its columns are called as in JSON.
func (r *Result) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	t := reflect.TypeFor[Point]()
	var head []string
	for i := range t.NumField() {
		head = append(head, t.Field(i).Tag.Get("json"))
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for i := range r.Points {
		var row []string
		v := reflect.ValueOf(r.Points[i])
		for j := range v.NumField() {
			row = append(row, fmt.Sprint(v.Field(j)))
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
