package fencesql_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/simba-go/simba/fence/fencesql"
	"github.com/simba-go/simba/internal/servers"
)

var (
	postgres = servers.Share(servers.Postgres)
	mariadb  = servers.Share(servers.MariaDB)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.During(m, postgres, mariadb)) }

// world is one database that the tests run on.
type world struct {
	dialect fencesql.Dialect
	db      *sql.DB
}

// holder is the i-th placeholder.
func (w world) holder(i int) string {
	if w.dialect == fencesql.PostgreSQL {
		return "$" + string(rune('0'+i))
	}
	return "?"
}

func (w world) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := w.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// number reads one number.
func (w world) number(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := w.db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// everywhere runs a test on every database. Each has an account table of the test's own.
func everywhere(t *testing.T, test func(t *testing.T, w world)) {
	for name, open := range map[string]func(t testing.TB) world{
		"SQLite":     func(t testing.TB) world { return dial(t, fencesql.SQLite, "sqlite", sqliteURL(t)) },
		"PostgreSQL": func(t testing.TB) world { return dial(t, fencesql.PostgreSQL, "pgx", postgres.For(t).URL) },
		"MariaDB":    func(t testing.TB) world { return dial(t, fencesql.MySQL, "mysql", mariadb.For(t).URL) },
		"MariaDB, found rows": func(t testing.TB) world {
			return dial(t, fencesql.MySQL, "mysql", mariadb.For(t).URL+"?clientFoundRows=true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			for _, table := range []string{"account", "simba_fence"} {
				w.exec(t, "DROP TABLE IF EXISTS "+table)
			}
			w.exec(t, "CREATE TABLE account (id integer NOT NULL PRIMARY KEY, balance bigint NOT NULL, token bigint, CHECK (balance >= 0))")
			w.exec(t, "INSERT INTO account (id, balance, token) VALUES (1, 100, 0), (2, 200, NULL)")
			test(t, w)
		})
	}
}

func sqliteURL(t testing.TB) string {
	return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
}

func dial(t testing.TB, dialect fencesql.Dialect, driver, url string) world {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return world{dialect, db}
}
