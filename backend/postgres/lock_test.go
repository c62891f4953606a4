package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/proxy"
)

func expired(err error) bool { return err == backend.ErrExpired }

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// waiter returns the process of the server that waits for a lock in a function of the schema.
func (p *psql) waiter(function, schema string) int {
	p.tb.Helper()
	const waiting = `SELECT coalesce(max(pid), 0) FROM pg_stat_activity
		WHERE wait_event_type = 'Lock' AND query LIKE '%"' || $1 || '".' || $2 || '(%' AND pid <> pg_backend_pid()`
	pid := 0
	drivertest.Eventually(p.tb, function+" waits for a lock", func() bool {
		p.do("SELECT pg_stat_clear_snapshot()") // which a transaction keeps
		pid = int(p.number(waiting, schema, function))
		return pid != 0
	})
	return pid
}

// running is how many statements of a schema are under way.
func (p *psql) running(schema string) int64 {
	p.do("SELECT pg_stat_clear_snapshot()")
	return p.number(`SELECT count(*) FROM pg_stat_activity
		WHERE state = 'active' AND query LIKE '%"' || $1 || '".%' AND pid <> pg_backend_pid()`, schema)
}

// Somebody keeps the row of a lease locked. Who wants it is told so after the lock timeout; all else
// goes on, also of the same session.
func TestLeaseRowIsLocked(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	s := opened(t, url)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	s.Free(session, "name", s.Win(session, "name"))
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("SELECT FROM " + options.Schema + ".lease WHERE name = 'name' FOR UPDATE")
	begun := time.Now()
	done := s.Attempt(s.Ctx, session, "name", "another")
	lock.waiter("lease_acquire", options.Schema)
	// What a renewal needs of its session is not locked meanwhile.
	admin(t, db).do("SELECT FROM "+options.Schema+".session WHERE id = $1 FOR NO KEY UPDATE NOWAIT", session)
	s.List(session)
	s.List(other)
	s.Win(other, "third")
	a := <-done
	fails(t, a.Err, ErrLocked)
	if took := time.Since(begun); took < lockTimeout {
		t.Errorf("it gave up after %v", took)
	}
	if h := s.Holder("another"); h.Held {
		t.Errorf("a call that failed had an effect: %+v", h)
	}
	if r := s.List(session); len(r.Leases) != 0 {
		t.Errorf("it has %v", r.Leases)
	}
	lock.do("ROLLBACK")
	s.Win(session, "name")
	s.leavesNothing()
}

// Somebody keeps the row of a session locked. Its own calls fail; it is neither expired nor are its
// leases given away before its time, and other sessions of the process are renewed.
func TestSessionRowIsLocked(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	s := opened(t, url)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	token := s.Win(session, "name")
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("SELECT FROM "+options.Schema+".session WHERE id = $1 FOR UPDATE", session)
	renewed := make(chan error, 1)
	go func() {
		_, err := s.Renew(s.Ctx, session, 0, true)
		renewed <- err
	}()
	lock.waiter("session_renew", options.Schema)
	s.List(other)
	if o := s.Try(other, "name"); o.Won || o.Holder.Token != token {
		t.Errorf("%+v", o)
	}
	fails(t, <-renewed, ErrLocked)
	a := <-s.Attempt(s.Ctx, session, "another")
	fails(t, a.Err, ErrLocked)
	lock.do("ROLLBACK")
	if r := s.List(session); len(r.Leases) != 1 || r.Leases[0].Token != token {
		t.Errorf("afterwards it has %v", r.Leases)
	}
}

// A session that has expired while somebody keeps its row locked is not robbed by a statement that
// looked at it before, and a renewal that waited finds by the clock of then that it is too late.
func TestRenewalThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	s := opened(t, url)
	session, other := s.Session(300*time.Millisecond), s.Session(time.Hour)
	token := s.Win(session, "name")
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("SELECT FROM "+options.Schema+".session WHERE id = $1 FOR UPDATE", session)
	renewed := make(chan error, 1)
	go func() {
		_, err := s.Renew(s.Ctx, session, 0, true)
		renewed <- err
	}()
	lock.waiter("session_renew", options.Schema)
	drivertest.Eventually(t, "the session expires", func() bool { return !s.Holder("name").Held })
	lock.do("ROLLBACK")
	if err := <-renewed; !expired(err) {
		t.Errorf("R2: the renewal returned %v", err)
	}
	if next := s.Win(other, "name"); next <= token {
		t.Errorf("R19: the token %d came after %d", next, token)
	}
}

// cutOff is a store behind a network, in which an acquisition waits for a row that lock holds, while
// nothing gets through any more.
func cutOff(t *testing.T) (far *store, session string, near *store, lock *psql, options Options, p *proxy.Proxy) {
	db := server.For(t)
	url, options := newSchema(t, db)
	near = opened(t, url)
	p, err := proxy.New(db.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	far = opened(t, through(db, p, options))
	session = far.Session(time.Hour)
	far.Free(session, "name", far.Win(session, "name"))
	lock = admin(t, db)
	lock.do("BEGIN")
	lock.do("SELECT FROM " + options.Schema + ".lease WHERE name = 'name' FOR UPDATE")
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	done := far.Attempt(ctx, session, "name")
	lock.waiter("lease_acquire", options.Schema)
	p.Stall()
	if a := <-done; a.Err == nil || expired(a.Err) {
		t.Fatalf("got %+v", a)
	}
	return far, session, near, lock, options, p
}

// A client that was cut off while it waited for a lock may be given the lease, but not later than the
// timeouts allow; the next renewal lists what it was given, so that it can be released.
func TestCutOffAndGranted(t *testing.T) {
	t.Parallel()
	far, session, near, lock, options, p := cutOff(t)
	lock.do("ROLLBACK") // well before the timeout
	drivertest.Eventually(t, "the statement ends", func() bool { return lock.running(options.Schema) == 0 })
	h := near.Holder("name")
	if h.Session != session {
		t.Fatalf("the statement that nobody waits for has ended, and has not written: %+v", h)
	}
	p.Pass()
	var r backend.Renewal
	drivertest.Eventually(t, "the client is back", func() (ok bool) {
		var err error
		r, err = far.Renew(far.Ctx, session, 0, true)
		return err == nil
	})
	if len(r.Leases) != 1 || r.Leases[0] != (backend.Lease{Name: "name", Token: h.Token}) {
		t.Fatalf("R25: the renewal lists %v", r.Leases)
	}
	far.Free(session, "name", h.Token)
	if h := near.Holder("name"); h.Held {
		t.Errorf("%+v", h)
	}
}

func TestCutOffAndTooLate(t *testing.T) {
	t.Parallel()
	far, session, near, lock, options, p := cutOff(t)
	begun := time.Now()
	drivertest.Eventually(t, "the statement gives up", func() bool { return lock.running(options.Schema) == 0 })
	if took := time.Since(begun); took > Timeout {
		t.Errorf("it took %v", took)
	}
	lock.do("ROLLBACK")
	if h := near.Holder("name"); h.Held {
		t.Errorf("it wrote nevertheless: %+v", h)
	}
	p.Cut()
	p.Pass()
	drivertest.Eventually(t, "the client is back", func() bool {
		r, err := far.Renew(far.Ctx, session, 0, true)
		return err == nil && len(r.Leases) == 0
	})
}

// Through a pooler, the timeouts hold as well.
func TestTimeoutsThroughPgBouncer(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	_, options := newSchema(t, db)
	s := opened(t, pooler.For(t).URL+"&simba_schema="+options.Schema)
	session := s.Session(time.Hour)
	s.Free(session, "name", s.Win(session, "name"))
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("SELECT FROM " + options.Schema + ".lease WHERE name = 'name' FOR UPDATE")
	a := <-s.Attempt(s.Ctx, session, "name")
	fails(t, a.Err, ErrLocked)
	ctx, cancel := context.WithTimeout(s.Ctx, 100*time.Millisecond)
	defer cancel()
	done := s.Attempt(ctx, session, "name")
	lock.waiter("lease_acquire", options.Schema)
	if a := <-done; a.Err == nil || expired(a.Err) {
		t.Fatalf("got %+v", a)
	}
	drivertest.Eventually(t, "the statement gives up", func() bool { return lock.running(options.Schema) == 0 })
	lock.do("ROLLBACK")
	if h := s.Holder("name"); h.Held {
		t.Errorf("%+v", h)
	}
	var timeout string
	if err := s.calls.QueryRow(s.Ctx, "SHOW lock_timeout").Scan(&timeout); err != nil || timeout != "0" {
		t.Errorf("the timeout stays with the connection, which is others': %q, %v", timeout, err)
	}
}

// While a note is written, nobody takes or frees the lease: the next owner must read it.
func TestLeaseIsKeptForItsNote(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	s := opened(t, url)
	session := s.Session(time.Hour)
	lease := backend.Lease{Name: "name", Token: s.Win(session, "name")}
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("INSERT INTO " + options.Schema + ".note VALUES ('name', 1, '')")
	kept := make(chan error, 1)
	go func() {
		_, _, err := s.KeepNote(s.Ctx, session, lease, backend.Note{Version: 2})
		kept <- err
	}()
	lock.waiter("note_keep", options.Schema)
	_, err := admin(t, db).Exec(s.Ctx, "SELECT FROM "+options.Schema+".lease WHERE name = 'name' FOR NO KEY UPDATE NOWAIT")
	if !contains(err, "could not obtain lock") {
		t.Errorf("the lease can be changed: %v", err)
	}
	lock.do("ROLLBACK")
	if err := <-kept; err != nil {
		t.Error(err)
	}
}

// A session's time is over, but for a renewal that began before and has not been committed yet. What
// looks at the session meanwhile must wait for that: neither may it end a session that has just been
// renewed, nor report its end.
func TestExpiryMeetsRenewal(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	for _, c := range []struct {
		function string
		call     func(s *store, session string, lease backend.Lease) error
	}{
		{"lease_acquire", func(s *store, session string, _ backend.Lease) error {
			_, err := s.Acquire(s.Ctx, session, []string{"another"}, false)
			return err
		}},
		{"lease_acquire", func(s *store, _ string, lease backend.Lease) error { return rob(s, lease) }},
		{"note_keep", func(s *store, session string, lease backend.Lease) error {
			_, _, err := s.KeepNote(s.Ctx, session, lease, backend.Note{Version: 1})
			return err
		}},
	} {
		url, options := newSchema(t, db)
		s := opened(t, url)
		session := s.Session(time.Hour)
		lease := backend.Lease{Name: "name", Token: s.Win(session, "name")}
		renewal := admin(t, db)
		until := "UPDATE " + options.Schema + ".session SET expires_at = clock_timestamp() + $1::interval"
		renewal.do(until, "0 s")
		renewal.do("BEGIN")
		renewal.do(until, "1 h")
		called := make(chan error, 1)
		go func() { called <- c.call(s, session, lease) }()
		renewal.waiter(c.function, options.Schema)
		renewal.do("COMMIT")
		if err := <-called; err != nil {
			t.Errorf("%s: R2: the session lives, and the call returned %v", c.function, err)
		}
		if h := s.Holder("name"); h.Session != session {
			t.Errorf("%s: a session that was renewed has lost its lease: %+v", c.function, h)
		}
	}
}

// rob has another session try to take a lease that is held.
func rob(s *store, lease backend.Lease) error {
	grant, err := s.Open(s.Ctx, time.Hour, "")
	if err != nil {
		return err
	}
	outcomes, err := s.Acquire(s.Ctx, grant.Session, []string{lease.Name}, false)
	if err == nil && (outcomes[0].Won || outcomes[0].Holder.Token != lease.Token) {
		err = fmt.Errorf("a living session was robbed: %+v", outcomes[0])
	}
	return err
}
