//go:build unix

package postgres

import (
	"syscall"
	"testing"
	"time"
)

// freeze stops a process of the server until thaw is called.
func freeze(t *testing.T, pid int) (thaw func()) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) }) // so that the server can end
	return func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// The process of the server that carries out an acquisition is stopped before it has anything: others
// take the lease, and when it goes on it finds that.
func TestProcessStoppedBeforeItsLock(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	s := opened(t, url)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	first := s.Win(session, "name")
	s.Free(session, "name", first)
	lock := admin(t, db)
	lock.do("BEGIN")
	lock.do("SELECT FROM " + options.Schema + ".lease WHERE name = 'name' FOR UPDATE")
	done := s.Attempt(s.Ctx, session, "name")
	thaw := freeze(t, lock.waiter("lease_acquire", options.Schema))
	lock.do("ROLLBACK")
	token := s.Win(other, "name")
	s.List(session)
	thaw()
	switch a := <-done; {
	case a.Err != nil && expired(a.Err):
		t.Errorf("R2: %v", a.Err)
	case a.Err == nil && (a.Outcomes[0].Won || a.Outcomes[0].Holder.Token != token):
		t.Errorf("%+v", a.Outcomes)
	}
	if h := s.Holder("name"); h.Token != token || h.Session != other {
		t.Errorf("%+v", h)
	}
}

// It is stopped when it has locked the lease and not yet written: others are told that it is locked,
// everything else goes on, and when it goes on it either writes or fails.
func TestProcessStoppedWithItsLock(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	s := opened(t, url)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	s.Free(session, "name", s.Win(session, "name"))
	lock := admin(t, db)
	lock.do("BEGIN")
	// This lets it lock the session against deletion, and the lease, and then wait with the update.
	lock.do("SELECT FROM "+options.Schema+".session WHERE id = $1 FOR NO KEY UPDATE", session)
	done := s.Attempt(s.Ctx, session, "name")
	thaw := freeze(t, lock.waiter("lease_acquire", options.Schema))
	lock.do("ROLLBACK")
	a := <-s.Attempt(s.Ctx, other, "name")
	fails(t, a.Err, ErrLocked)
	s.List(session)
	s.Win(other, "another")
	thaw()
	a = <-done
	h := s.Holder("name")
	switch {
	case a.Err == nil && (!a.Outcomes[0].Won || h.Session != session || h.Token != a.Outcomes[0].Token):
		t.Errorf("it won %+v, and the holder is %+v", a.Outcomes, h)
	case a.Err != nil && (expired(a.Err) || h.Held):
		t.Errorf("it failed with %v, and the holder is %+v", a.Err, h)
	}
}
