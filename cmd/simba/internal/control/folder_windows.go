package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// defaultFolder is one that only this user, and administrators, may enter.
func defaultFolder() string {
	folder, err := os.UserCacheDir() // %LocalAppData%
	if err != nil {
		folder = os.TempDir()
	}
	return filepath.Join(folder, "simba-run")
}

// private leaves out who may enter: a folder inherits that from the one above.
func private(folder string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; remove it, or choose another one in %s", folder, FolderVar)
	}
	return nil
}

// refused says that nobody listens to a socket.
func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
