package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultSchema is the schema in which the tables are.
const DefaultSchema = "simba"

// Options say how to use a database. The zero value is good.
type Options struct {
	// Schema is the schema in which the tables are, [DefaultSchema] if it is empty: a small letter,
	// and up to 39 more of them, digits and underscores. Clients of different schemas do not see
	// each other.
	Schema string
	// Direct is the URL of the server itself, for the one connection that waits for releases, where
	// the others go through a pooler. If it is empty, that goes where the others go.
	Direct string
	// Logger is told, once, when nothing can be heard of releases; slog.Default() if it is nil.
	Logger *slog.Logger
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func (o Options) check() error {
	if !schemaName.MatchString(o.schema()) {
		return fmt.Errorf("simba: postgres: the schema %q is no name for one; it must be a small letter, and up to 39 more of them, digits and underscores", o.Schema)
	}
	if o.Direct == "" {
		return nil
	}
	if _, err := pgx.ParseConfig(o.Direct); err != nil {
		return fmt.Errorf("simba: postgres: the direct URL: %w", withoutURL(err))
	}
	return nil
}

func (o Options) schema() string {
	if o.Schema == "" {
		return DefaultSchema
	}
	return o.Schema
}

// quoted is the schema as it stands in a statement: its name may be a word of SQL.
func (o Options) quoted() string { return `"` + o.schema() + `"` }

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.Default()
	}
	return o.Logger
}

// The parameters of a URL that are ours.
const (
	schemaParameter = "simba_schema"
	directParameter = "simba_direct"
)

// ParseURL parses what [Open] takes: a URL of pgxpool.ParseConfig, which may have two more
// parameters, simba_schema and simba_direct; they stand for the fields of [Options]. The notation
// with key=value has no place for them.
func ParseURL(text string) (*pgxpool.Config, Options, error) {
	var o Options
	if head, query, ok := strings.Cut(text, "?"); ok && strings.Contains(head, "://") {
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil, o, fmt.Errorf("simba: postgres: the parameters of the URL are not well formed; %% must be written as %%25, for example")
		}
		o = Options{Schema: values.Get(schemaParameter), Direct: values.Get(directParameter)}
		values.Del(schemaParameter)
		values.Del(directParameter)
		text = head + "?" + values.Encode()
	}
	if err := o.check(); err != nil {
		return nil, o, err
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, o, fmt.Errorf("simba: postgres: %w", withoutURL(err))
	}
	return config, o, nil
}

// withoutURL keeps the URL out of an error about it: where that is not well formed, nobody can tell
// for certain what of it is the password.
func withoutURL(err error) error {
	var e *pgconn.ParseConfigError
	if errors.As(err, &e) {
		e.ConnString = "the URL"
	}
	return err
}
