package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows how far something is, on one line of a terminal, or now and then
// on a line of its own elsewhere. What is done within two seconds shows nothing.
type progress struct {
	w        io.Writer
	terminal bool
	next     time.Time
	shown    bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, next: time.Now().Add(2 * time.Second)}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) show(format string, args ...any) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
		p.next, p.shown = now.Add(200*time.Millisecond), true
		return
	}
	fmt.Fprintln(p.w, text)
	p.next = now.Add(10 * time.Second)
}

// clear removes what is on the terminal's line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
