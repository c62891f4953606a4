//go:build unix

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock if it is free. The kernel frees it when the process ends.
func tryLock(f *os.File) bool { return flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil }

// lock waits for the lock.
func lock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// unlock cannot fail for a file that is open.
func unlock(f *os.File) { flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
