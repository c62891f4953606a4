package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// file is the identity of a database: of its file, and of the two with which SQLite
// keeps its users apart. It is taken from their paths: to open one of them beside
// SQLite would be a mistake, because POSIX drops the locks that a process has on a
// file, all of them, when it closes that file once.
type file [3]*identity

// identity tells a file from others, also from one that was made later and was given
// the number of one that was deleted: file systems use such numbers again at once.
type identity struct {
	info os.FileInfo
	born int64 // nanoseconds since 1970; zero if nobody knows
}

func stat(path string) (*identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &identity{info, born(path)}, nil
}

var endings = [3]string{"", "-wal", "-shm"}

// identify returns the files at path while SQLite has them open.
func identify(path string) (f file, err error) {
	for i, ending := range endings {
		if f[i], err = stat(path + ending); err != nil {
			return f, because(ErrReplaced, err)
		}
	}
	return f, nil
}

func (f file) same(other file) bool { return same(f[0], other[0]) }

func same(a, b *identity) bool {
	return a != nil && b != nil && os.SameFile(a.info, b.info) && (a.born == b.born || a.born == 0 || b.born == 0)
}

// stillAt returns ErrReplaced unless path names the files.
func (f file) stillAt(path string) error {
	now, err := identify(path)
	if err != nil {
		return err
	}
	for i, ending := range endings {
		if !same(f[i], now[i]) {
			return fmt.Errorf("%w: there is another %s%s", ErrReplaced, filepath.Base(path), ending)
		}
	}
	return nil
}

// leftBehind returns an error if path names another database, or none, but what is
// beside it is this one's still. SQLite cannot tell, and would mix the two.
func (f file) leftBehind(path string) error {
	if main, err := stat(path); err == nil && same(f[0], main) {
		return nil
	}
	for i, ending := range endings[1:] {
		if now, err := stat(path + ending); err == nil && same(f[i+1], now) {
			return fmt.Errorf("%w: %s%s still belongs to the file that was there before; end everything that uses it, and remove its -wal and -shm",
				ErrReplaced, filepath.Base(path), ending)
		}
	}
	return nil
}

// usable returns an error if what is at path can be no database that processes may
// share. It returns nothing if there is nothing yet.
func usable(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder; the path must name a file, which may be new")
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is a special file (%s), and must be a regular one", info.Mode())
	case links(info) > 1:
		// SQLite puts files beside it by its name. Under two names there would be
		// two sets, and users of one would not know of those of the other.
		return nil, errors.New("it has several names (hard links), and must have one")
	}
	alone, err := mountedAlone(path)
	if err != nil {
		return nil, err
	}
	if alone {
		// Likewise.
		return nil, errors.New("it is mounted by itself, into a container for example; mount its folder, because the files beside it must be shared too")
	}
	return info, nil
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
		// Another process may have created it a moment ago.
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			return resolved, nil
		}
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
