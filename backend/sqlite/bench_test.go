package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/ratio"
)

// bare is the driver, and nothing else: prepared statements on one connection.
type bare struct {
	b        *testing.B
	conn     driver.Conn
	prepared map[string]driver.Stmt
}

// newBare makes a database like the store's with one session in it.
func newBare(b *testing.B) *bare {
	path := filepath.Join(b.TempDir(), "bare.db")
	if err := opened(b, path, system()).Close(); err != nil {
		b.Fatal(err)
	}
	conn, err := new(sqlite.Driver).Open(dsn(path, "rw"))
	if err != nil {
		b.Fatal(err)
	}
	d := &bare{b: b, conn: conn, prepared: make(map[string]driver.Stmt)}
	b.Cleanup(func() {
		for _, s := range d.prepared {
			s.Close()
		}
		conn.Close()
	})
	d.exec(`INSERT INTO sessions (id, label, lease, deadline, revision) VALUES ('s', 'bench', 1, 1, 1)`)
	return d
}

func (d *bare) stmt(query string) driver.Stmt {
	s, ok := d.prepared[query]
	if !ok {
		var err error
		if s, err = d.conn.Prepare(query); err != nil {
			d.b.Fatal(err)
		}
		d.prepared[query] = s
	}
	return s
}

func (d *bare) run(query string) {
	if _, err := d.conn.(driver.ExecerContext).ExecContext(context.Background(), query, nil); err != nil {
		d.b.Fatal(err)
	}
}

func (d *bare) exec(query string, args ...any) {
	if _, err := d.stmt(query).(driver.StmtExecContext).ExecContext(context.Background(), values(args)); err != nil {
		d.b.Fatal(err)
	}
}

func (d *bare) query(query string, columns int, args ...any) {
	rows, err := d.stmt(query).(driver.StmtQueryContext).QueryContext(context.Background(), values(args))
	if err != nil {
		d.b.Fatal(err)
	}
	dest := make([]driver.Value, columns)
	for err == nil {
		err = rows.Next(dest)
	}
	if err != io.EOF {
		d.b.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		d.b.Fatal(err)
	}
}

// pair does what the store does for an acquisition and a release.
func (d *bare) pair(token int64) {
	d.run("PRAGMA synchronous = FULL")
	d.exec("BEGIN IMMEDIATE")
	d.query(selectSession, 3, "s")
	d.query(selectLeases, 7, `["name"]`)
	d.exec(takeLeases, "s", fmt.Sprintf(`{"name":%d}`, token))
	d.exec(reviseSession, "s")
	d.exec("COMMIT")
	d.run("PRAGMA synchronous = NORMAL")
	d.exec("BEGIN IMMEDIATE")
	d.exec(freeLeases, fmt.Sprintf(`{"name":%d}`, token), "s")
	d.exec(reviseSession, "s")
	d.exec("COMMIT")
}

// bench is a store with one session.
type bench struct {
	*testing.B
	*Store
	ctx     context.Context
	session string
	known   uint64 // the revision of its leases
}

func newBench(b *testing.B) *bench {
	s := fresh(b, system())
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(cancel)
	grant, err := s.Open(ctx, time.Hour, "bench")
	if err != nil {
		b.Fatal(err)
	}
	return &bench{B: b, Store: s.Store, ctx: ctx, session: grant.Session}
}

func (b *bench) win(names ...string) []backend.Lease {
	outcomes, err := b.Acquire(b.ctx, b.session, names, true)
	if err != nil {
		b.Fatal(err)
	}
	leases := make([]backend.Lease, len(outcomes))
	for i, o := range outcomes {
		if !o.Won {
			b.Fatalf("%+v", o)
		}
		leases[i] = backend.Lease{Name: o.Name, Token: o.Token}
	}
	return leases
}

func (b *bench) free(leases ...backend.Lease) {
	if err := b.Release(b.ctx, b.session, leases); err != nil {
		b.Fatal(err)
	}
}

// hold acquires n names.
func (b *bench) hold(n int) {
	for names := range slices.Chunk(numbered(n), backend.MaxBatch) {
		b.win(names...)
	}
}

// renew renews n times with what the session knows of its leases.
func (b *bench) renew(n int, full bool) {
	for range n {
		r, err := b.Renew(b.ctx, b.session, b.known, full)
		if err != nil {
			b.Fatal(err)
		}
		b.known = r.Revision
	}
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("orders:%d", i)
	}
	return names
}

// What a call costs beyond its statements: the ratio is above 1 by that.
func BenchmarkAcquireRelease(b *testing.B) {
	ours, bare := newBench(b), newBare(b)
	token := int64(1)
	ratio.Report(b, 20,
		func(n int) {
			for range n {
				ours.free(ours.win("name")...)
			}
		},
		func(n int) {
			for range n {
				bare.pair(token)
				token++
			}
		})
}

// A renewal costs the same for 10,000 leases as for one, thanks to the revision.
func BenchmarkRenewManyLeases(b *testing.B) {
	many, one := newBench(b), newBench(b)
	many.hold(10_000)
	one.hold(1)
	ratio.Report(b, 50, func(n int) { many.renew(n, false) }, func(n int) { one.renew(n, false) })
}

// The complete list of 10,000 leases, against the revision.
func BenchmarkRenewWithList(b *testing.B) {
	many := newBench(b)
	many.hold(10_000)
	ratio.Report(b, 5, func(n int) { many.renew(n, true) }, func(n int) { many.renew(n, false) })
}

// 1,000 names in one call, against a call for each.
func BenchmarkBatch(b *testing.B) {
	together, each := newBench(b), newBench(b)
	names := numbered(backend.MaxBatch)
	ratio.Report(b, 1,
		func(n int) {
			for range n {
				together.free(together.win(names...)...)
			}
		},
		func(n int) {
			for range n {
				for _, name := range names {
					each.free(each.win(name)...)
				}
			}
		})
}
