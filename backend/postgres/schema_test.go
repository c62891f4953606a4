package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
)

// fails checks that an error is what it must be, and says which database it is about.
func fails(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "simba: postgres: ") {
		tb.Fatalf("got the error %v in place of %v", err, want)
	}
	if errors.Is(err, backend.ErrExpired) {
		tb.Fatalf("R2: it ends a session for good: %v", err)
	}
}

// Processes that make the tables at the same moment do not disturb each other, nor one that does so
// while they are in use.
func TestMigrateAtOnce(t *testing.T) {
	db := server.For(t)
	options := Options{Schema: "at_once"}
	url := db.URL + "&simba_schema=at_once"
	var wg sync.WaitGroup
	for range 8 {
		conn := admin(t, db)
		wg.Go(func() {
			if err := Migrate(drivertest.Within(t), conn.Conn, options); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := opened(t, url)
	token := s.Win(s.Session(time.Hour), "name")
	if err := Migrate(drivertest.Within(t), admin(t, db).Conn, options); err != nil {
		t.Fatal(err)
	}
	if h := s.Holder("name"); h.Token != token {
		t.Errorf("after another migration: %+v", h)
	}
}

// The script does the same, for administrators, and leaves alone what is there.
func TestScript(t *testing.T) {
	db := server.For(t)
	options := Options{Schema: "user"} // a word of SQL
	script, err := Script(options)
	if err != nil {
		t.Fatal(err)
	}
	a := admin(t, db)
	run := func() error {
		_, err := a.PgConn().Exec(drivertest.Within(t), script).ReadAll()
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	s := opened(t, db.URL+"&simba_schema=user")
	token := s.Win(s.Session(time.Hour), "name")
	if err := run(); err == nil {
		t.Error("it was run twice without an error")
	}
	a.do("ROLLBACK")
	if err := Migrate(drivertest.Within(t), a.Conn, options); err != nil {
		t.Error(err)
	}
	if h := s.Holder("name"); h.Token != token {
		t.Errorf("after another run: %+v", h)
	}
}

// Clients of two schemas do not see each other.
func TestSchemasAreApart(t *testing.T) {
	a, b := fresh(t), fresh(t)
	a.Win(a.Session(time.Hour), "name")
	b.Win(b.Session(time.Hour), "name")
}

// What a newer program has made is not touched.
func TestNewerVersion(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	a.do("UPDATE "+options.Schema+".version SET version = $1", Version+1)
	_, err := Open(drivertest.Within(t), url)
	fails(t, err, ErrVersion)
	fails(t, Migrate(drivertest.Within(t), a.Conn, options), ErrVersion)
	a.do("UPDATE "+options.Schema+".version SET version = $1", Version-1)
	_, err = Open(drivertest.Within(t), url)
	fails(t, err, ErrVersion)
	if !strings.Contains(err.Error(), "simba migrate") {
		t.Errorf("it does not say what to do about old tables: %v", err)
	}
}

// Without tables, or with some of them gone, every call says so, and leaves nothing behind.
func TestMissingTables(t *testing.T) {
	db := server.For(t)
	_, err := Open(drivertest.Within(t), db.URL+"&simba_schema=nowhere")
	fails(t, err, ErrNoSchema)
	for _, drop := range []string{"DROP SCHEMA %s CASCADE", "DROP TABLE %s.session", "DROP FUNCTION %s.guard()"} {
		url, options := newSchema(t, db)
		s := opened(t, url)
		session := s.Session(time.Hour)
		token := s.Win(session, "name")
		admin(t, db).do(fmt.Sprintf(drop, options.Schema))
		for name, err := range s.Everything(session, backend.Lease{Name: "name", Token: token}) {
			if name == "Inspect" && strings.Contains(drop, "guard") || (name == "Release" || name == "CloseSession") && strings.Contains(drop, "guard") {
				continue
			}
			if !errors.Is(err, ErrNoSchema) {
				t.Errorf("%s: %s: got %v", drop, name, err)
			}
		}
		s.leavesNothing()
	}
}

// leavesNothing checks that no connection of the pools is in use, or in a transaction.
func (s *store) leavesNothing() {
	s.TB.Helper()
	drivertest.Eventually(s.TB, "no connection is in use", func() bool {
		return s.calls.Stat().AcquiredConns() == 0 && s.renewals.Stat().AcquiredConns() == 0
	})
	a := admin(s.TB, server.For(s.TB))
	drivertest.Eventually(s.TB, "no connection is in a transaction", func() bool {
		return a.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'", s.options.Schema) == 0
	})
}

// The privileges of docs/backends/postgres.md are enough, and without them the error says so.
func TestPrivileges(t *testing.T) {
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	a.do("CREATE ROLE app LOGIN")
	a.do("CREATE ROLE reader LOGIN")
	as := func(role string) string { return strings.Replace(url, "postgres@", role+"@", 1) }
	_, err := Open(drivertest.Within(t), as("app"))
	fails(t, err, ErrPrivilege)

	for _, grant := range []string{
		"GRANT USAGE ON SCHEMA %s TO app, reader",
		"GRANT SELECT ON ALL TABLES IN SCHEMA %s TO app, reader",
		"GRANT INSERT, UPDATE, DELETE ON %[1]s.session, %[1]s.lease, %[1]s.note TO app",
	} {
		a.do(fmt.Sprintf(grant, options.Schema))
	}
	s := opened(t, as("app"))
	session := s.Session(time.Hour)
	token := s.Win(session, "name")
	s.List(session)
	reader := opened(t, as("reader"))
	for name, err := range reader.Everything(session, backend.Lease{Name: "name", Token: token}) {
		if name == "Inspect" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, ErrPrivilege) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if h := s.Holder("name"); h.Token != token {
		t.Errorf("after calls that were refused: %+v", h)
	}
	for name, err := range s.Everything(session, backend.Lease{Name: "name", Token: token}) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Migrate(drivertest.Within(t), connect(t, as("app")), Options{Schema: "another"}); !errors.Is(err, ErrPrivilege) {
		t.Errorf("a migration without privileges: %v", err)
	}
	reader.leavesNothing()

	// Who makes the tables needs one privilege, or a schema that somebody has made.
	a.do("CREATE ROLE maker LOGIN")
	a.do("CREATE SCHEMA made AUTHORIZATION maker")
	if err := Migrate(drivertest.Within(t), connect(t, as("maker")), Options{Schema: "made"}); err != nil {
		t.Error(err)
	}
	a.do("GRANT CREATE ON DATABASE postgres TO maker")
	if err := Migrate(drivertest.Within(t), connect(t, as("maker")), Options{Schema: "of_maker"}); err != nil {
		t.Error(err)
	}
}

func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	config, _, err := ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(drivertest.Within(tb), config.ConnConfig)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(drivertest.Within(tb)) })
	return conn
}

func TestURL(t *testing.T) {
	const url = "postgres://u:secret@h:1/d?sslmode=disable&pool_max_conns=7"
	config, options, err := ParseURL(url + "&simba_schema=locks&simba_direct=postgres%3A%2F%2Fdirect%2Fd")
	if err != nil {
		t.Fatal(err)
	}
	if options.Schema != "locks" || options.Direct != "postgres://direct/d" || config.MaxConns != 7 {
		t.Errorf("%+v, %d connections", options, config.MaxConns)
	}
	for _, name := range []string{"simba_schema", "simba_direct"} {
		if _, ok := config.ConnConfig.RuntimeParams[name]; ok {
			t.Errorf("the server would be asked for %s", name)
		}
	}
	if _, options, err := ParseURL("host=h user=u"); err != nil || options.schema() != DefaultSchema {
		t.Errorf("key=value: %+v, %v", options, err)
	}
	for _, bad := range []string{
		url + "&simba_schema=Locks", url + "&simba_schema=a-b", url + "&simba_schema=" + strings.Repeat("x", 41),
		url + "&simba_schema=%zz", url + "&simba_direct=postgres%3A%2F%2Fu%3Asecret%40h%3Ax%2Fd", url + "&sslmode=quite", "postgres://u:secret@h:port/d",
	} {
		_, _, err := ParseURL(bad)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "simba: postgres: ") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

// Two of them through a pooler, which gives both the same connection, with what is prepared there.
func TestMigrateThroughPgBouncer(t *testing.T) {
	t.Parallel()
	options := Options{Schema: "pooled"}
	for range 2 {
		conn, err := pgx.Connect(drivertest.Within(t), pooler.For(t).URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := Migrate(drivertest.Within(t), conn, options); err != nil {
			t.Error(err)
		}
		if err := conn.Close(drivertest.Within(t)); err != nil {
			t.Error(err)
		}
	}
}

// Whoever waits for another migration sees what that has made, whatever isolation the database asks for.
func TestMigrateInARow(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	options := Options{Schema: "in_a_row"}
	first, second := admin(t, db), admin(t, db)
	second.do("SET default_transaction_isolation = 'repeatable read'")
	tx, err := first.Begin(drivertest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(drivertest.Within(t), tx, options); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Migrate(drivertest.Within(t), second.Conn, options) }()
	drivertest.Eventually(t, "the other one waits", func() bool {
		return first.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") > 0
	})
	if err := tx.Commit(drivertest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What others put into a schema of the caller's search path is not run.
func TestSearchPath(t *testing.T) {
	t.Parallel()
	db := server.For(t)
	url, options := newSchema(t, db)
	a := admin(t, db)
	a.do("CREATE SCHEMA trap")
	for _, f := range []string{
		"unnest(text[]) RETURNS SETOF text", "cardinality(text[]) RETURNS integer", "array_remove(text[], text) RETURNS text[]",
		"append(text[], text) RETURNS text[]",
	} {
		a.do("CREATE FUNCTION trap." + f + " LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$")
	}
	a.do("CREATE OPERATOR trap.|| (LEFTARG = text[], RIGHTARG = text, FUNCTION = trap.append)")
	s := opened(t, url+"&search_path=trap")
	session := s.Session(time.Hour)
	lease := backend.Lease{Name: "name", Token: s.Win(session, "name")}
	for name, err := range s.Everything(session, lease) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.cry(s.Ctx, []string{"name"}); err != nil {
		t.Errorf("%s: %v", options.Schema, err)
	}
}

// A URL with a mistake may have it in the password, so no part of that is repeated.
func TestNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"postgres://app:se/cr-et@db/app",
		"postgres://app:se#cr-et@db/app",
		"postgres://app:se?cr-et@db/app",
		"postgres://app:cr-et%zz@db/app",
		"postgres://app:cr-et@db:port/app",
		"postgres://db/app?password=cr-et&sslmode=wrong",
		"host=db password = cr-et sslmode=wrong",
		"host=db password='cr-et sslmode=wrong",
		"postgres://db/app?simba_direct=" + "postgres%3A%2F%2Fapp%3Acr-et%2F%40db%3Aport",
	} {
		_, err := Open(drivertest.Within(t), wrong)
		if err == nil || strings.Contains(err.Error(), "cr-et") || strings.Contains(err.Error(), "se/") || strings.Contains(err.Error(), ":se") {
			t.Errorf("%s: got %v", wrong, err)
		}
	}
}
