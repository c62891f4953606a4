//go:build !linux && !darwin && !windows

package sqlite

// network cannot tell here. It does not matter, see sharedClock.
func network(string) (kind string, err error) { return "", nil }

// mountedAlone cannot tell either.
func mountedAlone(string) (bool, error) { return false, nil }
