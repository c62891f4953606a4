// Package sqlite is a backend in a file: processes of one machine that open the
// same SQLite database compete for leases without a server.
//
// It uses a pure Go port of SQLite, so it needs no C compiler. The file must be on
// a local disk, and all of the processes must run under one kernel: see
// docs/backends/sqlite.md for this and other limits, for what is stored, and for
// what to do about which error.
package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// Store is an open database. It is safe for concurrent use, and one is enough for
// all clients of a process.
//
// A call ends soon after its context is done, whatever other processes do. An error
// that says "not done" means that nothing has happened and nothing will. What
// cannot be given up is a write that the disk does not answer.
type Store struct {
	path string // absolute, without symbolic links
	environment

	life context.Context // until Close
	end  context.CancelFunc

	writer  *line // opens, acquires, releases, closes
	renewer *line // renews, so that nothing else of this process is in the way
	reader  *line // looks

	mu      sync.Mutex
	current file          // which the lines should have open
	freed   chan struct{} // closed when this process has freed leases

	closing sync.Once
	closed  error // what Close returns
}

var (
	_ backend.Store   = (*Store)(nil)
	_ backend.Driver  = (*Store)(nil)
	_ backend.Watcher = (*Store)(nil)
	_ backend.Noter   = (*Store)(nil)
)

// environment is what a store takes from the system, and tests from elsewhere.
type environment struct {
	clock   actor.Clock                                // shared by all processes that use the file
	wall    func() time.Time                           // the least token
	network func(path string) (kind string, err error) // "" for a local file system
}

// Open opens the database at path, and creates it if there is none; its folder
// must exist. Two more files with the endings -queue and -next appear beside it,
// and SQLite's own -wal and -shm. ctx bounds the opening and nothing else.
//
// A database that is not Simba's is left as it is. Errors match [ErrForeign],
// [ErrNotDatabase], [ErrVersion], [ErrNetwork] and the others of this package.
func Open(ctx context.Context, path string) (*Store, error) {
	clock, err := sharedClock()
	if err != nil {
		return nil, err
	}
	return open(ctx, path, environment{clock: clock, wall: time.Now, network: network})
}

func open(ctx context.Context, path string, env environment) (*Store, error) {
	resolved, err := resolve(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: resolved, environment: env, freed: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	s.writer, s.renewer, s.reader = newLine(s), newLine(s), newLine(s)
	if err := s.connect(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect connects all lines at once, so that an error comes when the store is
// opened, and the first renewal is as quick as others.
func (s *Store) connect(ctx context.Context) error {
	if err := do(ctx, s.writer, func() error { return s.adopt(ctx) }); err != nil {
		return err
	}
	if err := s.openDoors(); err != nil {
		return s.at(err)
	}
	for _, l := range []*line{s.renewer, s.reader} {
		if err := do(ctx, l, func() error { return l.connect(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// openDoors opens the doors of the two lines that write. Each has its own: a
// door that is open in one place is shut in all others, in this process as well.
func (s *Store) openDoors() error {
	for _, d := range []struct {
		line   *line
		ending string
	}{{s.writer, "-queue"}, {s.writer, "-next"}, {s.renewer, "-next"}} {
		door, err := openDoor(s.path + d.ending)
		if err != nil {
			return err
		}
		d.line.doors = append(d.line.doors, door)
	}
	return nil
}

// Backend returns [backend.Serve] of the store.
func (s *Store) Backend() actor.Behavior { return backend.Serve(s) }

// Close ends the use of the file; sessions that are still open stay so until they
// expire. It waits for what is being written just now, and for nothing else: calls
// that wait for the file end with [ErrClosed]. A second Close returns what the
// first one did.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.end()
		var errs []error
		for _, l := range []*line{s.writer, s.renewer, s.reader} {
			l.turn <- struct{}{} // and nobody's ever after
			errs = append(errs, l.drop())
			for _, d := range l.doors {
				errs = append(errs, d.close())
			}
		}
		s.closed = s.at(errors.Join(errs...))
	})
	return s.closed
}

// file is the one that the store uses.
func (s *Store) file() file {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// adopt makes the store use the file that is at its path now, if it does not yet.
// It is the writer's turn, which gets a connection; the other lines follow.
func (s *Store) adopt(ctx context.Context) error {
	if old := s.file(); old[0] != nil {
		if old.stillAt(s.path) == nil {
			return nil
		}
		if err := old.leftBehind(s.path); err != nil {
			return err
		}
	}
	c, err := s.setUp(ctx)
	if err != nil {
		return err
	}
	err = s.writer.drop()
	s.writer.conn = c
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = c.file
	return err
}
