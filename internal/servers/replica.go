package servers

import (
	"context"
	"path/filepath"
	"strconv"
)

// PostgresReplica starts a PostgreSQL server that follows another, and does not write.
func PostgresReplica(primary *Server) (*Server, error) {
	k := postgres()
	k.prepare = func(ctx context.Context, s *Server) error {
		program, err := beside(s.binary, "pg_basebackup")
		if err != nil {
			return err
		}
		return s.run(ctx, nil, program, "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "postgres",
			"-D", postgresData(s), "-R", "-X", "stream", "--checkpoint=fast", "--no-sync")
	}
	return start(k)
}

// beside is a program in the folder of another, since Debian keeps those of PostgreSQL out of the PATH.
func beside(binary, program string) (string, error) {
	real, err := filepath.EvalSymlinks(binary)
	return filepath.Join(filepath.Dir(real), program), err
}
