package mysql

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
)

// The token that follows is greater than the last one, and not below the clock of the server, which
// may have been set back.
func TestTokens(t *testing.T) {
	s, a := beside(t)
	session := s.Session(time.Hour)
	wall := uint64(a.number("SELECT ROUND(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000)"))
	first := s.Win(session, "name")
	if first < wall || first > wall+uint64(time.Minute.Microseconds()) {
		t.Errorf("the token is %d, and the clock is at %d", first, wall)
	}
	s.Free(session, "name", first)
	const future = 1<<53 - 2
	a.do("UPDATE simba_lease SET token = ?", future)
	if token := s.Win(session, "name"); token != future+1 {
		t.Errorf("the token is %d", token)
	}
	s.Free(session, "name", future+1)
	// There is none above; nothing must be taken then.
	_, err := s.Acquire(s.Ctx, session, []string{"another", "name"}, false)
	if !contains(err, "in the future") || expired(err) {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"name", "another"} {
		if h := s.Holder(name); h.Held {
			t.Errorf("%+v", h)
		}
	}
}

// The end of a session is one row, however many leases it had; they are free as they are.
func TestEndOfASessionIsOneRow(t *testing.T) {
	s, a := beside(t)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	s.Hold(session, 3*backend.MaxBatch)
	if r := s.List(session); len(r.Leases) != 3*backend.MaxBatch {
		t.Errorf("it has %d leases", len(r.Leases))
	}
	if err := s.CloseSession(s.Ctx, session); err != nil {
		t.Fatal(err)
	}
	if n := a.number("SELECT COUNT(*) FROM simba_lease WHERE session IS NOT NULL"); n != 3*backend.MaxBatch {
		t.Errorf("closing the session wrote %d leases", 3*backend.MaxBatch-n)
	}
	if n := a.number("SELECT COUNT(*) FROM simba_session"); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
	if held, err := s.Inspect(s.Ctx, nil); err != nil || len(held) != 0 {
		t.Errorf("%d leases are held: %v", len(held), err)
	}
	s.Win(other, "orders:7")
}

// Sessions whose processes died and that nobody asks about do not pile up.
func TestDeadSessionsAreSwept(t *testing.T) {
	s, a := beside(t)
	alive := s.Session(time.Hour)
	rows := make([]string, 2000)
	for i := range rows {
		rows[i] = "('" + rand.Text() + "', '', 1, 1)"
	}
	a.do("INSERT INTO simba_session (id, label, lease, expires_at) VALUES " + strings.Join(rows, ","))
	const sessions = 200
	for range sessions {
		s.Session(time.Hour)
	}
	if n := a.number("SELECT COUNT(*) FROM simba_session"); n > sessions+100 {
		t.Errorf("there are %d sessions", n)
	}
	s.List(alive)
}

// That a session has expired is written down, so that it stays so whatever the clock says later.
func TestExpiryIsWrittenDown(t *testing.T) {
	s, a := beside(t)
	for name, ask := range map[string]func(session string) error{
		"renew":   func(session string) error { _, err := s.Renew(s.Ctx, session, 0, false); return err },
		"acquire": func(session string) error { _, err := s.Acquire(s.Ctx, session, []string{"x"}, false); return err },
	} {
		session := s.Session(time.Hour)
		a.do("UPDATE simba_session SET expires_at = ROUND(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000) WHERE id = ?", session)
		if err := ask(session); !expired(err) {
			t.Errorf("%s: %v", name, err)
		}
		if n := a.number("SELECT COUNT(*) FROM simba_session WHERE id = ? AND expires_at > 0", session); n != 0 {
			t.Errorf("%s: it is not written down", name)
		}
	}
}

// What an operator removes by hand is gone at the next complete list (R24).
func TestRowsRemovedByHand(t *testing.T) {
	s, a := beside(t)
	session := s.Session(time.Hour)
	s.Win(session, "a")
	s.Win(session, "b")
	a.do("UPDATE simba_lease SET session = NULL WHERE name = 'a'")
	if r := s.List(session); len(r.Leases) != 1 || r.Leases[0].Name != "b" {
		t.Errorf("the session has %v", r.Leases)
	}
	a.do("DELETE FROM simba_session")
	if _, err := s.Renew(s.Ctx, session, 0, false); !expired(err) {
		t.Errorf("got %v", err)
	}
}

func TestOpenIsChecked(t *testing.T) {
	s, _ := beside(t)
	for _, lease := range []time.Duration{0, -time.Second, 999} {
		if _, err := s.Open(s.Ctx, lease, ""); !contains(err, "at least 1µs") {
			t.Errorf("%v: got %v", lease, err)
		}
	}
	session := s.Session(math.MaxInt64) // for ever
	s.Win(session, "name")
	s.List(session)
	grant, err := s.Open(s.Ctx, time.Hour, "a\xffc\x00d")
	if err != nil {
		t.Fatal(err)
	}
	s.Win(grant.Session, "odd")
	if h := s.Holder("odd"); h.Label != "a\uFFFDc\x00d" {
		t.Errorf("the label is %q", h.Label)
	}
}

// The owner of a table without an index for it would be looked for in all of its rows.
func TestPlansUseIndexes(t *testing.T) {
	s, a := beside(t)
	session := s.Session(time.Hour)
	s.Hold(session, 5*backend.MaxBatch)
	a.do("ANALYZE TABLE simba_lease")
	reads := func() int64 {
		return a.number("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name IN ('handler_read_rnd_next', 'handler_read_next')")
	}
	for name, call := range map[string]func(){
		"acquire": func() { s.Try(session, "orders:7") },
		"inspect": func() { s.Holder("orders:7") },
		"release": func() { s.Free(session, "orders:7", 1) },
	} {
		call()
		before := reads()
		const rounds = 5
		for range rounds {
			call()
		}
		own := reads()
		rest := reads() - own // what it takes to ask
		if n := own - before - rest; n > rounds*100 {
			t.Errorf("%s of one name among %d reads %d rows one after the other", name, 5*backend.MaxBatch, n/rounds)
		}
	}
}

// A label is any text, whatever character set the rest of a program uses.
func TestLabels(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, server.For(t))
	s := opened(t, url+"?charset=gbk")
	for name, label := range map[string]string{"quoted": `it's a \"label\" \`, "foreign": "縗\\' é 🦁 %_", "zero": "\x00\n"} {
		grant, err := s.Open(s.Ctx, time.Hour, label)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.Win(grant.Session, name)
		for _, reader := range []*store{s, opened(t, url)} {
			if h := reader.Holder(name); h.Label != label {
				t.Errorf("%s: %q became %q", name, label, h.Label)
			}
		}
	}
}
