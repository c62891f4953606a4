package postgres

import (
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
)

// beside returns a psql beside a store in a new schema.
func beside(tb testing.TB) (s *store, a *psql, schema string) {
	db := server.For(tb)
	url, options := newSchema(tb, db)
	return opened(tb, url), admin(tb, db), options.Schema
}

// The token that follows is greater than the last one, and not below the clock of the server, which
// may have been set back.
func TestTokens(t *testing.T) {
	s, a, schema := beside(t)
	session := s.Session(time.Hour)
	wall := uint64(a.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))
	first := s.Win(session, "name")
	if first < wall || first > wall+uint64(drivertest.Bound.Microseconds()) {
		t.Errorf("the token is %d, and the clock is at %d", first, wall)
	}
	s.Free(session, "name", first)
	const future = 1<<53 - 2
	a.do("UPDATE "+schema+".lease SET token = $1", future)
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
	s, a, schema := beside(t)
	session, other := s.Session(time.Hour), s.Session(time.Hour)
	s.Hold(session, 3*backend.MaxBatch)
	leases := func() int64 {
		return a.number("SELECT count(*) FROM " + schema + ".lease WHERE session IS NOT NULL")
	}
	if err := s.CloseSession(s.Ctx, session); err != nil {
		t.Fatal(err)
	}
	if n := leases(); n != 3*backend.MaxBatch {
		t.Errorf("closing the session wrote %d leases", 3*backend.MaxBatch-n)
	}
	if n := a.number("SELECT count(*) FROM " + schema + ".session"); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
	if held, err := s.Inspect(s.Ctx, nil); err != nil || len(held) != 0 {
		t.Errorf("%d leases are held: %v", len(held), err)
	}
	s.Win(other, "orders:7")
}

// Sessions whose processes died and that nobody asks about do not pile up.
func TestDeadSessionsAreSwept(t *testing.T) {
	s, a, schema := beside(t)
	alive := s.Session(time.Hour)
	ids := make([]string, 2000)
	for i := range ids {
		ids[i] = rand.Text()
	}
	a.do(`INSERT INTO `+schema+`.session (id, label, lease, expires_at)
		SELECT id, '', 1, now() - interval '1 second' FROM unnest($1::text[]) id`, ids)
	const sessions = 200
	for range sessions {
		s.Session(time.Hour)
	}
	if n := a.number("SELECT count(*) FROM " + schema + ".session"); n > sessions+100 {
		t.Errorf("there are %d sessions", n)
	}
	s.List(alive)
}

// That a session has expired is written down, so that it stays so whatever the clock says later.
func TestExpiryIsWrittenDown(t *testing.T) {
	s, a, schema := beside(t)
	for name, ask := range map[string]func(session string) error{
		"renew":   func(session string) error { _, err := s.Renew(s.Ctx, session, 0, false); return err },
		"acquire": func(session string) error { _, err := s.Acquire(s.Ctx, session, []string{"x"}, false); return err },
	} {
		session := s.Session(time.Hour)
		a.do("UPDATE "+schema+".session SET expires_at = clock_timestamp() WHERE id = $1", session)
		if err := ask(session); !expired(err) {
			t.Errorf("%s: %v", name, err)
		}
		if n := a.number("SELECT count(*) FROM "+schema+".session WHERE id = $1 AND expires_at > 'epoch'", session); n != 0 {
			t.Errorf("%s: it is not written down", name)
		}
	}
}

// A session with more leases than its row lists has them all in its renewals, and one that has given
// most of them back is listed in its row again.
func TestManyLeases(t *testing.T) {
	s, a, schema := beside(t)
	session := s.Session(time.Hour)
	listed := func() int64 {
		return a.number("SELECT coalesce(cardinality(names), -1) FROM "+schema+".session WHERE id = $1", session)
	}
	s.Hold(session, 200)
	if n := listed(); n != 200 {
		t.Errorf("its row lists %d", n)
	}
	s.Hold(session, 300) // 100 of them are new
	r := s.List(session)
	if len(r.Leases) != 300 || listed() != -1 {
		t.Errorf("it has %d leases, and its row lists %d", len(r.Leases), listed())
	}
	if r, err := s.Renew(s.Ctx, session, r.Revision, false); err != nil || r.Complete {
		t.Errorf("nothing has changed: %v, %v", r.Complete, err)
	}
	if err := s.Release(s.Ctx, session, r.Leases[:100]); err != nil {
		t.Fatal(err)
	}
	if r := s.List(session); len(r.Leases) != 200 || listed() != 200 {
		t.Errorf("it has %d leases, and its row lists %d", len(r.Leases), listed())
	}
	if err := s.Release(s.Ctx, session, s.List(session).Leases[:50]); err != nil {
		t.Fatal(err)
	}
	if r := s.List(session); len(r.Leases) != 150 || listed() != 150 {
		t.Errorf("it has %d leases, and its row lists %d", len(r.Leases), listed())
	}
}

// What an operator removes by hand is gone at the next complete list (R24).
func TestRowsRemovedByHand(t *testing.T) {
	s, a, schema := beside(t)
	session := s.Session(time.Hour)
	s.Win(session, "a")
	s.Win(session, "b")
	a.do("UPDATE " + schema + ".lease SET session = NULL WHERE name = 'a'")
	if r := s.List(session); len(r.Leases) != 1 || r.Leases[0].Name != "b" {
		t.Errorf("the session has %v", r.Leases)
	}
	token := s.Win(session, "a") // it has it twice in its row now
	if r := s.List(session); len(r.Leases) != 2 {
		t.Errorf("the session has %v", r.Leases)
	}
	s.Free(session, "a", token)
	if r := s.List(session); len(r.Leases) != 1 {
		t.Errorf("the session has %v", r.Leases)
	}
	a.do("DELETE FROM " + schema + ".session")
	if _, err := s.Renew(s.Ctx, session, 0, false); !expired(err) {
		t.Errorf("got %v", err)
	}
}

func TestOpenIsChecked(t *testing.T) {
	s := fresh(t)
	for _, lease := range []time.Duration{0, -time.Second, 999} {
		if _, err := s.Open(s.Ctx, lease, ""); !contains(err, "at least 1µs") {
			t.Errorf("%v: got %v", lease, err)
		}
	}
	session := s.Session(math.MaxInt64) // for ever
	s.Win(session, "name")
	s.List(session)
	grant, err := s.Open(s.Ctx, time.Hour, "a\x00b\xffc")
	if err != nil {
		t.Fatal(err)
	}
	s.Win(grant.Session, "odd")
	if h := s.Holder("odd"); h.Label != "a\uFFFDb\uFFFDc" {
		t.Errorf("the label is %q", h.Label)
	}
}

// A database whose transactions are isolated in another way, or are not durable, does no harm.
func TestDatabaseIsSetOtherwise(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	a.do("CREATE ROLE odd LOGIN SUPERUSER")
	a.do("ALTER ROLE odd SET default_transaction_isolation = 'serializable'")
	a.do("ALTER ROLE odd SET synchronous_commit = off")
	a.do("ALTER ROLE odd SET statement_timeout = '1h'")
	url = strings.Replace(url, "postgres@", "odd@", 1)
	s := opened(t, url)
	s.Win(s.Session(time.Hour), "name")

	config, _, err := ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := New(drivertest.Within(t), userPool(t, config), options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kept(t, opened).Open(drivertest.Within(t), time.Hour, "")
	if !contains(err, "must be read committed") || !contains(err, "default_transaction_isolation") {
		t.Errorf("got %v", err)
	}
	for set, want := range map[string]string{"off": "on", "local": "local", "remote_apply": "remote_apply"} {
		a.do("BEGIN")
		a.do("SET LOCAL synchronous_commit = " + set)
		a.do("SELECT " + options.Schema + ".guard()")
		var got string
		if err := a.QueryRow(drivertest.Within(t), "SHOW synchronous_commit").Scan(&got); err != nil || got != want {
			t.Errorf("synchronous_commit %s becomes %q in place of %s: %v", set, got, want, err)
		}
		a.do("ROLLBACK")
	}
}

// All updates stay on their page, and touch no index. One call follows the other here: where many are
// under way at once, one that takes long keeps what it may still see from being cleared away.
func TestUpdatesAreHOT(t *testing.T) {
	const sessions, rounds = 4, 200
	s, a, schema := beside(t)
	var ids [sessions]string
	for i := range ids {
		ids[i] = s.Session(time.Hour)
	}
	for range rounds {
		for i, id := range ids {
			name := fmt.Sprintf("name-%d", i)
			s.Free(id, name, s.Win(id, name))
			s.List(id)
		}
	}
	if err := s.Close(); err != nil { // the server counts when a connection ends
		t.Fatal(err)
	}
	count := func(table, what string) int64 {
		return a.number("SELECT "+what+" FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2", schema, table)
	}
	for table, least := range map[string]int64{"session": sessions * rounds * 3, "lease": sessions * rounds * 2} {
		drivertest.Eventually(t, "the statistics are there", func() bool { return count(table, "n_tup_upd") >= least })
		if all, hot := count(table, "n_tup_upd"), count(table, "n_tup_hot_upd"); all != hot {
			t.Errorf("%d of %d updates of %s were not HOT", all-hot, all, table)
		}
	}
}
