package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencesql"
)

func tokens(t testing.TB, w world) fencesql.Table {
	t.Helper()
	table := fencesql.Table{Dialect: w.dialect}
	for range 2 { // the second time it is there
		if err := table.Create(t.Context(), w.db); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func (w world) deposit(ctx context.Context, table fencesql.Table, token uint64, balance int) error {
	return table.Do(ctx, w.db, "ledger", token, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE account SET balance = "+w.holder(1)+" WHERE id = 1", balance)
		return err
	})
}

func (w world) seen(t testing.TB) int64 {
	t.Helper()
	return w.number(t, "SELECT COALESCE(MAX(token), 0) FROM simba_fence WHERE name = 'ledger'")
}

// Two writers; the older token writes last.
func TestTableRefusesTheOlderWriter(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		for _, step := range []struct {
			token   uint64
			balance int
		}{{5, 110}, {9, 120}, {9, 130}, {9, 130}} {
			if err := w.deposit(t.Context(), table, step.token, step.balance); err != nil {
				t.Fatalf("%v: %v", step, err)
			}
		}
		err := w.deposit(t.Context(), table, 5, 70)
		var stale *fence.StaleError
		if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: "ledger", Token: 5, Highest: 9}) {
			t.Errorf("got %v", err)
		}
		w.expect(t, 1, 130, 0)
		if w.seen(t) != 9 {
			t.Errorf("the table has %d", w.seen(t))
		}
	})
}

// The guard and the write commit together, or not at all.
func TestTableIsUndoneWithTheWrite(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		if err := w.deposit(t.Context(), table, 3, 110); err != nil {
			t.Fatal(err)
		}
		oops := errors.New("oops")
		if err := table.Do(t.Context(), w.db, "ledger", 9, func(*sql.Tx) error { return oops }); err != oops {
			t.Errorf("got %v", err)
		}
		if err := w.deposit(t.Context(), table, 9, -1); err == nil {
			t.Error("the check of the table was passed")
		}
		if w.seen(t) != 3 {
			t.Errorf("the table has %d, want 3", w.seen(t))
		}
		if err := w.deposit(t.Context(), table, 4, 140); err != nil {
			t.Errorf("4 after 3: %v", err)
		}
		w.expect(t, 1, 140, 0)
	})
}

func TestTableAfterAPanic(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		func() {
			defer func() { recover() }()
			table.Do(t.Context(), w.db, "ledger", 9, func(*sql.Tx) error { panic("oops") })
		}()
		if w.seen(t) != 0 {
			t.Errorf("the table has %d", w.seen(t))
		}
		if err := w.deposit(t.Context(), table, 4, 140); err != nil {
			t.Errorf("after the panic: %v", err)
		}
	})
}

// While a transaction has the name, another token waits: what the older one was about to write comes first.
func TestTableHoldsTheNameUntilTheCommit(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		tx, err := w.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if err := table.Advance(t.Context(), tx, "ledger", 3); err != nil {
			t.Fatal(err)
		}
		began, done := make(chan struct{}), make(chan error, 1)
		go func() {
			close(began)
			done <- w.deposit(t.Context(), table, 9, 900)
		}()
		<-began
		if _, err := tx.ExecContext(t.Context(), "UPDATE account SET balance = balance + 1 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("the higher token did not wait: %v", err)
		default:
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.expect(t, 1, 900, 0)
	})
}

// Whatever the order in which writers come, the journal has no token out of order.
func TestTableConcurrentWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		const writers, each = 6, 10
		w.db.SetMaxOpenConns(writers)
		table := tokens(t, w)
		if err := w.deposit(t.Context(), table, 1, 0); err != nil { // the row is there
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for writer := range writers {
			all.Go(func() {
				for n := range each {
					token := int64(1 + (n*7+writer*13)%59)
					err := table.Do(t.Context(), w.db, "ledger", uint64(token), func(tx *sql.Tx) error {
						var last int64
						if err := tx.QueryRowContext(t.Context(), "SELECT balance FROM account WHERE id = 1"+w.forUpdate()).Scan(&last); err != nil {
							return err
						}
						if last > token {
							t.Errorf("token %d writes after %d", token, last)
						}
						_, err := tx.ExecContext(t.Context(), "UPDATE account SET balance = "+w.holder(1)+" WHERE id = 1", token)
						return err
					})
					if err != nil && !errors.Is(err, fence.ErrStale) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if balance, _ := w.account(t, 1); balance != w.seen(t) {
			t.Errorf("written last was %d, but the highest token is %d", balance, w.seen(t))
		}
	})
}

func (w world) forUpdate() string {
	if w.dialect == fencesql.SQLite {
		return ""
	}
	return " FOR UPDATE"
}

func TestTableTokensAndNames(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		nothing := func(*sql.Tx) error { t.Error("it ran"); return nil }
		if err := table.Do(t.Context(), w.db, "ledger", 0, nothing); !errors.Is(err, fence.ErrZero) {
			t.Errorf("0: %v", err)
		}
		if err := table.Do(t.Context(), w.db, "ledger", math.MaxInt64+1, nothing); !errors.Is(err, fence.ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
		var bad *backend.NameError
		if err := table.Do(t.Context(), w.db, "übertrag", 1, nothing); !errors.As(err, &bad) {
			t.Errorf("bad name: %v", err)
		}
		// Names that differ in case only are two.
		for name, token := range map[string]uint64{"Ledger": 9, "ledger": 5, strings.Repeat("n", backend.MaxName): 3} {
			if err := table.Do(t.Context(), w.db, name, token, func(*sql.Tx) error { return nil }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if w.seen(t) != 5 {
			t.Errorf("the table has %d, want 5", w.seen(t))
		}
	})
}

// Programs that start at the same time may all make the table.
func TestTableCreatedAtTheSameTime(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		const rounds, programs = 5, 8
		for range rounds {
			w.exec(t, "DROP TABLE IF EXISTS simba_fence")
			var all sync.WaitGroup
			for range programs {
				all.Go(func() {
					if err := (fencesql.Table{Dialect: w.dialect}).Create(t.Context(), w.db); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
	})
}

func TestTableMistakes(t *testing.T) {
	for want, table := range map[string]fencesql.Table{
		"say which database": {},
		`the table "a b"`:    {Dialect: fencesql.MySQL, Name: "a b"},
	} {
		if _, err := table.Schema(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestTableThatIsNotThere(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		err := w.deposit(t.Context(), fencesql.Table{Dialect: w.dialect, Name: "no_such_table"}, 3, 5)
		if err == nil || errors.Is(err, fence.ErrUnknown) || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), "no_such_table") {
			t.Errorf("got %v", err)
		}
		w.expect(t, 1, 100, 0)
	})
}

// A transaction that has read before is not fooled by what it saw then.
func TestTableInAnOldSnapshot(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelSerializable} {
			w.exec(t, "DELETE FROM simba_fence")
			tx, err := w.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			var n int
			// Serializable transactions of MySQL lock what they read, so it is not what is written here.
			if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM account WHERE id = 2").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if err := w.deposit(t.Context(), table, 9, 900); err != nil {
				t.Fatal(err)
			}
			err = table.Advance(t.Context(), tx, "ledger", 8)
			// An old snapshot may not write at all in SQLite, nor a serializable one in PostgreSQL.
			refuses := w.dialect == fencesql.SQLite || w.dialect == fencesql.PostgreSQL && level == sql.LevelSerializable
			if err == nil || errors.Is(err, fence.ErrStale) == refuses {
				t.Errorf("%v: %v", level, err)
			}
			tx.Rollback()
			w.expect(t, 1, 900, 0)
		}
	})
}

// Nobody is told that nothing was written by a transaction that its user has committed.
func TestTableCommittedByItsUser(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		table := tokens(t, w)
		err := table.Do(t.Context(), w.db, "ledger", 3, func(tx *sql.Tx) error { return tx.Commit() })
		if !errors.Is(err, fence.ErrUnknown) || !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("got %v", err)
		}
		if w.seen(t) != 3 {
			t.Errorf("the table has %d", w.seen(t))
		}
	})
}

// An answer that is lost is an unknown outcome: here the write has happened.
func TestLostAnswers(t *testing.T) {
	var lose atomic.Bool
	config, err := pgx.ParseConfig(postgres.For(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // one round trip
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return swallowing{conn, &lose}, err
	}
	w := world{fencesql.PostgreSQL, stdlib.OpenDB(*config)}
	defer w.db.Close()
	w.exec(t, "DROP TABLE IF EXISTS account, simba_fence")
	w.exec(t, "CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL, token bigint)")
	w.exec(t, "INSERT INTO account (id, balance) VALUES (1, 100)")
	table := tokens(t, w)

	lose.Store(true)
	err = accounts(w).Update(t.Context(), w.db, 3, 1, "balance = $1", 30)
	lose.Store(false)
	if !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("an update: %v", err)
	}
	w.expect(t, 1, 30, 3)
	err = table.Do(t.Context(), w.db, "ledger", 4, func(*sql.Tx) error { lose.Store(true); return nil })
	lose.Store(false)
	if !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("a commit: %v", err)
	}
	if w.seen(t) != 4 {
		t.Errorf("the table has %d", w.seen(t))
	}
}

// swallowing is a connection that loses what the server says, after it has heard it.
type swallowing struct {
	net.Conn
	lose *atomic.Bool
}

// Read reads an answer, and keeps it.
func (c swallowing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.Load() {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}
