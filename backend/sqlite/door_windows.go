package sqlite

import (
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock if it is free. The system frees it when the process ends.
func tryLock(f *os.File) bool { return lockFile(f, windows.LOCKFILE_FAIL_IMMEDIATELY) == nil }

// lock waits for the lock.
func lock(f *os.File) error { return lockFile(f, 0) }

// unlock cannot fail for a file that is locked.
func unlock(f *os.File) {
	windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

func lockFile(f *os.File, flags uint32) error {
	flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}
