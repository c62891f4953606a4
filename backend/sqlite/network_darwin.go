package sqlite

import "golang.org/x/sys/unix"

// network names the kind of the file system that a folder is on unless it is local.
func network(folder string) (kind string, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return "", err
	}
	if s.Flags&unix.MNT_LOCAL != 0 {
		return "", nil
	}
	return unix.ByteSliceToString(s.Fstypename[:]), nil
}

// mountedAlone is false: only folders can be mounted.
func mountedAlone(string) (bool, error) { return false, nil }
