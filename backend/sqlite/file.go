package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// file is the identity of a file. It is taken from the path: to open the database
// beside SQLite would be a mistake, because POSIX drops the locks that a process
// has on a file, all of them, when it closes that file once.
type file struct{ info os.FileInfo }

func (f file) same(other file) bool {
	return f.info != nil && other.info != nil && os.SameFile(f.info, other.info)
}

// identify returns the file that path names, and none if there is nothing.
func identify(path string) (file, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file{}, nil
	case err != nil:
		return file{}, err
	case info.IsDir():
		return file{}, errors.New("it is a folder, and must be a file or a new name")
	case !info.Mode().IsRegular():
		return file{}, fmt.Errorf("it is a special file (%s), and must be a regular one", info.Mode())
	}
	if links(info) > 1 {
		// SQLite finds the files beside it by its name, and would have two sets.
		return file{}, errors.New("it has several names (hard links), and must have one")
	}
	return file{info}, nil
}

// stillAt returns ErrReplaced unless path names the file.
func (f file) stillAt(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return because(ErrReplaced, err)
	}
	if !os.SameFile(f.info, info) {
		return ErrReplaced
	}
	return nil
}

// maxPath is what SQLite allows for a path, in bytes, with what it appends.
const maxPath = 512 - len("-journal")

// resolve returns the absolute path without symbolic links, so that all processes
// mean the same file and the same ones beside it.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("simba: sqlite: the path is empty; it must name a file, which may be new")
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("simba: sqlite: the path %q contains a NUL", path)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("simba: sqlite: %s: %w", path, err)
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		resolved, err = resolveNew(absolute)
	}
	if err != nil {
		return "", fmt.Errorf("simba: sqlite: %s: %w", path, err)
	}
	if len(resolved) > maxPath {
		return "", fmt.Errorf("simba: sqlite: the path %s... has %d bytes; SQLite allows %d", resolved[:60], len(resolved), maxPath)
	}
	return resolved, nil
}

// resolveNew is for a file that does not exist yet. Its folder must: one that is
// missing may be a typing error or a disk that is not mounted, and to create it
// would make two stores out of one.
func resolveNew(path string) (string, error) {
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a symbolic link to nothing; create what it points to, or remove it")
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder does not exist; create it, for example with mkdir -p %q: %w", filepath.Dir(path), err)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}
