//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// links returns how many names a file has.
func links(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
