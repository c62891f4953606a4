package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// What can be wrong with a store's file. Errors that match one of these also say
// which file it is, and what SQLite or the system said.
var (
	// ErrClosed is the answer of a store after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrNetwork says that the file is on a file system whose locks, or whose
	// clock, may not be this machine's alone.
	ErrNetwork = errors.New("the file must be on a disk of this machine")
	// ErrNotDatabase says that the file is not an SQLite database.
	ErrNotDatabase = errors.New("the file is not an SQLite database; choose another path, or move it away")
	// ErrForeign says that the file is the database of another application.
	ErrForeign = errors.New("the database belongs to another application; choose another path")
	// ErrVersion says that another version of this package wrote the file.
	ErrVersion = errors.New("the file was made by another version of Simba")
	// ErrReplaced says that the path no longer names the file that the store has
	// open. What is done in that file nobody else sees, so its sessions cannot be
	// renewed. A new session uses the file that is there now.
	ErrReplaced = errors.New("the file was deleted, moved or replaced while it was in use")
	// ErrCorrupt says that the file is damaged.
	ErrCorrupt = errors.New("the database is damaged; stop everything that uses it, and repair it or move it away")
	// ErrReadOnly says that this process may not write to the file, or to the
	// folder in which it is.
	ErrReadOnly = errors.New("the file and its folder must be writable")
	// ErrFull says that the disk is full, or the user's share of it.
	ErrFull = errors.New("there is no space left for the database")
)

// Primary result codes of SQLite: https://sqlite.org/rescode.html.
const (
	codeBusy        = 5
	codeReadOnly    = 8
	codeIO          = 10
	codeCorrupt     = 11
	codeFull        = 13
	codeCantOpen    = 14
	codeNotDatabase = 26
)

// codeShortRead is an extended one.
const codeShortRead = codeIO | 2<<8

// code returns the primary result code behind an error, 0 if SQLite had no part
// in it.
func code(err error) int { return extended(err) & 0xff }

func extended(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func busy(err error) bool { return code(err) == codeBusy }

// explain adds to an error of SQLite what it means for the user.
func explain(err error) error {
	switch code(err) {
	case codeReadOnly:
		return because(ErrReadOnly, err)
	case codeCorrupt:
		return because(ErrCorrupt, err)
	case codeFull:
		return because(ErrFull, err)
	case codeNotDatabase:
		return because(ErrNotDatabase, err)
	case codeIO:
		if extended(err) == codeShortRead {
			return fmt.Errorf("SQLite finds less than there should be; if the database was deleted or replaced, end everything that uses it, and remove its -wal and -shm: %w", err)
		}
	case codeCantOpen:
		return fmt.Errorf("SQLite cannot open the file, or make the ones beside it; both need a folder that is writable, and this process file descriptors that are left: %w", err)
	}
	return err
}

func because(what, why error) error { return fmt.Errorf("%w (%w)", what, why) }

// at says which file an error is about.
func (s *Store) at(err error) error {
	if err == nil || isExpired(err) {
		return err
	}
	return fmt.Errorf("simba: sqlite: %s: %w", s.path, explain(err))
}
