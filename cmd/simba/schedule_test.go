//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/spf13/cobra"
)

// A CMD that fails runs again, in the same term, until simba is asked to end.
func TestScheduleRunsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("schedule", "x", "--every", "1ms", "--", "sh", "-c", `echo "begin $SIMBA_TOKEN"; exit 9`)
	token := p.begins()
	for range 5 {
		if again := p.begins(); again != token {
			t.Errorf("token %d after %d", again, token)
		}
	}
	p.signal(syscall.SIGTERM)
	p.exits(143)
	p.rest()
	if says := p.stderr.String(); !strings.Contains(says, "a run of a schedule failed") || !strings.Contains(says, "exit code 9") {
		t.Errorf("stderr: %q", says)
	}
	if !w.vacant("x") {
		t.Error("the lease was not released")
	}
}

// CMD is asked to end, and the next one begins when it has.
func TestScheduleHandsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("schedule", "x", "--rate", "10ms", "--", "sh", "-c", journaling)
	token := first.begins()
	w.untilJournal(token, 5)
	second := w.start("schedule", "x", "--rate", "10ms", "--", "sh", "-c", journaling)
	first.signal(syscall.SIGTERM)
	first.exits(143)
	next := second.begins()
	if next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	w.untilJournal(next, 5)
	second.signal(syscall.SIGTERM)
	second.exits(143)
	w.checkJournal()
	for _, p := range []*process{first, second} {
		if says := p.stderr.String(); strings.Contains(says, "failed") {
			t.Errorf("a CMD that ends because it was asked to is no failure: %q", says)
		}
	}
}

// A cron line whose time is years away keeps the lease, and does not run CMD.
func TestScheduleByCron(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("schedule", "x", "--cron", "0 0 29 2 *", "--tz", "Australia/Lord_Howe", "--", "sh", "-c", obedient)
	w.until("it leads", func() bool { return !w.vacant("x") })
	p.signal(syscall.SIGTERM)
	p.exits(143)
	if got := p.rest(); got != "" {
		t.Errorf("CMD has run: %q", got)
	}
	if !w.vacant("x") {
		t.Error("the lease was not released")
	}
}

// With --durable, the times that are done with are in the store.
func TestScheduleDurable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 { // an hour apart, which is not over
		p := w.start("schedule", "x", "--rate", "1h", "--durable", "--", "sh", "-c", `echo run >>journal`)
		w.until("it leads", func() bool { return !w.vacant("x") })
		w.until("it has run", func() bool { text, _ := os.ReadFile(w.path("journal")); return len(text) > 0 })
		p.signal(syscall.SIGTERM)
		p.exits(143)
	}
	if text, err := os.ReadFile(w.path("journal")); err != nil || string(text) != "run\n" {
		t.Errorf("CMD has written %q, %v", text, err)
	}
}

// What the flags make of a schedule.
func TestScheduleFlags(t *testing.T) {
	for args, want := range map[string]simba.When{
		"--every 30s":                          simba.Every(30 * time.Second),
		"--rate 1m --jitter 10s --delay 5s":    simba.Rate(time.Minute),
		"--cron @daily --tz Europe/Berlin":     simba.Cron("@daily", "Europe/Berlin"),
		"--tz UTC --cron=0,30\t3-5\t*\t*\tmon": simba.Cron("0,30\t3-5\t*\t*\tmon", "UTC"),
	} {
		f, cmd := &scheduleFlags{}, &cobra.Command{}
		f.register(cmd)
		if err := cmd.ParseFlags(strings.Split(args, " ")); err != nil {
			t.Fatal(err)
		}
		got, opts, err := f.when()
		if err != nil || got != want || len(opts) != 2 {
			t.Errorf("%q: %v, %v, %d options", args, got, err, len(opts))
		}
	}
}
