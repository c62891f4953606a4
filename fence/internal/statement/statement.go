// Package statement holds what guards in a database say to it and make of its answers,
// for any driver.
package statement

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/simba-go/simba/fence"
)

// Dialect is a database's way of writing statements.
type Dialect uint8

// The dialects.
const (
	SQLite Dialect = iota + 1
	PostgreSQL
	MySQL
)

// String returns the name of the database.
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "SQLite"
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

func (d Dialect) check() error {
	if d < SQLite || d > MySQL {
		return fmt.Errorf("fence: there is no %v: say which database it is, SQLite, PostgreSQL or MySQL", d)
	}
	return nil
}

// placeholder is the i-th one, from 1.
func (d Dialect) placeholder(i int) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(i)
	}
	return "?"
}

// Store is a database, or a transaction in it, behind some driver.
type Store interface {
	// Exec runs a statement and returns how many rows it affected.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Token runs a query for one number, and returns whether there is a row.
	Token(ctx context.Context, query string, args ...any) (token int64, found bool, err error)
	// Refused reports whether an error of Exec says that nothing was done.
	Refused(err error) bool
	// Undone reports whether an error of a commit says that nothing was committed.
	Undone(err error) bool
}

// MaxToken is the greatest token that a column of 64 bits with a sign can hold.
const MaxToken = math.MaxInt64

// CheckToken is for what can be said of a token without asking the database.
func CheckToken(name string, token uint64) error { return fence.Compare(name, token, 0, MaxToken) }

// identifier is a name as it stands in a statement: plain, or quoted as the database wants it.
var identifier = regexp.MustCompile("^(?:[A-Za-z_][A-Za-z0-9_]*|\"[^\"\x00]+\"|`[^`\x00]+`)$")

func (d Dialect) checkIdentifier(what, name string) error {
	if d == MySQL && strings.Contains(name, `"`) { // a text there, and as a number 0
		return fmt.Errorf("fence: the %s %q is a text in MySQL; quote it with backticks", what, name)
	}
	for part := range strings.SplitSeq(name, ".") {
		if !identifier.MatchString(part) {
			return fmt.Errorf("fence: the %s %q is no identifier; it must be plain (A-Z a-z 0-9 _, with dots in between), or quoted as in a statement", what, name)
		}
	}
	return nil
}

// failed is an error of a statement or a commit, which may say that nothing was written.
func failed(nothing bool, name string, token uint64, err error) error {
	if nothing {
		return fmt.Errorf("fence: %q was not written under the token %d: %w", name, token, err)
	}
	return &fence.UnknownError{Name: name, Token: token, Cause: err}
}

// Committed makes something of what a commit returned.
func Committed(s Store, name string, token uint64, err error) error {
	if err == nil {
		return nil
	}
	return failed(s.Undone(err), name, token, err)
}

// begun is an error if ctx is done before the database was asked: later it is unknown what it did.
func begun(ctx context.Context, name string, token uint64) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("fence: %q was not written under the token %d: %w", name, token, context.Cause(ctx))
}

var errRestless = errors.New("the row comes and goes, or its token goes down")
