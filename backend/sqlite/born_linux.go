package sqlite

import "golang.org/x/sys/unix"

// born is when the file at path was made, in nanoseconds since 1970; zero if the file
// system does not say.
func born(path string) int64 {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &s); err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
}
