package fencepgx_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencepgx"
	"github.com/simba-go/simba/internal/servers"
)

var postgres = servers.Share(servers.Postgres)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.During(m, postgres)) }

var accounts = fencepgx.Column{Table: "account", Key: "id", Token: "token"}

// pool is a pool to a database that has one account, with 100, and a table of tokens.
func pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), postgres.For(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `
		DROP TABLE IF EXISTS account, simba_fence;
		CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0), token bigint);
		INSERT INTO account (id, balance) VALUES (1, 100)`); err != nil {
		t.Fatal(err)
	}
	if err := (fencepgx.Table{}).Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

func expect(t *testing.T, db fencepgx.DB, balance, token, table int64) {
	t.Helper()
	var gotBalance, gotToken, gotTable int64
	if err := db.QueryRow(t.Context(), `SELECT balance, COALESCE(token, 0), COALESCE((SELECT token FROM simba_fence WHERE name = 'ledger'), 0)
		FROM account WHERE id = 1`).Scan(&gotBalance, &gotToken, &gotTable); err != nil {
		t.Fatal(err)
	}
	if gotBalance != balance || gotToken != token || gotTable != table {
		t.Errorf("balance %d, token %d, table %d; want %d, %d, %d", gotBalance, gotToken, gotTable, balance, token, table)
	}
}

func deposit(ctx context.Context, db fencepgx.Beginner, token uint64, balance int) error {
	return fencepgx.Table{}.Do(ctx, db, "ledger", token, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE account SET balance = $1 WHERE id = 1", balance)
		return err
	})
}

// Two writers; the older token writes last.
func TestColumnRefusesTheOlderWriter(t *testing.T) {
	db := pool(t)
	for _, token := range []uint64{5, 9, 9} {
		if err := accounts.Update(t.Context(), db, token, 1, "balance = balance + $1", 10); err != nil {
			t.Fatal(err)
		}
	}
	err := accounts.Update(t.Context(), db, 5, 1, "balance = $1", 0)
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: "account 1", Token: 5, Highest: 9}) {
		t.Errorf("got %v", err)
	}
	expect(t, db, 130, 9, 0)
	if err := accounts.Update(t.Context(), db, 9, 77, "balance = $1", 0); !errors.Is(err, fence.ErrNotFound) {
		t.Errorf("no row: %v", err)
	}
	if err := accounts.Update(t.Context(), db, 0, 1, "balance = $1", 0); !errors.Is(err, fence.ErrZero) {
		t.Errorf("0: %v", err)
	}
	if err := accounts.Update(t.Context(), db, 1<<63, 1, "balance = $1", 0); !errors.Is(err, fence.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestTableRefusesTheOlderWriter(t *testing.T) {
	db := pool(t)
	for _, token := range []uint64{5, 9, 9} {
		if err := deposit(t.Context(), db, token, int(token)*10); err != nil {
			t.Fatal(err)
		}
	}
	err := deposit(t.Context(), db, 5, 0)
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: "ledger", Token: 5, Highest: 9}) {
		t.Errorf("got %v", err)
	}
	expect(t, db, 90, 0, 9)
	// The guard and the write commit together, or not at all.
	if err := deposit(t.Context(), db, 11, -1); err == nil || errors.Is(err, fence.ErrUnknown) {
		t.Errorf("a negative balance: %v", err)
	}
	expect(t, db, 90, 0, 9)
}

func TestConcurrentWriters(t *testing.T) {
	db := pool(t)
	highest := uint64(0)
	var all sync.WaitGroup
	for writer := range uint64(4) {
		for n := range uint64(10) {
			highest = max(highest, 1+(n*7+writer*13)%59)
		}
		all.Go(func() {
			for n := range uint64(10) {
				token := 1 + (n*7+writer*13)%59
				for _, err := range []error{
					accounts.Update(t.Context(), db, token, 1, "balance = $1", int(token)*1000),
					fencepgx.Table{}.Do(t.Context(), db, "ledger", token, func(pgx.Tx) error { return nil }),
				} {
					if err != nil && !errors.Is(err, fence.ErrStale) {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	expect(t, db, int64(highest)*1000, int64(highest), int64(highest))
}

// A statement that fails has written nothing, as the server says.
func TestRefusedWrite(t *testing.T) {
	db := pool(t)
	err := accounts.Update(t.Context(), db, 3, 1, "balance = $1", -1)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || errors.Is(err, fence.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	expect(t, db, 100, 0, 0)
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

// An answer that is lost is an unknown outcome: here the write has happened.
func TestLostAnswers(t *testing.T) {
	db := pool(t)
	for name, write := range map[string]func(conn *pgx.Conn, lose *atomic.Bool) error{
		"an update": func(conn *pgx.Conn, lose *atomic.Bool) error {
			lose.Store(true)
			return accounts.Update(t.Context(), conn, 3, 1, "balance = $1", 30)
		},
		"a commit": func(conn *pgx.Conn, lose *atomic.Bool) error {
			return fencepgx.Table{}.Do(t.Context(), conn, "ledger", 3, func(pgx.Tx) error { lose.Store(true); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
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
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			err = write(conn, &lose)
			var unknown *fence.UnknownError
			if !errors.As(err, &unknown) || unknown.Token != 3 || errors.Is(err, fence.ErrStale) {
				t.Fatalf("got %v", err)
			}
		})
	}
	expect(t, db, 30, 3, 3)
}

// mute is a connection on which nothing arrives at the server any more.
type mute struct {
	net.Conn
	lost *atomic.Bool
}

// Write loses what it should send.
func (c mute) Write(b []byte) (int, error) {
	if c.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A server that is out of reach does not hold up whoever has failed, although nobody bounds the rollback.
func TestRollbackWithoutAServer(t *testing.T) {
	pool(t)
	var lost atomic.Bool
	config, err := pgx.ParseConfig(postgres.For(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return mute{conn, &lost}, err
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed, done := errors.New("failed"), make(chan error, 1)
	go func() {
		done <- fencepgx.Table{}.Do(ctx, conn, "ledger", 3, func(pgx.Tx) error {
			lost.Store(true)
			return failed
		})
	}()
	select {
	case err := <-done:
		if err != failed {
			t.Errorf("got %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it still waits for the rollback")
	}
}

// What is said of a commit: a transaction that failed was rolled back, and one that its user has ended is not known.
func TestCommits(t *testing.T) {
	db := pool(t)
	err := fencepgx.Table{}.Do(t.Context(), db, "ledger", 3, func(tx pgx.Tx) error {
		tx.Exec(t.Context(), "no statement") // and goes on as if nothing had happened
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, fence.ErrUnknown) {
		t.Errorf("a transaction that failed: %v", err)
	}
	expect(t, db, 100, 0, 0)
	err = fencepgx.Table{}.Do(t.Context(), db, "ledger", 3, func(tx pgx.Tx) error { return tx.Commit(t.Context()) })
	if !errors.Is(err, fence.ErrUnknown) || !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("a transaction that its user has committed: %v", err)
	}
	expect(t, db, 100, 0, 3)
}
