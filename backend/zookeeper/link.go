package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// link is a session at the servers and the connection, one after the other, that it has.
type link struct {
	*guard
	zk     *zk.Conn
	events <-chan zk.Event

	mu      sync.Mutex
	closed  bool
	calls   sync.WaitGroup // of the library
	known   chan struct{}  // closed when the server knows who we are
	closing sync.Once
	gone    chan struct{} // closed when nothing is left
}

// silence is the log of the library; what it has to say is in our errors.
type silence struct{}

func (silence) Printf(string, ...any) {}

// maxTimeout is the longest that fits into a handshake. The servers have limits of their own.
const maxTimeout = math.MaxInt32 * time.Millisecond

// connect begins a session. Seen is called with each event, and must not block.
func (s *Store) connect(timeout time.Duration, once bool, seen func(zk.Event)) (*link, error) {
	timeout = min(max(timeout, time.Millisecond), maxTimeout)
	l := &link{
		guard: newGuard(s.servers, s.network, s.clock, timeout, once),
		known: make(chan struct{}), gone: make(chan struct{}),
	}
	var err error
	l.zk, l.events, err = zk.Connect(s.servers, timeout, zk.WithDialer(l.dial), zk.WithHostProvider(l.guard),
		zk.WithLogger(silence{}), zk.WithLogInfo(false), zk.WithEventCallback(seen))
	if err != nil {
		l.stop()
		return nil, err
	}
	if s.acl.auth == nil {
		close(l.known)
		return l, nil
	}
	l.call(func() { l.introduce(s.acl.auth()) })
	return l, nil
}

// introduce says who we are. The library remembers it for later connections once it has succeeded.
func (l *link) introduce(auth []byte) {
	for l.over() == nil {
		err := l.zk.AddAuth("digest", auth)
		if err == nil {
			close(l.known)
			return
		}
		if errors.Is(err, zk.ErrAuthFailed) {
			l.end(err)
		}
	}
}

// ready waits for a connection on which requests are carried out.
func (l *link) ready(ctx context.Context) (*conn, error) {
	select {
	case <-l.known:
	case <-ctx.Done():
		return nil, l.missing(ctx)
	case <-l.life.Done():
		return nil, l.over()
	}
	return l.guard.ready(ctx)
}

// call runs a call of the library, which takes no context, to its end. It reports whether it may.
func (l *link) call(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.calls.Go(f)
	return true
}

// close ends the session, or, if it has ended or cannot be reached, what is left of it here.
func (l *link) close() {
	l.closing.Do(func() {
		defer close(l.gone)
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		if !l.reachable() {
			l.end(ErrClosed) // or the library would wait for a second
		}
		l.zk.Close()
		l.end(ErrClosed)
		for range l.events { // until its goroutines have ended
		}
		l.hangUp()
		l.calls.Wait()
	})
	<-l.gone
}

// reachable reports whether a server would hear of it if the session was ended now.
func (l *link) reachable() bool {
	select {
	case <-l.known:
	default:
		return false
	}
	l.guard.mu.Lock()
	defer l.guard.mu.Unlock()
	return l.conn != nil
}

// answer is what a call of the library returns.
type answer[T any] struct {
	value T
	err   error
}

// ask calls the library when there is a connection. An error that matches backend.ErrExpired says that the
// link's session has ended.
func ask[T any](ctx context.Context, l *link, f func(*zk.Conn) (T, error)) (value T, err error) {
	if _, err := l.ready(ctx); err != nil {
		return value, err
	}
	answers := make(chan answer[T], 1)
	if !l.call(func() {
		value, err := f(l.zk)
		if errors.Is(err, zk.ErrSessionExpired) {
			l.end(backend.ErrExpired)
		}
		answers <- answer[T]{value, err}
	}) {
		return value, ErrClosed
	}
	select {
	case a := <-answers:
		if a.err != nil && l.over() != nil {
			return value, l.over()
		}
		return a.value, a.err
	case <-ctx.Done():
		return value, fmt.Errorf("it is unknown whether this was done: %w", context.Cause(ctx))
	case <-l.life.Done():
		return value, l.over()
	}
}

// exists returns what is known about a node, nil if there is none.
func exists(ctx context.Context, l *link, path string) (*zk.Stat, error) {
	return ask(ctx, l, func(c *zk.Conn) (*zk.Stat, error) {
		found, stat, err := c.Exists(path)
		if err != nil || !found { // it says that it is found beside some errors
			return nil, err
		}
		return stat, nil
	})
}

// caughtUp checks that a node exists, and lets the server catch up with whatever was answered to anybody
// before. It is a write, for the command that servers have for this does nothing on the leader, which may
// be behind its followers.
func caughtUp(ctx context.Context, l *link, path string) error {
	_, err := ask(ctx, l, func(c *zk.Conn) (struct{}, error) {
		_, _, err := change(c, []any{&zk.CheckVersionRequest{Path: path, Version: -1}})
		return struct{}{}, err
	})
	return err
}

// change carries out a transaction. If that fails, at is which operation did, or -1 if it is not known,
// and then nothing else is.
func change(c *zk.Conn, operations []any) (answers []zk.MultiResponse, at int, err error) {
	answers, err = c.Multi(operations...)
	if err == nil && len(answers) != len(operations) {
		return nil, -1, fmt.Errorf("the server answers %d of %d operations", len(answers), len(operations))
	}
	if err == nil {
		return answers, -1, nil
	}
	for i, a := range answers {
		if a.Error != nil {
			return nil, i, a.Error
		}
	}
	return nil, -1, err
}

// width is how many requests of one call are on their way at a time.
const width = 32

// parallel calls f for each i below n, several at a time, and returns the first error.
func parallel(n int, f func(i int) error) error {
	var mu sync.Mutex
	var first error
	next := 0
	take := func() (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		i, ok = next, next < n && first == nil
		next++
		return i, ok
	}
	var running sync.WaitGroup
	work := func() {
		for i, ok := take(); ok; i, ok = take() {
			if err := f(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = err
				}
				return
			}
		}
	}
	for range min(n, width) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
	return first
}
