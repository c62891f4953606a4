package servers

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	_ "github.com/go-sql-driver/mysql"
)

// MariaDB starts a MariaDB server, which does not care for power failures. Its URL is a data
// source name of go-sql-driver/mysql. What args say comes last on its command line.
func MariaDB(args ...string) (*Server, error) {
	return start(kind{
		program: "mariadbd",
		aliases: []string{"/usr/sbin/mariadbd"},
		pkg:     "mariadb-server-core",
		user:    true,
		ending:  os.Kill,
		prepare: initMariaDB,
		args: func(s *Server) []string {
			return append(mariaOptions(s), append([]string{
				"--port=" + strconv.Itoa(s.port), "--bind-address=127.0.0.1", "--skip-name-resolve",
				"--socket=" + filepath.Join(s.dir, "socket"), "--pid-file=" + filepath.Join(s.dir, "pid"),
			}, args...)...)
		},
		url:     func(s *Server) string { return fmt.Sprintf("root@tcp(%s)/simba", s.Addr) },
		answers: pingMariaDB,
	})
}

// mariaOptions are those that the server and its preparation must agree on.
func mariaOptions(s *Server) []string {
	return []string{
		"--no-defaults", "--datadir=" + filepath.Join(s.dir, "data"), "--innodb-log-file-size=8M",
		"--tmpdir=" + s.dir, // a server that starts clears away the temporary tables of others
		"--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0",
	}
}

// mariaScripts make the tables that the server cannot do without. This is what mariadb-install-db
// does; that program comes with more packages than a test needs.
var mariaScripts = []string{"m*_system_tables.sql", "m*_system_tables_data.sql"}

func initMariaDB(ctx context.Context, s *Server) error {
	data := filepath.Join(s.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := give(data, true); err != nil {
		return err
	}
	// One statement per line, as for every bootstrap.
	scripts := []io.Reader{strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n")}
	for _, pattern := range mariaScripts {
		text, err := readFirst(filepath.Join(filepath.Dir(s.binary), "../share/mysql", pattern))
		if err != nil {
			return err
		}
		scripts = append(scripts, strings.NewReader(text+"\n"))
	}
	scripts = append(scripts, strings.NewReader("CREATE DATABASE simba;\n"))
	return s.run(ctx, io.MultiReader(scripts...), s.binary, append(mariaOptions(s), "--bootstrap")...)
}

func readFirst(pattern string) (string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("there is no %s, which comes with the server", pattern)
	}
	text, err := os.ReadFile(paths[0])
	return string(text), err
}

func pingMariaDB(ctx context.Context, s *Server) error {
	db, err := sql.Open("mysql", s.URL)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}
