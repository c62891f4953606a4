package fencesql_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencesql"
)

func accounts(w world) fencesql.Column {
	return fencesql.Column{Dialect: w.dialect, Table: "account", Key: "id", Token: "token"}
}

func (w world) account(t testing.TB, id int) (balance, token int64) {
	t.Helper()
	if err := w.db.QueryRowContext(t.Context(), "SELECT balance, COALESCE(token, 0) FROM account WHERE id = "+w.holder(1), id).Scan(&balance, &token); err != nil {
		t.Fatal(err)
	}
	return balance, token
}

func (w world) expect(t testing.TB, id int, balance, token int64) {
	t.Helper()
	if b, k := w.account(t, id); b != balance || k != token {
		t.Errorf("account %d has %d under token %d, want %d under %d", id, b, k, balance, token)
	}
}

// Two writers; the older token writes last.
func TestColumnRefusesTheOlderWriter(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		column, set := accounts(w), "balance = "+w.holder(1)
		update := func(token uint64, balance int) error {
			return column.Update(t.Context(), w.db, token, 1, set, balance)
		}
		for _, step := range []struct {
			token   uint64
			balance int
		}{{5, 110}, {9, 120}, {9, 130}, {9, 130}} { // the last one changes nothing
			if err := update(step.token, step.balance); err != nil {
				t.Fatalf("%v: %v", step, err)
			}
			w.expect(t, 1, int64(step.balance), int64(step.token))
		}
		err := update(5, 70)
		var stale *fence.StaleError
		if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: "account 1", Token: 5, Highest: 9}) || !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v", err)
		}
		w.expect(t, 1, 130, 9)
	})
}

func TestColumnOfNull(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		if err := accounts(w).Update(t.Context(), w.db, 3, 2, "balance = balance + "+w.holder(1), 5); err != nil {
			t.Fatal(err)
		}
		w.expect(t, 2, 205, 3)
	})
}

func TestColumnNotFound(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		err := accounts(w).Update(t.Context(), w.db, 3, 77, "balance = "+w.holder(1), 5)
		var missing *fence.NotFoundError
		if !errors.As(err, &missing) || missing.Name != "account 77" || errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v", err)
		}
	})
}

func TestColumnTokens(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		update := func(token uint64) error {
			return accounts(w).Update(t.Context(), w.db, token, 1, "balance = "+w.holder(1), 5)
		}
		if err := update(0); !errors.Is(err, fence.ErrZero) {
			t.Errorf("0: %v", err)
		}
		for _, token := range []uint64{math.MaxInt64 + 1, math.MaxUint64} {
			if err := update(token); !errors.Is(err, fence.ErrTooLarge) {
				t.Errorf("%d: %v", token, err)
			}
		}
		w.expect(t, 1, 100, 0)
		if err := update(math.MaxInt64); err != nil {
			t.Errorf("the greatest: %v", err)
		}
		w.expect(t, 1, 5, math.MaxInt64)
	})
}

// What the database refuses was not written. MySQL's driver does not say so in a way that can
// be known without it, so there it stays unknown.
func TestColumnOfARefusedWrite(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		err := accounts(w).Update(t.Context(), w.db, 3, 1, "balance = "+w.holder(1), -5)
		if err == nil || errors.Is(err, fence.ErrStale) {
			t.Fatalf("got %v", err)
		}
		if unknown := errors.Is(err, fence.ErrUnknown); unknown != (w.dialect == fencesql.MySQL) {
			t.Errorf("unknown is %v: %v", unknown, err)
		}
		w.expect(t, 1, 100, 0)
	})
}

// A caller whose context is done has written nothing, and is told so.
func TestColumnAfterTheContext(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := accounts(w).Update(ctx, w.db, 3, 1, "balance = "+w.holder(1), 5)
		if !errors.Is(err, context.Canceled) || errors.Is(err, fence.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		w.expect(t, 1, 100, 0)
	})
}

// In a transaction the update counts when that commits.
func TestColumnInATransaction(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		set := "balance = " + w.holder(1)
		tx, err := w.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := accounts(w).Update(t.Context(), tx, 7, 1, set, 50); err != nil {
			t.Fatal(err)
		}
		if err := accounts(w).Update(t.Context(), tx, 6, 1, set, 60); !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		w.expect(t, 1, 100, 0)
	})
}

// A transaction that has read before is not fooled by what it saw then.
func TestColumnInAnOldSnapshot(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		set := "balance = " + w.holder(1)
		tx, err := w.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var n int
		if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM account").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err := accounts(w).Update(t.Context(), w.db, 9, 1, set, 90); err != nil {
			t.Fatal(err)
		}
		err = accounts(w).Update(t.Context(), tx, 8, 1, set, 80)
		if w.dialect == fencesql.SQLite {
			// SQLite does not let an old snapshot write at all.
			if err == nil || errors.Is(err, fence.ErrUnknown) {
				t.Errorf("got %v", err)
			}
		} else if !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v", err)
		}
		tx.Rollback()
		w.expect(t, 1, 90, 9)
	})
}

// Whatever the order in which writers come, the row ends with the highest token and what that wrote, and each
// accepted write has found no higher one.
func TestColumnConcurrentWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		const writers, each = 6, 10
		w.db.SetMaxOpenConns(writers)
		column, set := accounts(w), "balance = "+w.holder(1)
		var all sync.WaitGroup
		for writer := range writers {
			all.Go(func() {
				for n := range each {
					token := 1 + (n*7+writer*13)%59
					err := column.Update(t.Context(), w.db, uint64(token), 1, set, token*1000)
					if err != nil && !errors.Is(err, fence.ErrStale) {
						t.Error(err)
					}
					balance, seen := w.account(t, 1)
					if balance != seen*1000 || seen < int64(token) {
						t.Errorf("after token %d: %d under %d", token, balance, seen)
					}
				}
			})
		}
		all.Wait()
		highest := 0
		for writer := range writers {
			for n := range each {
				highest = max(highest, 1+(n*7+writer*13)%59)
			}
		}
		w.expect(t, 1, int64(highest)*1000, int64(highest))
	})
}

// A placeholder too many would write the guard's argument, the token, and an argument too many would choose another row.
func TestColumnPlaceholders(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		refused := func(set string, args ...any) {
			t.Helper()
			err := accounts(w).Update(t.Context(), w.db, 1, 1, set, args...)
			if err == nil || errors.Is(err, fence.ErrUnknown) || !strings.Contains(err.Error(), set) {
				t.Errorf("%s with %d arguments: %v", set, len(args), err)
			}
		}
		if w.dialect == fencesql.PostgreSQL {
			refused("balance = $1")
			refused("balance = $1 + $2", 50)
			refused("balance = $0", 50)
			refused("balance = $99999999999999999999", 50)
		} else {
			refused("balance = ?")
			refused("balance = ? + ?", 50)
			refused("balance = ?", 50, 2)
			refused("balance = 50", 2)
			refused("balance = $1", 50)
			refused("balance = ?1", 50)
			refused("balance = ? + $1", 50)
		}
		w.expect(t, 1, 100, 0)
		w.expect(t, 2, 200, 0)
	})
}

func TestColumnMistakes(t *testing.T) {
	good := fencesql.Column{Dialect: fencesql.SQLite, Table: "account", Key: "id", Token: "token"}
	for name, test := range map[string]struct {
		change func(c *fencesql.Column)
		set    string
		want   string
	}{
		"no dialect":      {func(c *fencesql.Column) { c.Dialect = 0 }, "a = 1", "say which database"},
		"unknown dialect": {func(c *fencesql.Column) { c.Dialect = 9 }, "a = 1", "Dialect(9)"},
		"no table":        {func(c *fencesql.Column) { c.Table = "" }, "a = 1", `the table ""`},
		"bad table":       {func(c *fencesql.Column) { c.Table = "a; DROP" }, "a = 1", `"a; DROP"`},
		"bad key":         {func(c *fencesql.Column) { c.Key = "id OR 1" }, "a = 1", `key column "id OR 1"`},
		"bad token":       {func(c *fencesql.Column) { c.Token = `"a"b"` }, "a = 1", "token column"},
		"nothing to set":  {func(*fencesql.Column) {}, " ", "nothing to set"},
		"a comment":       {func(*fencesql.Column) {}, "a = 1 --", `"--"`},
		"a long comment":  {func(*fencesql.Column) {}, "a = 1 /*", `"/*"`},
		"two statements":  {func(*fencesql.Column) {}, "a = 1; DELETE", `";"`},
		"a string as key": {func(c *fencesql.Column) { c.Dialect, c.Key = fencesql.MySQL, `"id"` }, "a = 1", "backticks"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			test.change(&c)
			if _, _, err := c.Statement(1, 1, test.set); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	for _, table := range []string{"a", "main.a", `"my table"`, "`db`.`t`"} {
		c := good
		c.Table = table
		if query, _, err := c.Statement(1, 1, "a = 1"); err != nil || !strings.HasPrefix(query, "UPDATE "+table+" SET token = ?, a = 1") {
			t.Errorf("%s: %q, %v", table, query, err)
		}
	}
}
