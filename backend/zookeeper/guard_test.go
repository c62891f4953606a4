package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/backend"
)

// handshake is a request for a session, or the answer to one.
func handshake(answer bool, timeout time.Duration, session uint64) []byte {
	packet := make([]byte, 4+4)
	if !answer {
		packet = append(packet, make([]byte, 8)...)
	}
	packet = binary.BigEndian.AppendUint32(packet, uint32(timeout.Milliseconds()))
	packet = binary.BigEndian.AppendUint64(packet, session)
	packet = append(packet, 0, 0, 0, 16)
	packet = append(packet, make([]byte, 16)...)
	binary.BigEndian.PutUint32(packet, uint32(len(packet)-4))
	return packet
}

// greet is a connection on which a handshake was made.
func greet(t *testing.T, g *guard, request, answer []byte) (net.Conn, error) {
	t.Helper()
	c, err := g.dial("", "server:1", 0)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(request); err != nil {
		return c, err
	}
	_, err = io.ReadFull(c, make([]byte, len(answer)))
	return c, err
}

// newTestGuard returns a guard whose server gives the answer to whatever comes first.
func newTestGuard(t *testing.T, once bool, answer *[]byte) *guard {
	dial := func(context.Context, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if n, _ := server.Read(make([]byte, 1024)); n > 0 {
				if len(*answer) > 0 {
					server.Write(*answer)
				}
				io.Copy(io.Discard, server)
			}
		}()
		return client, nil
	}
	g := newGuard([]string{"server:1"}, dial, actor.SystemClock{}, time.Second, once)
	t.Cleanup(func() { g.end(ErrClosed) })
	return g
}

// The guard knows the timeout that was negotiated, and lets a connection take up the session.
func TestGuardKnowsTheTimeout(t *testing.T) {
	answer := handshake(true, 4*time.Second, 7)
	g := newTestGuard(t, false, &answer)
	for i, session := range []uint64{0, 7} {
		c, err := greet(t, g, handshake(false, time.Second, session), answer)
		if err != nil {
			t.Fatal(err)
		}
		if current, err := g.ready(t.Context()); err != nil || current != c || current.timeout != 4*time.Second {
			t.Errorf("connection %d: %+v, %v", i, current, err)
		}
		c.Close()
		if g.current(c.(*conn)) {
			t.Error("a connection that was closed is in use")
		}
	}
}

// A second session is not asked for. This is the library's own way when the first one has expired.
func TestGuardRefusesAnotherSession(t *testing.T) {
	answer := handshake(true, 4*time.Second, 7)
	g := newTestGuard(t, false, &answer)
	c, err := greet(t, g, handshake(false, time.Second, 0), answer)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c, err = greet(t, g, handshake(false, time.Second, 0), answer); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("got %v", err)
	}
	if c != nil {
		c.Close()
	}
	if !errors.Is(g.over(), backend.ErrExpired) {
		t.Errorf("it has ended with %v", g.over())
	}
	if _, err := g.dial("", "server:1", 0); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("another connection: %v", err)
	}
	if _, over := g.Next(); !over {
		t.Error("the library is not told to stop")
	}
}

// A server that knows no such session says so with the id zero.
func TestGuardHearsOfExpiry(t *testing.T) {
	answer := handshake(true, 4*time.Second, 7)
	g := newTestGuard(t, false, &answer)
	c, err := greet(t, g, handshake(false, time.Second, 0), answer)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	answer = handshake(true, 0, 0)
	if c, _ = greet(t, g, handshake(false, time.Second, 7), answer); c != nil {
		defer c.Close()
	}
	if _, err := g.ready(t.Context()); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Write(nil); !errors.Is(err, backend.ErrExpired) {
		t.Errorf("a request passes: %v", err)
	}
}

// A link with a single connection has no second one.
func TestGuardAllowsOneConnection(t *testing.T) {
	answer := handshake(true, 4*time.Second, 7)
	g := newTestGuard(t, true, &answer)
	c, err := greet(t, g, handshake(false, time.Second, 0), answer)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := g.dial("", "server:1", 0); !errors.Is(err, errLost) {
		t.Errorf("got %v", err)
	}
}

// A server that accepts connections and does not answer has some time, and no more.
func TestGuardIsNotPatient(t *testing.T) {
	var nothing []byte
	g := newTestGuard(t, false, &nothing)
	c, err := g.dial("", "server:1", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(handshake(false, time.Second, 0)); err != nil {
		t.Fatal(err)
	}
	for _, library := range []time.Time{time.Now().Add(time.Hour), {}} {
		c.SetReadDeadline(library)
		read := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 4))
			read <- err
		}()
		select {
		case err := <-read:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		case <-time.After(bound):
			c.Close()
			t.Fatalf("it waits until %v", library)
		}
	}
}

// What is no ZooKeeper server is told so, and costs no memory.
func TestGuardNoticesOtherServers(t *testing.T) {
	answer := []byte("HTTP/1.1 400 Bad Request\r\n\r\n")
	g := newTestGuard(t, false, &answer)
	c, err := greet(t, g, handshake(false, time.Second, 0), answer)
	if err == nil {
		t.Fatal("it was greeted")
	}
	c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.ready(ctx); err == nil || !strings.Contains(err.Error(), "server:1 is no ZooKeeper server") {
		t.Errorf("got %v", err)
	}
}
