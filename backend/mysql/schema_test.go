package mysql

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
)

// Processes that make the tables at the same moment do not disturb each other, nor one that does so
// while they are in use.
func TestMigrateAtOnce(t *testing.T) {
	url := empty(t, server.For(t))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			config, err := ParseURL(url)
			if err == nil {
				err = Migrate(drivertest.Within(t), config)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := opened(t, url)
	token := s.Win(s.Session(time.Hour), "name")
	migrated(t, url)
	if h := s.Holder("name"); h.Token != token {
		t.Errorf("after another migration: %+v", h)
	}
}

// The script does the same, for administrators, and may be applied again.
func TestScript(t *testing.T) {
	url := empty(t, server.For(t))
	a := admin(t, url)
	body, ok := strings.CutPrefix(Script(), "DELIMITER //\n")
	body, end := strings.CutSuffix(body, "\n//\nDELIMITER ;\n")
	if !ok || !end {
		t.Fatal("the script is not for the command-line client")
	}
	run := func() {
		for statement := range strings.SplitSeq(body, "\n//\n") {
			a.do(statement)
		}
	}
	run()
	s := opened(t, url)
	token := s.Win(s.Session(time.Hour), "name")
	run()
	migrated(t, url)
	if h := s.Holder("name"); h.Token != token {
		t.Errorf("after another run: %+v", h)
	}
}

// What a newer program has made is not touched.
func TestNewerVersion(t *testing.T) {
	url := newDatabase(t, server.For(t))
	config, err := ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	a := admin(t, url)
	a.do("UPDATE simba_version SET version = ?", Version+1)
	_, err = Open(drivertest.Within(t), url)
	fails(t, err, ErrVersion)
	fails(t, Migrate(drivertest.Within(t), config), ErrVersion)
	a.do("UPDATE simba_version SET version = ?", Version-1)
	_, err = Open(drivertest.Within(t), url)
	fails(t, err, ErrVersion)
	if !strings.Contains(err.Error(), "simba migrate") {
		t.Errorf("it does not say what to do about old tables: %v", err)
	}
}

// Without tables, or with some of them gone, calls say so, and leave nothing behind.
func TestMissingTables(t *testing.T) {
	_, err := Open(drivertest.Within(t), empty(t, server.For(t)))
	fails(t, err, ErrNoSchema)
	if n := strings.Count(err.Error(), ErrNoSchema.Error()); n != 1 {
		t.Errorf("it says so %d times: %v", n, err)
	}
	_, err = Open(drivertest.Within(t), "mysql://root@"+server.For(t).Addr+"/no_such_database")
	fails(t, err, ErrNoSchema)
	for drop, spared := range map[string]string{
		"DROP TABLE simba_session":                           "",
		"DROP TABLE simba_lease":                             "Open CloseSession",
		"DROP PROCEDURE simba_acquire":                       "Open Renew KeepNote Release Inspect CloseSession",
		"ALTER TABLE simba_session RENAME COLUMN lease TO l": "Acquire KeepNote Release Inspect CloseSession",
	} {
		s, a := beside(t)
		session := s.Session(time.Hour)
		token := s.Win(session, "name")
		a.do(drop)
		for name, err := range s.Everything(session, backend.Lease{Name: "name", Token: token}) {
			if want := !strings.Contains(spared, name); want != errors.Is(err, ErrNoSchema) {
				t.Errorf("%s: %s: got %v", drop, name, err)
			}
		}
		s.leavesNothing()
	}
}

// The privileges of docs/backends/mysql.md are enough, and without them the error says so.
func TestPrivileges(t *testing.T) {
	s, a := beside(t)
	database := s.where[strings.LastIndex(s.where, "/")+1:]
	as := func(user string) string { return "mysql://" + user + "@" + server.For(t).Addr + "/" + database }
	for _, user := range []string{"app", "reader", "stranger"} {
		a.do("CREATE OR REPLACE USER " + user)
	}
	a.do("GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON " + database + ".* TO app")
	a.do("GRANT SELECT, EXECUTE ON " + database + ".* TO reader")
	_, err := Open(drivertest.Within(t), as("stranger"))
	fails(t, err, ErrPrivilege)

	app, reader := opened(t, as("app")), opened(t, as("reader"))
	session := app.Session(time.Hour)
	token := app.Win(session, "name")
	for name, err := range reader.Everything(session, backend.Lease{Name: "name", Token: token}) {
		if want := name != "Inspect"; want != errors.Is(err, ErrPrivilege) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if h := app.Holder("name"); h.Token != token {
		t.Errorf("after calls that were refused: %+v", h)
	}
	for name, err := range app.Everything(session, backend.Lease{Name: "name", Token: token}) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	config, err := ParseURL(as("app"))
	if err != nil {
		t.Fatal(err)
	}
	a.do("UPDATE simba_version SET version = 0")
	if err := Migrate(drivertest.Within(t), config); !errors.Is(err, ErrPrivilege) {
		t.Errorf("a migration without privileges: %v", err)
	}
	a.do("CREATE OR REPLACE USER maker")
	a.do("GRANT CREATE, CREATE ROUTINE, ALTER ROUTINE, SELECT, INSERT, DELETE ON " + database + ".* TO maker")
	migrated(t, as("maker"))
	if app.Win(app.Session(time.Hour), "name") <= token {
		t.Error("R19: tokens went back")
	}
}

// A server that does not write, or whose clock stands still while a statement waits, is refused; one
// that stops to write while it is in use says so.
func TestServerIsSetOtherwise(t *testing.T) {
	db, err := mariaDB("--sysdate-is-now")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	_, err = Open(drivertest.Within(t), newDatabase(t, db))
	fails(t, err, ErrClock)

	shared := server.For(t)
	url := newDatabase(t, shared)
	a := admin(t, url)
	a.do("CREATE OR REPLACE USER plain")
	a.do("GRANT ALL ON *.* TO plain")
	a.do("REVOKE READ ONLY ADMIN, SUPER ON *.* FROM plain")
	url = strings.Replace(url, "root@", "plain@", 1)
	s := opened(t, url)
	session := s.Session(time.Hour)
	token := s.Win(session, "name")
	t.Cleanup(func() { a.do("SET GLOBAL read_only = 0") })
	a.do("SET GLOBAL read_only = 1")
	for name, err := range s.Everything(session, backend.Lease{Name: "name", Token: token}) {
		if want := name != "Inspect"; want != errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err = Open(drivertest.Within(t), url)
	fails(t, err, ErrReadOnly)
	a.do("SET GLOBAL read_only = 0")
	if r := s.List(session); len(r.Leases) != 1 {
		t.Errorf("afterwards it has %v", r.Leases)
	}
}

func TestURL(t *testing.T) {
	c, err := ParseURL("mysql://us%40er:pa%3Ass%2F@host/db?tls=skip-verify&timeout=3s")
	if err != nil {
		t.Fatal(err)
	}
	if c.User != "us@er" || c.Passwd != "pa:ss/" || c.Addr != "host:3306" || c.DBName != "db" || c.TLSConfig != "skip-verify" || c.Timeout != 3*time.Second {
		t.Errorf("%+v", c)
	}
	if c, err = ParseURL("user:secret@unix(/run/sock)/db"); err != nil || c.Net != "unix" || c.Addr != "/run/sock" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = ParseURL("mysql://u@[::1]:33/db"); err != nil || c.Addr != "[::1]:33" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = ParseURL("user:se?cr/et@tcp(host)/db?timeout=3s"); err != nil || c.Passwd != "se?cr/et" || c.Timeout != 3*time.Second {
		t.Errorf("%+v, %v", c, err)
	}
	// The name in the certificate is that of the host.
	if c, err = ParseURL("mysql://u@host/db?tls=true&loc=Europe/Berlin"); err != nil || c.TLS.ServerName != "host" || c.Loc.String() != "Europe/Berlin" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{
		"u:secret/x@tcp(host)", "u:x/secret%zz", "u:x/secret%zz?parseTime=true", "u:secret@tcp(h)/db?tls=none-such",
		"mysql://u:secret@host", "mysql://u:secret@/db", "mysql://u:secret@host:port/db", "mysql://u:secret@host/db?tls=none-such",
		"mysql://u:secret%@host/db", "u:secret@host/db", "mysql://u:secret@host/db?timeout=3", "",
	} {
		_, err := ParseURL(bad)
		if err == nil {
			c, _ := ParseURL(bad)
			_, err = newConnector(c) // the driver checks some of it there
		}
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

// The defaults of the server for things that change what statements do are not ours.
func TestDefaultsOfTheServer(t *testing.T) {
	db, err := mariaDB("--completion-type=CHAIN", "--autocommit=0", "--innodb-force-primary-key=ON", "--init-connect=SET sql_safe_updates=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Stop()
	root := admin(t, "mysql://root@"+db.Addr+"/simba")
	for _, statement := range []string{
		"CREATE USER app", "GRANT ALL ON simba.* TO app",
		"SET GLOBAL sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
	} {
		root.do(statement)
	}
	url := "mysql://app@" + db.Addr + "/simba" // init_connect is not for root
	migrated(t, url)
	s, near := opened(t, url), opened(t, url)
	grant, err := s.Open(s.Ctx, time.Hour, `it's a \"label\"`)
	if err != nil {
		t.Fatal(err)
	}
	s.Win(grant.Session, "name")
	if h := near.Holder("name"); h.Label != `it's a \"label\"` {
		t.Errorf("%+v", h)
	}
	if err := s.CloseSession(s.Ctx, grant.Session); err != nil {
		t.Fatal(err)
	}
	near.Win(near.Session(time.Hour), "name")
}
