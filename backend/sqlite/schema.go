package sqlite

import "fmt"

// The file's header says whose it is and how it is laid out.
const (
	applicationID = 0x53494d42 // "SIMB"
	schemaVersion = 1
)

// schema creates the tables.
//
// A session is dead if it has no row, or if its deadline has passed; whoever finds
// the latter deletes the row before it takes anything. So a lease is good if and
// only if its session's row is, and ending a session is one row, however many
// leases it has: those of a dead session are free as they are.
//
// A name's row in leases stays for ever, because it holds the name's last token.
// Deadlines are nanoseconds since the machine was started; see session.alive for
// what that means after it was started again.
var schema = []string{
	`CREATE TABLE sessions (
		id       TEXT    NOT NULL PRIMARY KEY,
		label    TEXT    NOT NULL,
		lease    INTEGER NOT NULL,
		deadline INTEGER NOT NULL,
		revision INTEGER NOT NULL
	) STRICT, WITHOUT ROWID`,
	`CREATE TABLE leases (
		name    TEXT    NOT NULL PRIMARY KEY,
		session TEXT,
		token   INTEGER NOT NULL
	) STRICT, WITHOUT ROWID`,
	`CREATE INDEX held ON leases (session, token) WHERE session IS NOT NULL`,
	fmt.Sprintf(`PRAGMA application_id = %d`, applicationID),
	fmt.Sprintf(`PRAGMA user_version = %d`, schemaVersion),
}

// state reports whether the database is empty, and returns an error if it is
// neither that nor one of ours.
func (c *conn) state() (empty bool, err error) {
	// One statement, because another process may be creating the tables.
	var application, version, tables int64
	err = c.query(func(r row) { application, version, tables = r.number(0), r.number(1), r.number(2) },
		`SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`)
	switch {
	case err != nil:
		return false, err
	case application == 0 && version == 0 && tables == 0:
		return true, nil
	case application != applicationID:
		return false, ErrForeign
	case version != schemaVersion:
		return false, fmt.Errorf("%w: it has the format %d, and this version reads %d", ErrVersion, version, schemaVersion)
	}
	return false, nil
}

// create makes an empty database one of ours, unless somebody else has.
func (c *conn) create(j *job) error {
	if err := j.retry(func() error { return c.run("BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	empty, err := c.state()
	if err == nil && empty {
		for _, statement := range schema {
			if err = c.run(statement); err != nil {
				break
			}
		}
	}
	if err != nil {
		return err // and with the connection the transaction ends
	}
	return c.run("COMMIT")
}
