package statement

import "strings"

// RefusedByState reports whether a SQLSTATE of PostgreSQL says that nothing was done: any but those of a
// connection or a server that broke, maybe after the commit.
func RefusedByState(state string) bool {
	if len(state) != 5 || state == "40003" { // statement completion unknown
		return false
	}
	for _, broke := range []string{"08", "57P", "58", "F0", "XX"} {
		if strings.HasPrefix(state, broke) {
			return false
		}
	}
	return true
}

// RefusedByCode reports whether a result code of SQLite says that nothing was done. A disk that
// is full, a file that cannot be read, and an interruption may come after the commit.
func RefusedByCode(code int) bool {
	switch code & 0xff {
	case 1, 5, 6, 8, 14, 18, 19, 20, 23, 25, 26: // error, busy, locked, read-only, can't open, too big, constraint, mismatch, auth, range, no database
		return true
	}
	return false
}
