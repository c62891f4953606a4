package servers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Redis starts a Redis server. What args say comes last on its command line, for example
// "--cluster-enabled", "yes".
func Redis(args ...string) (*Server, error) {
	return start(kind{
		program: "redis-server",
		pkg:     "redis-server",
		ending:  os.Kill,
		args: func(s *Server) []string {
			return append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--dir", s.dir}, args...)
		},
		url:     func(s *Server) string { return fmt.Sprintf("redis://%s/0", s.Addr) },
		answers: pingRedis,
	})
}

// pingRedis does without a client, which would log each refusal.
func pingRedis(ctx context.Context, s *Server) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "+PONG" {
		return fmt.Errorf("it answers %q", answer)
	}
	return nil
}
