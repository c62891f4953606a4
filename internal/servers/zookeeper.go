package servers

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// zookeeperJar is where the package libzookeeper-java of Debian has the server; the jar names those that it needs.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// zookeeperMore is what the jar does not name: one writes the log, and the others speak TLS.
const zookeeperMore = "/usr/share/java/slf4j-simple.jar:/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar"

// ZooKeeper starts a ZooKeeper server that stands alone, with a tick of 250 ms. What settings say, as
// "name=value", comes last in its configuration.
func ZooKeeper(settings ...string) (*Server, error) {
	return start(zookeeper(func(*Server) []string { return settings }))
}

// zookeeper is the kind, with settings that are asked for once the server has a port.
func zookeeper(settings func(s *Server) []string) kind {
	return kind{
		program: "java",
		pkg:     "libzookeeper-java default-jre-headless",
		ending:  os.Kill,
		prepare: func(context.Context, *Server) error {
			if _, err := os.Stat(zookeeperJar); err != nil {
				return fmt.Errorf("it is not installed; on Debian: apt-get install libzookeeper-java: %w", err)
			}
			return nil
		},
		config: func(s *Server) (name, text string) {
			return "zoo.cfg", strings.Join(append([]string{
				"tickTime=250", "dataDir=" + filepath.Join(s.dir, "data"), "clientPortAddress=127.0.0.1",
				fmt.Sprintf("clientPort=%d", s.port), "admin.enableServer=false", "maxClientCnxns=0",
				"4lw.commands.whitelist=*", "reconfigEnabled=false",
			}, settings(s)...), "\n") + "\n"
		},
		args: func(s *Server) []string {
			return []string{
				"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true",
				"-Dzookeeper.forceSync=no", // nothing has to survive a power failure
				"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
				"-cp", zookeeperJar + ":" + zookeeperMore, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg",
			}
		},
		url:     func(s *Server) string { return fmt.Sprintf("zookeeper://%s/simba", s.Addr) },
		answers: func(ctx context.Context, s *Server) error { return pingZooKeeper(ctx, s) },
	}
}

// pingZooKeeper is content with a server that serves clients.
func pingZooKeeper(ctx context.Context, s *Server) error {
	_, err := s.FourLetters(ctx, "srvr")
	return err
}

// FourLetters sends a ZooKeeper server one of its commands, such as "srvr", and returns the answer.
func (s *Server) FourLetters(ctx context.Context, command string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && (len(answer) == 0 || strings.Contains(string(answer), "not currently serving requests")) {
		err = fmt.Errorf("it answers %q", answer)
	}
	return string(answer), err
}
