package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Timeout is for how long the server works on a call at most. The driver does not tell the server to
// stop; so this is how late a call that was given up may still write.
const Timeout = 5 * time.Second

// lockTimeout is for how long a statement waits for a row that somebody has locked.
const lockTimeout = 2 * time.Second

// dialTimeout is for a server that does not even answer, unless the user says otherwise.
const dialTimeout = 5 * time.Second

// settings are those of all connections.
var settings = map[string]string{
	"time_zone":                "'+00:00'", // so that no hour comes twice
	"innodb_lock_wait_timeout": seconds(lockTimeout),
	"lock_wait_timeout":        seconds(lockTimeout), // for a table that is being altered
	"autocommit":               "1",
	"completion_type":          "0", // a COMMIT begins no other transaction
	"sql_safe_updates":         "0",
	"group_concat_max_len":     "16777216", // for the names of a call
	"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
}

func seconds(d time.Duration) string { return fmt.Sprint(int(d.Seconds())) }

// connector makes connections that are set as they must be.
type connector struct{ driver.Connector }

func newConnector(config *mysql.Config) (*connector, error) {
	c := config.Clone()
	c.InterpolateParams = true // one round trip in place of two
	c.MultiStatements = false
	// What a label is in, and what the driver can quote.
	if err := c.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = dialTimeout
	}
	params := maps.Clone(settings)
	for name, value := range c.Params {
		if _, ours := params[name]; !ours {
			params[name] = value
		}
	}
	c.Params = params
	inner, err := mysql.NewConnector(c)
	return &connector{inner}, err
}

// Connect implements [driver.Connector]. The isolation has another name in MariaDB than in MySQL, but
// the same statement.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.(driver.ExecerContext).ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

const scheme = "mysql://"

// ParseURL parses mysql://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS, with the parameters of
// go-sql-driver/mysql, such as tls=true; or a data source name as that driver takes it, such as
// USER:PASSWORD@unix(/run/mysqld/mysqld.sock)/DATABASE.
func ParseURL(text string) (*mysql.Config, error) {
	config, err := parseURL(text)
	if err == nil {
		config.Logger = &mysql.NopLogger{} // its errors are returned as well
	}
	if err == nil && config.DBName == "" {
		err = errors.New("the URL names no database; write mysql://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if err != nil {
		return nil, fmt.Errorf("simba: mysql: %w", err)
	}
	return config, nil
}

func parseURL(text string) (*mysql.Config, error) {
	if !strings.HasPrefix(strings.ToLower(text), scheme) {
		return parseName(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error of url.Parse repeats the URL, with the password.
		return nil, errors.New("the URL is not well formed; write mysql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for an @ in a password")
	}
	addr := u.Host
	switch {
	case u.Hostname() == "":
		return nil, errors.New("the URL names no host; write mysql://USER:PASSWORD@HOST:PORT/DATABASE")
	case u.Port() == "":
		addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	// With the address, which is what a certificate must be for. The driver takes the last slash for that
	// before the database.
	config, err := mysql.ParseDSN("tcp(" + addr + ")/?" + strings.ReplaceAll(u.RawQuery, "/", "%2F"))
	if err != nil {
		return nil, err
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	return config, nil
}

// parseName parses a data source name. What is wrong before its parameters may be in the password, so
// none of it is repeated.
func parseName(text string) (*mysql.Config, error) {
	config, err := mysql.ParseDSN(text)
	if err == nil {
		return config, nil
	}
	name, _, _ := strings.Cut(text, "?")
	if _, wrong := mysql.ParseDSN(name); wrong != nil {
		err = errors.New("the data source name is not well formed; write USER:PASSWORD@tcp(HOST:PORT)/DATABASE")
	}
	return nil, err
}
