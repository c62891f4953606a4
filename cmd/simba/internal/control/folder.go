package control

import (
	"errors"
	"io/fs"
	"os"
)

// FolderVar names another folder for the sockets, for processes that do not see the same one otherwise.
const FolderVar = "SIMBA_RUNTIME_DIR"

// Folder is where the sockets of this user are. It depends on as little as possible of how a process was started: those
// who listen and those who ask must find the same one.
func Folder() string {
	if folder := os.Getenv(FolderVar); folder != "" {
		return folder
	}
	return defaultFolder()
}

// prepare makes the folder, and checks it: somebody else may have been there first.
func prepare(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return check(folder)
}

// check returns nil if nobody but this user can put a socket there, or [ErrNobody] if there is no such folder.
func check(folder string) error {
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNobody
	case err != nil:
		return err
	}
	return private(folder, info)
}
