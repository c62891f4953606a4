// Command task sends letters, in one of the processes that are started with the same folder. How far it has come is in
// a file that is written under the fencing token. When a process is asked to end, it finishes the letter in hand before
// the next one goes on; when it is killed, the next one goes on once the lease is over.
//
// Start it in several terminals. End one with Ctrl+C and another one with SIGKILL, and see who goes on where.
//
//	go run ./examples/task [FOLDER]
package main

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/sqlite"
	"github.com/simba-go/simba/fence/fencefile"
)

const (
	lease  = 2 * time.Second // short, for who is watching
	letter = 300 * time.Millisecond
)

var out = log.New(os.Stdout, "", 0)

func main() {
	dir := filepath.Join(os.TempDir(), "simba-task")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := takePart(dir); err != nil {
		log.Fatal(err)
	}
}

// takePart runs until the process is asked to end.
func takePart(dir string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	client, err := simba.Open(ctx, store, simba.WithLease(lease), simba.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	// Close ends the task: it cancels its context, waits for it, and lets another process go on.
	defer func() { err = errors.Join(err, client.Close(context.Background())) }()

	progress := &progress{path: filepath.Join(dir, "sent")}
	progress.guard = fencefile.New(progress.path)
	// A task that has failed lets another process try. With simba.Restart it would start again here.
	if _, err := client.Run("mailer", progress.send, simba.OnFailure(simba.Yield)); err != nil {
		return err
	}
	out.Printf("process %d takes part in %s", os.Getpid(), dir)
	<-ctx.Done()
	return nil
}

// progress is how many letters were sent.
type progress struct {
	path  string
	guard *fencefile.Guard
}

// send is the task. In a handover its context is cancelled while the term stays valid, so it finishes what it has begun.
func (p *progress) send(ctx context.Context, t *simba.Term) error {
	sent, err := p.load()
	if err != nil {
		return err
	}
	out.Printf("goes on after %d", sent)
	for ctx.Err() == nil {
		time.Sleep(letter) // a step that is not interrupted
		sent++
		if err := p.save(t.Token(), sent); err != nil {
			out.Printf("has not sent %d: %v", sent, err)
			return err
		}
		out.Printf("has sent %d", sent)
	}
	out.Printf("stops after %d: %v", sent, context.Cause(ctx))
	return nil
}

func (p *progress) load() (int, error) {
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// save is refused once a later leader has written. It has a context of its own, because it also writes when the task
// is to end.
func (p *progress) save(token uint64, sent int) error {
	ctx, cancel := context.WithTimeout(context.Background(), lease)
	defer cancel()
	return p.guard.WriteFile(ctx, token, []byte(strconv.Itoa(sent)), 0o644)
}
