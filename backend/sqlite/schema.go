package sqlite

import "fmt"

// The file's header says whose it is and how it is laid out.
const (
	applicationID = 0x53494d42 // "SIMB"
	schemaVersion = 2
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
	createNotes,
	fmt.Sprintf(`PRAGMA application_id = %d`, applicationID),
	markVersion,
}

// A name's row in notes is what its last owner has left for the next.
const createNotes = `CREATE TABLE notes (
		name    TEXT    NOT NULL PRIMARY KEY,
		version INTEGER NOT NULL,
		note    TEXT    NOT NULL
	) STRICT, WITHOUT ROWID`

var markVersion = fmt.Sprintf(`PRAGMA user_version = %d`, schemaVersion)

// upgrade makes the tables of format 1 those of format 2, which has notes. Processes
// that have the file open go on, whatever format they know: nothing of theirs changes.
var upgrade = []string{createNotes, markVersion}

// The statements. Those that are about any number of names take them as JSON: one
// statement for 1,000 names is several times faster than 1,000 statements.
const (
	insertSession = `INSERT INTO sessions (id, label, lease, deadline, revision) VALUES (?, ?, ?, ?, 1)`
	selectSession = `SELECT lease, deadline, revision FROM sessions WHERE id = ?`
	renewSession  = `UPDATE sessions SET deadline = ? WHERE id = ?`
	reviseSession = `UPDATE sessions SET revision = revision + 1 WHERE id = ?`
	deleteSession = `DELETE FROM sessions WHERE id = ?`

	// selectSome is for the sweep. As ids are random, those after a new one are
	// random too.
	selectSome = `SELECT id, lease, deadline FROM sessions WHERE id > ? ORDER BY id LIMIT 64`

	// takeLeases takes names for a session, with the new tokens.
	takeLeases = `INSERT INTO leases (name, session, token) SELECT key, ?, value FROM json_each(?) WHERE true
		ON CONFLICT (name) DO UPDATE SET session = excluded.session, token = excluded.token`

	// freeLeases frees names that have just these tokens and this owner. The plus
	// signs keep SQLite from finding them by their owner, who may have a thousand
	// with one token.
	freeLeases = `UPDATE leases SET session = NULL FROM json_each(?) f
		WHERE name = f.key AND +token = f.value AND +session = ?`

	// selectLeases finds names with their owners, if they have any.
	selectLeases = `SELECT n.key, n.value, l.token, s.id, s.label, s.lease, s.deadline
		FROM json_each(?) n LEFT JOIN leases l ON l.name = n.value LEFT JOIN sessions s ON s.id = l.session`

	// selectHeld finds what a session owns.
	selectHeld = `SELECT name, token FROM leases WHERE session = ?`

	// selectNote finds the note of a name, and whether the session owns it with just
	// this token.
	selectNote = `SELECT n.version, n.note FROM leases l LEFT JOIN notes n ON n.name = l.name
		WHERE l.name = ? AND l.token = ? AND l.session = ?`

	// putNote replaces the note of a name.
	putNote = `INSERT INTO notes (name, version, note) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET version = excluded.version, note = excluded.note`

	// selectOwned finds everything that has an owner. It begins with the owners,
	// because names that were used once may be many.
	selectOwned = `SELECT l.name, l.token, s.id, s.label, s.lease, s.deadline
		FROM sessions s CROSS JOIN leases l ON l.session = s.id ORDER BY l.name`
)

// state returns what the database lacks to be one of ours in the present format, and
// an error if it is another one's.
func (c *conn) state() (missing []string, err error) {
	// One statement, because another process may be creating the tables.
	var application, version, tables int64
	err = c.query(func(r row) { application, version, tables = r.number(0), r.number(1), r.number(2) },
		`SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`)
	switch {
	case err != nil:
		return nil, err
	case application == 0 && version == 0 && tables == 0:
		return schema, nil
	case application != applicationID:
		return nil, ErrForeign
	case version == 1:
		return upgrade, nil
	case version != schemaVersion:
		return nil, fmt.Errorf("%w: it has the format %d, and this version reads %d", ErrVersion, version, schemaVersion)
	}
	return nil, nil
}
