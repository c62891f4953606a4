package statement

import (
	"context"
	"fmt"

	"github.com/simba-go/simba/fence"
)

// DefaultTable is the name of a table of tokens.
const DefaultTable = "simba_fence"

// Table is a table of tokens, for resources that have no column for theirs.
type Table struct {
	Dialect Dialect // which database it is
	Name    string  // DefaultTable if it is empty
}

func (t Table) name() string {
	if t.Name == "" {
		return DefaultTable
	}
	return t.Name
}

func (t Table) check() error {
	if err := t.Dialect.check(); err != nil {
		return err
	}
	return t.Dialect.checkIdentifier("table", t.name())
}

// Schema is the statement that makes the table.
func (t Table) Schema() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	const create = "CREATE TABLE IF NOT EXISTS %s (name %s NOT NULL PRIMARY KEY, token %s NOT NULL)%s"
	switch t.Dialect {
	case PostgreSQL:
		return fmt.Sprintf(create, t.name(), `text COLLATE "C"`, "bigint", ""), nil
	case MySQL:
		return fmt.Sprintf(create, t.name(), "varchar(128) CHARACTER SET ascii COLLATE ascii_bin", "bigint", " ENGINE=InnoDB"), nil
	}
	return fmt.Sprintf(create, t.name(), "text", "integer", " WITHOUT ROWID"), nil
}

// Create makes the table unless it is there. Of those that make it at the same time PostgreSQL refuses all but one, and
// lets them find it the second time.
func (t Table) Create(ctx context.Context, s Store) error {
	schema, err := t.Schema()
	if err != nil {
		return err
	}
	if _, err = s.Exec(ctx, schema); err == nil {
		return nil
	}
	if _, again := s.Exec(ctx, schema); again == nil {
		return nil
	}
	return fmt.Errorf("fence: the table of tokens could not be made: %w", err)
}

// upsert only goes up. The row stays locked until the transaction ends, also if it was not changed.
func (t Table) upsert() string {
	if t.Dialect == MySQL {
		return fmt.Sprintf("INSERT INTO %s (name, token) VALUES (?, ?) ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)", t.name())
	}
	return fmt.Sprintf("INSERT INTO %s (name, token) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE %s.token <= excluded.token",
		t.name(), t.Dialect.placeholder(1), t.Dialect.placeholder(2), unqualified(t.name()))
}

// Advance raises the token of a name, within a transaction of the caller's.
func (t Table) Advance(ctx context.Context, s Store, name string, token uint64) error {
	if err := t.check(); err != nil {
		return err
	}
	if err := CheckToken(name, token); err != nil {
		return err
	}
	args := []any{name, int64(token)}
	if t.Dialect == MySQL {
		args = append(args, int64(token))
	}
	affected, err := s.Exec(ctx, t.upsert(), args...)
	if err != nil {
		return t.broken(name, token, err)
	}
	if affected > 0 && t.Dialect != MySQL {
		return nil
	}
	return t.compare(ctx, s, name, token)
}

// compare looks at a row that is there and locked. MySQL's count of rows does not tell a lower token from an
// equal one.
func (t Table) compare(ctx context.Context, s Store, name string, token uint64) error {
	highest, found, err := s.Token(ctx, t.lookup(), name)
	switch {
	case err != nil:
		return t.broken(name, token, err)
	case !found:
		return t.broken(name, token, errRestless)
	case highest < int64(token):
		return t.broken(name, token, errRestless)
	case highest > int64(token):
		return &fence.StaleError{Name: name, Token: token, Highest: uint64(highest)}
	}
	return nil
}

func (t Table) lookup() string {
	query := fmt.Sprintf("SELECT token FROM %s WHERE name = %s", t.name(), t.Dialect.placeholder(1))
	if t.Dialect == MySQL {
		query += " FOR UPDATE"
	}
	return query
}

// broken is no unknown outcome: what counts is whether the caller's transaction commits.
func (t Table) broken(name string, token uint64, err error) error {
	return fmt.Errorf("fence: %q under the token %d: the transaction must be rolled back: %w", name, token, err)
}

// unqualified is the name without its schema, which ON CONFLICT does not want.
func unqualified(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}
