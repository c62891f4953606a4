package statement

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/simba-go/simba/fence"
)

// Column says where a table has its tokens.
type Column struct {
	Dialect Dialect // which database it is
	Table   string  // its name
	Key     string  // the column that tells rows apart
	Token   string  // the column with the tokens
}

func (c Column) check() error {
	if err := c.Dialect.check(); err != nil {
		return err
	}
	for _, part := range []struct{ what, name string }{{"table", c.Table}, {"key column", c.Key}, {"token column", c.Token}} {
		if err := c.Dialect.checkIdentifier(part.what, part.name); err != nil {
			return err
		}
	}
	return nil
}

// Name is what errors call a row.
func (c Column) Name(key any) string { return fmt.Sprintf("%s %v", c.Table, key) }

// Statement is the guarded update.
func (c Column) Statement(token uint64, key any, set string, args []any) (string, []any, error) {
	if err := c.check(); err != nil {
		return "", nil, err
	}
	if err := CheckToken(c.Name(key), token); err != nil {
		return "", nil, err
	}
	if err := checkSet(set); err != nil {
		return "", nil, err
	}
	if err := c.Dialect.checkPlaceholders(set, len(args)); err != nil {
		return "", nil, err
	}
	t := int64(token)
	const update = "UPDATE %s SET %s = %s, %s\nWHERE %s = %s AND COALESCE(%s, 0) <= %s"
	if c.Dialect == PostgreSQL {
		// The caller's placeholders are the first ones.
		mark, id := c.Dialect.placeholder(len(args)+1), c.Dialect.placeholder(len(args)+2)
		return fmt.Sprintf(update, c.Table, c.Token, mark, set, c.Key, id, c.Token, mark), join(args, t, key), nil
	}
	return fmt.Sprintf(update, c.Table, c.Token, "?", set, c.Key, "?", c.Token, "?"), join([]any{t}, join(args, key, t)...), nil
}

func join(args []any, more ...any) []any { return append(args[:len(args):len(args)], more...) }

// checkSet refuses what could take the rest of the statement, and so the guard, out of force.
func checkSet(set string) error {
	if strings.TrimSpace(set) == "" {
		return fmt.Errorf("fence: there is nothing to set; write it as in a statement, for example \"balance = $1\"")
	}
	for _, bad := range []string{"--", "/*", ";"} {
		if strings.Contains(set, bad) {
			return fmt.Errorf("fence: %q contains %q; hand values over as arguments", set, bad)
		}
	}
	return nil
}

// numbered are placeholders with a number. In SQLite, too, they count all arguments of the statement.
var numbered = regexp.MustCompile(`[$?]([0-9]+)`)

// checkPlaceholders refuses a set that does not take its own arguments and no other: one of the guard's would become
// a value, or one of the caller's the key.
func (d Dialect) checkPlaceholders(set string, args int) error {
	found := numbered.FindAllStringSubmatch(set, -1)
	if d != PostgreSQL {
		if n := strings.Count(set, "?"); n != args || len(found) > 0 {
			return fmt.Errorf("fence: %q must have a plain ? for each of its %d arguments, and none in texts; hand those over as arguments", set, args)
		}
		return nil
	}
	for _, mark := range found {
		if n, err := strconv.Atoi(mark[1]); err != nil || n == 0 || n > args {
			return fmt.Errorf("fence: %q has the placeholder %s, but %d arguments: there must be one for each, from $1, and none in texts", set, mark[0], args)
		}
	}
	return nil
}

// tries is for rows that come and go while they are written.
const tries = 3

// Update runs the guarded update.
func (c Column) Update(ctx context.Context, s Store, token uint64, key any, set string, args []any) error {
	query, all, err := c.Statement(token, key, set, args)
	if err != nil {
		return err
	}
	name := c.Name(key)
	if err := begun(ctx, name, token); err != nil {
		return err
	}
	for try := range tries {
		affected, err := s.Exec(ctx, query, all...)
		if err != nil {
			return failed(s.Refused(err), name, token, err)
		}
		if affected > 0 {
			return nil
		}
		highest, found, err := s.Token(ctx, c.lookup(), key)
		switch {
		case err != nil:
			return fmt.Errorf("fence: %q was not changed under the token %d, but why is not known: %w", name, token, err)
		case !found:
			return &fence.NotFoundError{Name: name, Token: token}
		case highest > int64(token):
			return &fence.StaleError{Name: name, Token: token, Highest: uint64(highest)}
		case c.unchanged(try, highest, token):
			return nil
		}
		// The row appeared since. Nothing was written, so writing it once more does no harm.
	}
	return fmt.Errorf("fence: %q was not changed under the token %d: %w", name, token, errRestless)
}

// unchanged is for MySQL, which does not count a row that has all the values already (unless
// its driver asks for the rows that were found). Such a row has our token. Once may also
// mean that it appeared after the update, but not twice.
func (c Column) unchanged(try int, highest int64, token uint64) bool {
	return c.Dialect == MySQL && try > 0 && highest == int64(token)
}

// lookup reads the token. In a transaction of MySQL only a read that locks sees what the update saw.
func (c Column) lookup() string {
	query := fmt.Sprintf("SELECT COALESCE(%s, 0) FROM %s WHERE %s = %s", c.Token, c.Table, c.Key, c.Dialect.placeholder(1))
	if c.Dialect == MySQL {
		query += " LOCK IN SHARE MODE"
	}
	return query
}
