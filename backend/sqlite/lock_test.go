package sqlite

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// A process that is stopped or hangs in a transaction keeps everybody waiting, but
// nobody for longer than it wants to. What was given up does not happen later, and
// all goes on once the process is dead.
func TestAnotherProcessHoldsTheLock(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	p := start(t, "lock", s.path)
	p.expect("locked")
	pause(p)
	calls := map[string]func(ctx context.Context) error{
		"Open": func(ctx context.Context) error {
			_, err := s.Open(ctx, time.Hour, "late")
			return err
		},
		"Renew": func(ctx context.Context) error {
			_, err := s.Renew(ctx, session, 0, false)
			return err
		},
		"Acquire": func(ctx context.Context) error {
			_, err := s.Acquire(ctx, session, []string{"name"}, false)
			return err
		},
		"Release": func(ctx context.Context) error {
			return s.Release(ctx, session, []backend.Lease{{Name: "name", Token: 1}})
		},
		"CloseSession": func(ctx context.Context) error { return s.CloseSession(ctx, session) },
	}
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
		err := call(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, backend.ErrExpired) ||
			!strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), "another process kept the file locked") {
			t.Errorf("%s returned %v", name, err)
		}
	}
	if h := s.holder("name"); h.Held { // looking needs no lock
		t.Errorf("an acquisition that was given up happened: %+v", h)
	}
	p.kill()
	s.renew(session)
	if h := s.holder("name"); h.Held {
		t.Errorf("an acquisition that was given up happened later: %+v", h)
	}
	if n := s.raw().number(t, "SELECT count(*) FROM sessions"); n != 1 {
		t.Errorf("there are %d sessions in place of 1", n)
	}
}

// Calls of this process that wait behind another one of its own give up as well.
func TestCallsQueueWithinTheProcess(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	other := s.raw()
	other.do(t, "BEGIN IMMEDIATE")
	first := make(chan error, 1)
	go func() {
		_, err := s.Acquire(s.ctx, session, []string{"a"}, false)
		first <- err
	}()
	blocked(t, 1)
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := s.Acquire(ctx, session, []string{"b"}, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	other.do(t, "COMMIT")
	if err := <-first; err != nil {
		t.Error(err)
	}
	if h := s.holder("b"); h.Held {
		t.Errorf("an acquisition that was given up happened: %+v", h)
	}
}

// Close ends calls that wait, and those that come later.
func TestClose(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	other := s.raw()
	other.do(t, "BEGIN IMMEDIATE")
	var calls sync.WaitGroup
	errs := make(chan error, 10)
	for range 3 { // one waits for the lock, the others for their turn
		calls.Go(func() {
			_, err := s.Acquire(s.ctx, session, []string{"name"}, false)
			errs <- err
		})
	}
	calls.Go(func() {
		_, err := s.Renew(s.ctx, session, 0, false)
		errs <- err
	})
	watching := make(chan error, 1)
	set := backend.NewNameSet()
	set.Update([]string{"name"}, nil)
	seen := make(chan struct{}, 10)
	go func() { watching <- s.Watch(s.ctx, set, func(...string) { seen <- struct{}{} }) }()
	<-seen
	blocked(t, 1)
	eventually(t, "one waits at a door", func() bool { return s.writer.waits() || s.renewer.waits() })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	calls.Wait()
	for range 4 {
		s.fails(<-errs, ErrClosed)
	}
	s.fails(<-watching, ErrClosed)
	_, err := s.Inspect(s.ctx, nil)
	s.fails(err, ErrClosed)
	other.do(t, "COMMIT")
}

// shut returns a door that somebody else keeps shut, and what opens it.
func shut(tb testing.TB, path string) (open func()) {
	tb.Helper()
	d, err := openDoor(path)
	if err != nil {
		tb.Fatal(err)
	}
	if !tryLock(d.file) {
		tb.Fatalf("%s is locked", path)
	}
	var once sync.Once
	open = func() { once.Do(func() { d.close() }) }
	tb.Cleanup(open)
	return open
}

// A process that was stopped at a door holds up nobody for good. Where a door has
// kept somebody waiting once, it holds up nobody again.
func TestAProcessIsStoppedAtADoor(t *testing.T) {
	for _, ending := range []string{"-queue", "-next"} {
		t.Run(ending, func(t *testing.T) {
			s := fresh(t, system())
			open := shut(t, s.path+ending)
			session := s.session(time.Hour)
			s.renew(session)
			for range 100 { // which would not be over in time if each was held up
				s.free(session, "name", s.win(session, "name"))
			}
			open()
			eventually(t, "the door is free again", func() bool { return !s.writer.waits() && !s.renewer.waits() })
			s.free(session, "name", s.win(session, "name"))
		})
	}
}

// waits reports whether somebody of this store waits at the door.
func (d *door) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting
}

func (l *line) waits() bool { return slices.ContainsFunc(l.doors, (*door).waits) }

// A store that is closed while it waits for a door leaves nothing behind once that
// opens.
func TestCloseAtADoor(t *testing.T) {
	s := fresh(t, system())
	open := shut(t, s.path+"-next")
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	s.Open(ctx, time.Hour, "label")
	if !s.writer.waits() {
		t.Fatal("nobody waits at the door")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	open()
	eventually(t, "the wait ends", func() bool { return !s.writer.waits() })
}

// However many processes want to write, one of them at most waits at the door that
// renewals wait at: the others are at the one before.
func TestRenewalsPassAhead(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	var calls sync.WaitGroup
	crowd := make([]*store, 6)
	for i := range crowd {
		crowd[i] = opened(t, s.path, system())
	}
	running := s.raw()
	running.do(t, "BEGIN IMMEDIATE")
	for _, other := range crowd {
		calls.Go(func() {
			if _, err := other.Acquire(other.ctx, session, []string{"name"}, false); err != nil {
				t.Error(err)
			}
		})
	}
	at := func(i int) (waiting int) {
		for _, other := range crowd {
			if other.writer.doors[i].waits() {
				waiting++
			}
		}
		return waiting
	}
	// One is past both doors.
	eventually(t, "all others wait", func() bool { return at(0)+at(1) == len(crowd)-1 })
	if n := at(1); n != 1 {
		t.Errorf("%d wait at the second door", n)
	}
	calls.Go(func() { s.renew(session) })
	eventually(t, "the renewal waits", s.renewer.doors[0].waits)
	if len(s.renewer.doors) != 1 {
		t.Errorf("renewals pass %d doors", len(s.renewer.doors))
	}
	running.do(t, "COMMIT")
	calls.Wait()
}

// Renewals of one process are not behind its own other calls.
func TestRenewalHasItsOwnConnection(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	s.writer.turn <- struct{}{} // somebody's, for as long as it takes
	defer s.writer.leave()
	s.renew(session)
}

// Locks that SQLite has in this process are not lost by what the process does to
// the file: a second store comes and goes.
func TestTwoStoresInOneProcess(t *testing.T) {
	s := fresh(t, system())
	session := s.session(time.Hour)
	token := s.win(session, "name")
	link := s.path + ".link"
	if err := os.Symlink(s.path, link); err != nil {
		t.Fatal(err)
	}
	other := opened(t, link, system())
	if o := other.acquire(other.session(time.Hour), "name"); o.Won || o.Holder.Token != token {
		t.Errorf("through a symbolic link, the outcome is %+v", o)
	}
	running := s.raw()
	running.do(t, "BEGIN IMMEDIATE")
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	p := start(t, "lock", s.path)
	p.wait() // at once: it does not wait for the lock
	if !strings.Contains(p.errs.String(), "locked") {
		t.Errorf("another process could write at the same time: %s", p.errs.String())
	}
	running.do(t, "COMMIT")
	s.renew(session)
}
