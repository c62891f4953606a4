package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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

// pingRedis sees whether the server answers, be it that it wants a password.
func pingRedis(ctx context.Context, s *Server) error {
	answer, err := s.tell(ctx, "PING")
	switch {
	case err != nil && strings.Contains(err.Error(), "NOAUTH"):
		return nil
	case err == nil && answer != "PONG":
		return fmt.Errorf("it answers %q", answer)
	}
	return err
}

// tell sends a command and returns the answer. It does without a client, which would log each refusal.
func (s *Server) tell(ctx context.Context, command string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprint(conn, command+"\r\n"); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	if length, isText := strings.CutPrefix(line, "$"); isText {
		n, err := strconv.Atoi(length)
		if err != nil {
			return "", fmt.Errorf("it answers %q", line)
		}
		text := make([]byte, n)
		_, err = io.ReadFull(r, text)
		return string(text), err
	}
	if refusal, refused := strings.CutPrefix(line, "-"); refused {
		return "", fmt.Errorf("%s: %s", command, refusal)
	}
	return strings.TrimLeft(line, "+:"), nil
}

// RedisSentinel starts a Sentinel that watches a master under the name "mymaster", finds it down after half a second,
// and alone decides to let a replica take over.
func RedisSentinel(master *Server) (*Server, error) {
	return start(kind{
		program: "redis-server",
		pkg:     "redis-server",
		ending:  os.Kill,
		prepare: func(_ context.Context, s *Server) error {
			config := fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d 1\nsentinel down-after-milliseconds mymaster 500\n"+
				"sentinel failover-timeout mymaster 5000\n", master.port)
			return os.WriteFile(sentinelConfig(s), []byte(config), 0o600)
		},
		args: func(s *Server) []string {
			return []string{sentinelConfig(s), "--sentinel", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir}
		},
		url:     func(s *Server) string { return fmt.Sprintf("redis://%s/0?master_name=mymaster", s.Addr) },
		answers: pingRedis,
	})
}

func sentinelConfig(s *Server) string { return filepath.Join(s.dir, "sentinel.conf") }

// RedisCluster starts three servers that share the slots of a cluster.
func RedisCluster() (nodes []*Server, err error) {
	defer func() {
		if err != nil {
			for _, node := range nodes {
				err = errors.Join(err, node.Stop())
			}
			nodes = nil
		}
	}()
	for range 3 {
		node, err := Redis("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	return nodes, join(ctx, nodes)
}

// join makes a cluster of servers, and waits until each of them finds that it is complete.
func join(ctx context.Context, nodes []*Server) error {
	const slots = 16384
	for i, node := range nodes {
		for _, command := range []string{
			fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1),
			fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/len(nodes), (i+1)*slots/len(nodes)-1),
			fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d", nodes[0].port),
		} {
			if _, err := node.tell(ctx, command); err != nil {
				return err
			}
		}
	}
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for _, node := range nodes {
		for {
			state, err := node.tell(ctx, "CLUSTER INFO")
			if err != nil {
				return err
			}
			if strings.Contains(state, "cluster_state:ok") && strings.Contains(state, fmt.Sprintf("cluster_known_nodes:%d", len(nodes))) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the cluster does not come together: %w: %s", ctx.Err(), state)
			case <-pause.C:
			}
		}
	}
	return nil
}
