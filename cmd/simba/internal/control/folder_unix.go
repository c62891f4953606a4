//go:build unix

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// defaultFolder is not below $XDG_RUNTIME_DIR, which services and jobs of cron do not have and which goes when its user
// logs out, nor below $TMPDIR or $HOME, which differ between them; and it is short.
func defaultFolder() string { return filepath.Join("/tmp", "simba-"+strconv.Itoa(os.Geteuid())) }

func private(folder string, info fs.FileInfo) error {
	const others = 0o077
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it, or choose another one in %s", folder, FolderVar)
	case owner != os.Geteuid():
		return fmt.Errorf("%s belongs to the user %d, and not to you (%d); choose another folder in %s", folder, owner, os.Geteuid(), FolderVar)
	case info.Mode()&others != 0:
		return fmt.Errorf("others may enter %s; run chmod 700 %s, or choose another folder in %s", folder, folder, FolderVar)
	}
	return nil
}

// refused says that nobody listens to a socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
