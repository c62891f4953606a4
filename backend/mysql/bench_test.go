package mysql

import (
	"database/sql"
	"testing"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/drivertest"
	"github.com/simba-go/simba/internal/ratio"
)

func fresh(b *testing.B) *store { return opened(b, newDatabase(b, server.For(b))) }

func factory(b *testing.B) func() backend.Driver { return func() backend.Driver { return fresh(b) } }

// bare is one connection of the driver, and nothing else.
type bare struct {
	*drivertest.Bench
	conn *sql.Conn
}

func newBare(b *testing.B) *bare {
	url := newDatabase(b, server.For(b))
	s := drivertest.NewBench(b, opened(b, url))
	config, err := ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	c, err := newConnector(config)
	if err != nil {
		b.Fatal(err)
	}
	db := sql.OpenDB(c)
	conn, err := db.Conn(s.Ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	return &bare{s, conn}
}

// pair calls the procedures of an acquisition and a release.
func (b *bare) pair() {
	rows, err := b.conn.QueryContext(b.Ctx, "CALL simba_acquire(?, ?, ?)", b.ID, `["name"]`, true)
	if err != nil {
		b.B.Fatal(err)
	}
	var token string
	for rows.Next() {
		var name, last, holder, label, remaining *string
		var won bool
		if err := rows.Scan(&name, &won, &last, &holder, &label, &remaining); err != nil {
			b.B.Fatal(err)
		}
		if name != nil {
			token = *last
		}
	}
	rows.Close()
	if _, err := b.conn.ExecContext(b.Ctx, "CALL simba_release(?, ?)", b.ID, `[{"n":"name","t":`+token+`}]`); err != nil {
		b.B.Fatal(err)
	}
}

// What a call costs beyond its procedure: the ratio is above 1 by that.
func BenchmarkAcquireRelease(b *testing.B) {
	ours, bare := drivertest.NewBench(b, fresh(b)), newBare(b)
	ratio.Report(b, 50, ours.Pairs, func(n int) {
		for range n {
			bare.pair()
		}
	})
}

// A renewal costs the same for 10,000 leases as for one, thanks to the revision.
func BenchmarkRenewManyLeases(b *testing.B) { drivertest.RenewMany(b, factory(b)) }

// 1,000 names in one call, against a call for each.
func BenchmarkBatch(b *testing.B) { drivertest.Batch(b, factory(b)) }

// 100,000 pairs: -bench Endurance -benchtime 50x.
func BenchmarkEndurance(b *testing.B) { drivertest.Endurance(b, factory(b)) }
