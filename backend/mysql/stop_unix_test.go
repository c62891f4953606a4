//go:build unix

package mysql

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// The server is stopped for longer than the lease, in the middle of whatever it does.
func TestServerIsStopped(t *testing.T) {
	t.Parallel()
	db, err := mariaDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	url := newDatabase(t, db)
	contend(t, func(int) string { return url }, func() {
		for range 2 {
			time.Sleep(rand.N(500 * time.Millisecond))
			syscall.Kill(db.Pid(), syscall.SIGSTOP)
			time.Sleep(500*time.Millisecond + rand.N(time.Second))
			syscall.Kill(db.Pid(), syscall.SIGCONT)
		}
	})
}
