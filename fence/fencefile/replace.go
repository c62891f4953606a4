package fencefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// replace replaces a file as a whole, for who has the lock, by one that is written beside it first. After an
// error the file is as it was, unless it was renamed: then it is new, but maybe not for good.
func replace(path, temp string, data []byte, perm fs.FileMode) (renamed bool, err error) {
	// One may be left from a crash.
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := write(temp, data, perm); err != nil {
		return false, errors.Join(err, removed(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return false, errors.Join(err, removed(temp))
	}
	return true, syncFolder(filepath.Dir(path))
}

// write returns when the data is on the disk.
func write(path string, data []byte, perm fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// removed is nil when the file is gone.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
