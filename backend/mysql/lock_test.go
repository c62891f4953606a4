package mysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/proxy"
)

// waiting is how many transactions wait for a row. The server looks anew only if nobody has asked for a
// tenth of a second.
func (s *shell) waiting() int64 {
	s.do("SELECT SLEEP(0.15)")
	return s.number("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
}

// waiter waits until a transaction waits for a row.
func (s *shell) waiter() {
	s.tb.Helper()
	drivertest.Eventually(s.tb, "it waits for a row", func() bool { return s.waiting() > 0 })
}

// Somebody keeps the row of a lease locked. Who wants it is told so after the lock timeout; all else
// goes on, also of the same session.
func TestLeaseRowIsLocked(t *testing.T) {
	s, lock := beside(t)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	s.Free(session, "name", s.Win(session, "name"))
	lock.do("BEGIN")
	lock.do("SELECT * FROM simba_lease WHERE name = 'name' FOR UPDATE")
	begun := time.Now()
	done := s.Attempt(s.Ctx, session, "name", "another")
	lock.waiter()
	// What a renewal needs of its session is not locked meanwhile.
	admin(t, "mysql://root@"+s.where).do("SELECT * FROM simba_session WHERE id = ? FOR UPDATE NOWAIT", session)
	s.List(session)
	s.List(other)
	s.Win(other, "third")
	a := <-done
	fails(t, a.Err, ErrLocked)
	if took := time.Since(begun); took < lockTimeout-100*time.Millisecond {
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
	s, lock := beside(t)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	token := s.Win(session, "name")
	lock.do("BEGIN")
	lock.do("SELECT * FROM simba_session WHERE id = ? FOR UPDATE", session)
	renewed := make(chan error, 1)
	go func() {
		_, err := s.Renew(s.Ctx, session, 0, true)
		renewed <- err
	}()
	lock.waiter()
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

// A renewal that waited for a lock finds by the clock of then that it is too late.
func TestRenewalThatWaitedTooLong(t *testing.T) {
	s, lock := beside(t)
	session, other := s.Session(500*time.Millisecond), s.Session(time.Hour)
	token := s.Win(session, "name")
	lock.do("BEGIN")
	lock.do("SELECT * FROM simba_session WHERE id = ? FOR UPDATE", session)
	renewed := make(chan error, 1)
	go func() {
		_, err := s.Renew(s.Ctx, session, 0, true)
		renewed <- err
	}()
	lock.waiter()
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
func cutOff(t *testing.T) (far *store, session string, near *store, lock *shell, p *proxy.Proxy) {
	db := server.For(t)
	url := newDatabase(t, db)
	near, p = opened(t, url), network(t, db)
	far = opened(t, through(url, db, p))
	session = far.Session(time.Hour)
	far.Free(session, "name", far.Win(session, "name"))
	lock = admin(t, url)
	lock.do("BEGIN")
	lock.do("SELECT * FROM simba_lease WHERE name = 'name' FOR UPDATE")
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	done := far.Attempt(ctx, session, "name")
	lock.waiter()
	p.Stall()
	if a := <-done; a.Err == nil || expired(a.Err) {
		t.Fatalf("got %+v", a)
	}
	return far, session, near, lock, p
}

// A client that was cut off while it waited for a lock is either given the lease, and then the next
// renewal lists it, so that it can be released; or the server notices that nobody is there to be
// answered, and nothing is written.
func TestCutOffAndGranted(t *testing.T) {
	far, session, near, lock, p := cutOff(t)
	lock.do("ROLLBACK") // well before the timeout
	drivertest.Eventually(t, "the call ends", func() bool {
		return lock.number("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command <> 'Sleep' AND id <> CONNECTION_ID()") == 0
	})
	var want []backend.Lease
	if h := near.Holder("name"); h.Held {
		if h.Session != session {
			t.Fatalf("%+v", h)
		}
		want = append(want, backend.Lease{Name: "name", Token: h.Token})
	}
	p.Cut()
	p.Pass()
	var r backend.Renewal
	drivertest.Eventually(t, "the client is back", func() (ok bool) {
		var err error
		r, err = far.Renew(far.Ctx, session, 0, true)
		return err == nil
	})
	if !slices.Equal(r.Leases, want) {
		t.Fatalf("R25: the renewal lists %v in place of %v", r.Leases, want)
	}
	if err := far.Release(far.Ctx, session, r.Leases); err != nil {
		t.Fatal(err)
	}
	if h := near.Holder("name"); h.Held {
		t.Errorf("%+v", h)
	}
}

func TestCutOffAndTooLate(t *testing.T) {
	far, session, near, lock, p := cutOff(t)
	begun := time.Now()
	drivertest.Eventually(t, "the call gives up", func() bool { return lock.waiting() == 0 })
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

// A call that waits for one row after the other does not write when that has taken too long in all.
func TestManyRowsAreLocked(t *testing.T) {
	s, one := beside(t)
	session := s.Session(time.Hour)
	names := []string{"a", "b", "c", "d"}
	outcomes, err := s.Acquire(s.Ctx, session, names, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(s.Ctx, session, drivertest.Won(outcomes)); err != nil {
		t.Fatal(err)
	}
	locks := []*shell{one}
	for range names[1:] {
		locks = append(locks, admin(t, "mysql://root@"+s.where))
	}
	for i, lock := range locks {
		lock.do("BEGIN")
		lock.do("SELECT * FROM simba_lease WHERE name = ? FOR UPDATE", names[i])
	}
	done := s.Attempt(s.Ctx, session, names...)
	const pause = 1500 * time.Millisecond // less than the timeout of a lock
	for _, lock := range locks {
		lock.waiter()
		timer := time.NewTimer(pause)
		select {
		case a := <-done:
			t.Fatalf("it did not wait: %+v", a)
		case <-timer.C:
		}
		lock.do("ROLLBACK")
	}
	fails(t, (<-done).Err, ErrLocked)
	for _, name := range names {
		if h := s.Holder(name); h.Held {
			t.Errorf("%+v", h)
		}
	}
}

// The death of an owner is noticed when its session expires, and a release soon.
func TestWatch(t *testing.T) {
	t.Parallel()
	s, _ := beside(t)
	session := s.Session(time.Hour)
	token := s.Win(session, "released")
	s.Win(s.Session(1500*time.Millisecond), "expires")
	w := s.Lookout("expires", "released", "free")
	w.Hears("free")
	s.Free(session, "released", token)
	w.Hears("released")
	w.Hears("expires")
	if h := s.Holder("expires"); h.Held {
		t.Errorf("too early: %+v", h)
	}
}

// While a note is written, nobody takes or frees the lease: the next owner must read it.
func TestLeaseIsKeptForItsNote(t *testing.T) {
	s, lock := beside(t)
	session := s.Session(time.Hour)
	lease := backend.Lease{Name: "name", Token: s.Win(session, "name")}
	lock.do("BEGIN")
	lock.do("INSERT INTO simba_note VALUES ('name', 1, '')")
	kept := make(chan error, 1)
	go func() {
		_, _, err := s.KeepNote(s.Ctx, session, lease, backend.Note{Version: 2})
		kept <- err
	}()
	lock.waiter()
	_, err := admin(t, "mysql://root@"+s.where).ExecContext(s.Ctx, "SELECT * FROM simba_lease WHERE name = 'name' FOR UPDATE NOWAIT")
	if err == nil {
		t.Error("the lease can be changed")
	}
	lock.do("ROLLBACK")
	if err := <-kept; err != nil {
		t.Error(err)
	}
}

// A session's time is over, but for a renewal that began before and has not been committed yet. What
// looks at the session meanwhile must wait for that, and neither end it nor report its end.
func TestExpiryMeetsRenewal(t *testing.T) {
	for name, call := range map[string]func(s *store, session string, lease backend.Lease) error{
		"Acquire": func(s *store, session string, _ backend.Lease) error {
			_, err := s.Acquire(s.Ctx, session, []string{"another"}, false)
			return err
		},
		"Acquire by another": func(s *store, _ string, lease backend.Lease) error {
			return rob(s, lease)
		},
		"KeepNote": func(s *store, session string, lease backend.Lease) error {
			_, _, err := s.KeepNote(s.Ctx, session, lease, backend.Note{Version: 1})
			return err
		},
	} {
		s, renewal := beside(t)
		session := s.Session(time.Hour)
		lease := backend.Lease{Name: "name", Token: s.Win(session, "name")}
		const until = "UPDATE simba_session SET expires_at = expires_at + ?"
		hours := 2 * time.Hour.Microseconds()
		renewal.do(until, -hours)
		renewal.do("BEGIN")
		renewal.do(until, hours)
		called := make(chan error, 1)
		go func() { called <- call(s, session, lease) }()
		renewal.waiter()
		renewal.do("COMMIT")
		if err := <-called; err != nil {
			t.Errorf("%s: R2: the session lives, and the call returned %v", name, err)
		}
		if h := s.Holder("name"); h.Session != session {
			t.Errorf("%s: a session that was renewed has lost its lease: %+v", name, h)
		}
	}
}

// A call that the server was told to stop leaves no transaction behind, which would keep its rows
// locked, and be committed by the next call of the connection.
func TestKilledCall(t *testing.T) {
	s, lock := beside(t)
	session := s.Session(time.Hour)
	s.Free(session, "name", s.Win(session, "name"))
	lock.do("BEGIN")
	lock.do("SELECT * FROM simba_session WHERE id = ? FOR UPDATE", session)
	done := s.Attempt(s.Ctx, session, "name")
	lock.waiter()
	admin(t, "mysql://root@"+s.where).do("KILL QUERY " + strconv.FormatInt(lock.number(
		"SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"), 10))
	if a := <-done; a.Err == nil || expired(a.Err) {
		t.Fatalf("got %+v", a)
	}
	lock.do("ROLLBACK")
	drivertest.Eventually(t, "its transaction ends", func() bool {
		lock.do("SELECT SLEEP(0.15)")
		return lock.number("SELECT COUNT(*) FROM information_schema.innodb_trx") == 0
	})
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
