package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/simba-go/simba/cmd/simba/internal/tty"
)

// view shows the demo: what happens as lines, and on a terminal, below them, a
// board that moves.
type view struct {
	file  *os.File
	live  bool // it is a terminal
	color bool
	start time.Time
	board []string // as shown now
}

func newView(f *os.File) *view {
	live := tty.IsTerminal(f)
	return &view{file: f, live: live, color: live && os.Getenv("NO_COLOR") == "", start: time.Now()}
}

// The styles, as parameters of an escape sequence.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (v *view) styled(style, text string) string {
	if !v.color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (v *view) title(format string, args ...any) {
	v.lines(v.styled(bold, fmt.Sprintf(format, args...)), "")
}

// event says what has happened now.
func (v *view) event(format string, args ...any) {
	stamp := fmt.Sprintf("%6.2fs", time.Since(v.start).Seconds())
	v.lines(v.styled(dim, stamp) + "  " + fmt.Sprintf(format, args...))
}

// verdict says what was checked.
func (v *view) verdict(format string, args ...any) {
	v.lines("      " + v.styled(green, "✓") + "  " + fmt.Sprintf(format, args...))
}

// lines prints for good, above the board.
func (v *view) lines(lines ...string) {
	var out bytes.Buffer
	v.erase(&out)
	for _, l := range lines {
		out.WriteString(l + "\n")
	}
	v.paint(&out)
	v.file.Write(out.Bytes())
}

// draw replaces the board.
func (v *view) draw(board []string) {
	if !v.live {
		return
	}
	var out bytes.Buffer
	v.erase(&out)
	v.board = board
	v.paint(&out)
	v.file.Write(out.Bytes())
}

// done leaves what has happened, without the board.
func (v *view) done() { v.draw(nil) }

// erase moves the cursor to where the board begins, and clears the rest.
func (v *view) erase(out *bytes.Buffer) {
	if len(v.board) > 0 {
		fmt.Fprintf(out, "\x1b[%dA\x1b[J", len(v.board))
	}
}

// paint writes the board. Its lines must not wrap: erase counts them.
func (v *view) paint(out *bytes.Buffer) {
	width := tty.Width(v.file)
	for _, l := range v.board {
		out.WriteString(cut(l, width) + "\n")
	}
}

// cut shortens a line to a width, without counting or losing escape sequences.
func cut(line string, width int) string {
	if width <= 0 {
		return line
	}
	var out strings.Builder
	column, escaped := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escaped = true
		case escaped:
			escaped = r != 'm'
		case column >= width:
			continue
		default:
			column++
		}
		out.WriteRune(r)
	}
	return out.String()
}

// board is what goes on now, a line for each process and one for the lease.
func (d *demo) board() []string {
	v, leader := d.view, d.journal.current()
	lines := []string{""}
	for _, n := range d.nodes {
		lines = append(lines, fmt.Sprintf("   %s  pid %-7d  %s", n.label, n.pid, v.state(n, leader)))
	}
	return append(lines, "", "   "+v.lease(d.store, d.app.global.lease), "")
}

func (v *view) state(n *node, leader reign) string {
	switch {
	case n.killed:
		return v.styled(red, "✗ killed")
	case n.over():
		return v.styled(dim, "- ended")
	case n.label == leader.label && leader.ended.IsZero():
		return v.styled(green, fmt.Sprintf("● leads, and has written %d times", leader.works))
	}
	return v.styled(dim, "○ waits")
}

// lease shows how the holder's lease runs down, and is renewed, or is not.
func (v *view) lease(l *lookout, full time.Duration) string {
	const cells = 20
	h, left := l.seen()
	if !h.Held {
		return "lease   nobody"
	}
	filled := min(cells, int(cells*left/full))
	style := green
	switch {
	case left < full/4:
		style = red
	case left < full/2: // a renewal is overdue
		style = yellow
	}
	bar := v.styled(style, strings.Repeat("█", filled)) + v.styled(dim, strings.Repeat("░", cells-filled))
	return fmt.Sprintf("lease   %s, token %d  %s %.1fs", h.Label, h.Token, bar, left.Seconds())
}
