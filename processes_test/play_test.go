package processes_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/sqlite"
	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencefile"
)

// The files of a play.
func leases(dir string) string  { return filepath.Join(dir, "leases.db") }
func journal(dir string) string { return filepath.Join(dir, "journal") }
func fenced(dir string) string  { return filepath.Join(dir, "fenced") }

// play is one of the processes. It contends, works while it leads, steps down when it is told to, and ends with its input.
func play(dir, lease string) error {
	duration, err := time.ParseDuration(lease)
	if err != nil {
		return err
	}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, leases(dir))
	if err != nil {
		return err
	}
	defer store.Close()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	client, err := simba.Open(ctx, store, simba.WithLease(duration), simba.WithLogger(logger))
	if err != nil {
		return err
	}
	w := &worker{dir: dir, guard: fencefile.New(fenced(dir))}
	election, err := client.Run("job", w.work)
	if err != nil {
		return err
	}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		cooldown, err := time.ParseDuration(strings.TrimPrefix(input.Text(), "step down for "))
		if err != nil {
			return err
		}
		if err := election.StepDown(ctx, cooldown); err != nil {
			return err
		}
	}
	return client.Close(ctx)
}

// worker is the task.
type worker struct {
	dir   string
	guard *fencefile.Guard
}

// work writes until it is asked to end, and once more after that, as programs do that save their state. So one that was
// stopped for longer than its lease always writes when it wakes.
func (w *worker) work(ctx context.Context, t *simba.Term) error {
	if err := w.note("begin", t); err != nil {
		return err
	}
	var err error
	for ctx.Err() == nil && err == nil {
		if err = w.write(t); err == nil {
			time.Sleep(time.Millisecond)
		}
	}
	<-ctx.Done()
	time.Sleep(rand.N(20 * time.Millisecond)) // to end takes some time
	return errors.Join(err, w.write(t), w.end(t))
}

// write appends the token to the file that refuses stale ones.
func (w *worker) write(t *simba.Term) error {
	err := w.guard.Do(context.Background(), t.Token(), func(context.Context) error {
		return appendTo(fenced(w.dir), fmt.Sprintf("%d %d\n", t.Token(), os.Getpid()))
	})
	switch {
	case errors.Is(err, fence.ErrStale) && t.Valid():
		// Somebody else has led while this term was valid.
		fmt.Println("valid and refused", t.Token())
	case errors.Is(err, fence.ErrStale):
		fmt.Println("refused", t.Token())
	case err != nil:
		fmt.Println("failed", err)
	}
	return err
}

// end notes the end, and whether it came in time: before that, nobody else may begin.
func (w *worker) end(t *simba.Term) error {
	err := w.note("end", t)
	if err == nil && t.Valid() {
		err = w.note("intime", t)
	}
	fmt.Println("over", t.Token())
	return err
}

func (w *worker) note(what string, t *simba.Term) error {
	return appendTo(journal(w.dir), fmt.Sprintf("%s %d\n", what, t.Token()))
}

// appendTo writes a line at once, at the end of a file that many write: its order needs no clock.
func appendTo(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
