package servers

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres starts a PostgreSQL server, which does not care for power failures. What
// args say comes last on its command line, for example "-c", "max_connections=20".
func Postgres(args ...string) (*Server, error) { return start(postgres(args...)) }

func postgres(args ...string) kind {
	return kind{
		program: "postgres",
		aliases: []string{"/usr/lib/postgresql/*/bin/postgres"},
		pkg:     "postgresql",
		user:    true,
		ending:  syscall.SIGQUIT, // at once, and the processes of its connections too
		prepare: initPostgres,
		args: func(s *Server) []string {
			return append([]string{"-D", postgresData(s), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.dir, "-F"}, args...)
		},
		url: func(s *Server) string {
			return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", s.Addr)
		},
		answers: pingPostgres,
	}
}

func postgresData(s *Server) string { return filepath.Join(s.dir, "data") }

func initPostgres(ctx context.Context, s *Server) error {
	initdb, err := beside(s.binary, "initdb")
	if err != nil {
		return err
	}
	return s.run(ctx, nil, initdb,
		"-D", postgresData(s), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
}

func pingPostgres(ctx context.Context, s *Server) error {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}
