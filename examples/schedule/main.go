// Command schedule runs a function each second, in one of the processes that are started with the same file. The
// schedule is durable: whatever happens to a process, no second has its function twice, and what was missed while
// nobody led is made up for by one run.
//
// Start it in several terminals. End one with Ctrl+C and another one with SIGKILL, and see who goes on.
//
//	go run ./examples/schedule [FILE]
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/sqlite"
	"github.com/simba-go/simba/observe"
)

const (
	interval = time.Second
	lease    = 2 * time.Second // short, for who is watching
)

func main() {
	path := filepath.Join(os.TempDir(), "simba-schedule.db")
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := takePart(path); err != nil {
		log.Fatal(err)
	}
}

// takePart runs until the process is asked to end.
func takePart(path string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	out := log.New(os.Stdout, "", 0)
	client, err := simba.Open(ctx, store, simba.WithLease(lease), simba.WithEvents(tell(out)), simba.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	// Close stops the schedule: it cancels a run, waits for it, and lets another process go on.
	defer func() { err = errors.Join(err, client.Close(context.Background())) }()

	// In place of simba.Rate, simba.Cron("0 3 * * *", "Europe/Berlin") would be each night at three.
	if _, err := client.Schedule("report", simba.Rate(interval), report(out), simba.Durable()); err != nil {
		return err
	}
	out.Printf("process %d takes part in %s", os.Getpid(), path)
	<-ctx.Done()
	return nil
}

// report is the work: it takes a third of a second, and less if it is cancelled.
func report(out *log.Logger) simba.TaskFunc {
	return func(ctx context.Context, t *simba.Term) error {
		// What it writes should go by t.Token(): see package fence.
		select {
		case <-ctx.Done():
			out.Printf("  cancelled: %v", context.Cause(ctx))
			return context.Cause(ctx)
		case <-time.After(interval / 3):
			out.Printf("  done")
			return nil
		}
	}
}

// tell prints what happens.
func tell(out *log.Logger) func(simba.Event) {
	return func(e simba.Event) {
		switch e := e.(type) {
		case observe.Elected:
			out.Printf("leads, with the token %d", e.Token)
		case observe.Revoked:
			out.Printf("leads no more: %v", e.Reason)
		case observe.TicksSkipped:
			out.Printf("ticks that were missed, and have one run with the next: %d", e.Ticks)
		case observe.RunStarted:
			out.Printf("run for %s", time.Unix(0, e.Tick).Format(time.RFC3339Nano))
		case observe.NoteFailed:
			out.Printf("the tick cannot be noted: %v", e.Err)
		}
	}
}
