// Command fencing shows what a lease cannot do, and what the resource has to do about it: a process is
// stopped after it has looked at its term and before it writes, for longer than its lease. Another one takes
// over and writes. Then the first one goes on, and its write comes last.
//
// Both write to two rows. One is fenced: its table has a column for the token. The other one is not.
//
//	go run ./examples/fencing
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"
)

// lease is short, for who is watching.
const lease = time.Second

// roleVariable makes this program one of the two processes that write.
const roleVariable = "SIMBA_EXAMPLE_WRITER"

func main() {
	if label := os.Getenv(roleVariable); label != "" {
		exit(write(label, os.Args[1]))
	}
	dir, err := os.MkdirTemp("", "simba-fencing-")
	if err != nil {
		exit(err)
	}
	err = show(os.Stdout, dir)
	exit(errors.Join(err, os.RemoveAll(dir)))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// show runs the story, and returns an error if it went otherwise.
func show(out io.Writer, dir string) error {
	db, err := sql.Open("sqlite", resource(dir))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec(schema); err != nil {
		return err
	}
	s := &story{out: out, dir: dir, began: time.Now()}
	defer s.end()
	if err := s.tell(); err != nil {
		return err
	}
	return s.compare(db)
}

// tell has the two processes play.
func (s *story) tell() error {
	first, err := s.start("first")
	if err != nil {
		return err
	}
	if err := first.until("about to write"); err != nil {
		return err
	}
	s.say("SIGSTOP to the first one, for longer than its lease of %v", lease)
	if err := first.stop(); err != nil {
		return err
	}
	second, err := s.start("second")
	if err != nil {
		return err
	}
	for second.until("has written") != nil {
		if second.ended() {
			return second.failure()
		}
		// The first one was stopped in the middle of a renewal, and the file of leases with it.
		if err := first.stumble(); err != nil {
			return err
		}
	}
	s.say("SIGCONT to the first one, which goes on where it was stopped")
	first.goOn()
	if err := first.resume(); err != nil {
		return err
	}
	return first.until("done")
}

// compare looks at the rows.
func (s *story) compare(db *sql.DB) error {
	var plain, fenced string
	row := db.QueryRowContext(context.Background(), "SELECT (SELECT author FROM plain), (SELECT author FROM fenced)")
	if err := row.Scan(&plain, &fenced); err != nil {
		return err
	}
	s.say("the row without a guard is by the %s process: the new owner's work is lost", plain)
	s.say("the fenced row is by the %s process, as it should be", fenced)
	if plain != "first" || fenced != "second" {
		return fmt.Errorf("this is not what was to be shown: %q, %q", plain, fenced)
	}
	return nil
}

func resource(dir string) string {
	return "file:" + filepath.ToSlash(filepath.Join(dir, "resource.db")) + "?_pragma=busy_timeout(10000)"
}
