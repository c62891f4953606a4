package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// PgBouncer starts a pooler in front of a PostgreSQL server, in transaction mode: a connection of
// the server is a client's for the time of a transaction. What settings say, as "name = value", comes
// last in its configuration.
func PgBouncer(server *Server, settings ...string) (*Server, error) {
	return start(kind{
		program: "pgbouncer",
		aliases: []string{"/usr/sbin/pgbouncer"},
		pkg:     "pgbouncer",
		user:    true,
		ending:  os.Kill,
		args:    func(s *Server) []string { return []string{filepath.Join(s.dir, "pgbouncer.ini")} },
		config: func(s *Server) (name, text string) {
			return "pgbouncer.ini", strings.Join(append([]string{
				"[databases]",
				fmt.Sprintf("* = host=127.0.0.1 port=%d user=postgres", server.port),
				"[pgbouncer]",
				"listen_addr = 127.0.0.1",
				fmt.Sprintf("listen_port = %d", s.port),
				"unix_socket_dir = " + s.dir,
				"auth_type = any",
				"pool_mode = transaction",
				"default_pool_size = 10",
				"server_login_retry = 0.1", // it turns clients away for so long after it found no server
				"max_client_conn = 200",
			}, settings...), "\n") + "\n"
		},
		url:     func(s *Server) string { return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", s.Addr) },
		answers: pingBouncer,
	})
}

func pingBouncer(ctx context.Context, s *Server) error {
	conn, err := pgx.Connect(ctx, s.URL+"&default_query_exec_mode=exec")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}
