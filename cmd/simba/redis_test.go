package main

import (
	"strings"
	"testing"

	"github.com/simba-go/simba/internal/servers"
)

// startRedis returns a world whose store is on a server of its own.
func startRedis(t *testing.T) (*world, *servers.Server) {
	t.Helper()
	server, err := servers.Redis("--requirepass", "tiger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t)
	w.env = append(w.env, "SIMBA_BACKEND=redis://:tiger@"+server.Addr+"/2?namespace=orders")
	return w, server
}

// The commands work on a Redis server as on a file.
func TestRedis(t *testing.T) {
	t.Parallel()
	w, server := startRedis(t)
	if out := w.mustRun("lock", "job", "--lease", "1s", "--", binary, "status"); !strings.Contains(out, "job") || strings.Contains(out, "No lease") {
		t.Errorf("while it is held, status prints %q", out)
	}
	if out := w.mustRun("status"); out != "No lease is held.\n" {
		t.Errorf("afterwards, status prints %q", out)
	}
	url := "redis://:lion@" + server.Addr
	code, _, stderr := w.run("status", "--backend", url)
	if code != exitUnavailable || !strings.Contains(stderr, "does not accept the user and the password") || strings.Contains(stderr, "lion") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if strings.Contains(stderr, "\n") {
		t.Errorf("it is not one line: %q", stderr)
	}
	server.Kill()
	code, _, stderr = w.run("status")
	if code != exitUnavailable || !strings.Contains(stderr, "connection refused") || strings.Contains(stderr, "tiger") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// The show goes on on a server that has just been started.
func TestDemoOnRedis(t *testing.T) {
	t.Parallel()
	w, server := startRedis(t)
	out := w.mustRun("demo", "--backend", "redis://:tiger@"+server.Addr+"?namespace=show")
	for _, want := range []string{"takeover after the crash in", "handover in", "never two leaders at once", "tokens only grow"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
