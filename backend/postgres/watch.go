package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/backend/internal/vigil"
)

// Watch implements [backend.Watcher]. It tells of releases by whatever process as soon as the server
// does, and of owners that expire when that happens. Through a pooler that hands a connection from
// one client to the next it hears nothing, so it looks twice a second in place of listening.
func (s *Store) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	source := vigil.Source{Look: s.sight, Every: vigil.Pace}
	ear, err := s.listener.listen(ctx, s)
	switch {
	case errors.Is(err, errDeaf):
		s.listener.warn(s.where)
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return s.at(err)
	default:
		defer ear.close()
		source.Every, source.Hints, source.Failed = 0, ear.hints, ear.failed
	}
	return vigil.Watch(ctx, source, set, vacated)
}

// sight is a look.
func (s *Store) sight(ctx context.Context, names []string) ([]vigil.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	known := make(map[string]row, len(names))
	if err := s.look(ctx, names, func(r row) { known[r.name] = r }); err != nil {
		return nil, err
	}
	leases := make([]vigil.Lease, len(names))
	for i, name := range names {
		r := known[name]
		leases[i] = vigil.Lease{
			Name: name, Token: uint64(r.token), Held: r.holder != nil, Remaining: time.Duration(r.remaining) * time.Microsecond,
		}
	}
	return leases, nil
}

// quiet is after how long without a notice a connection is asked whether it is still there.
const quiet = 10 * time.Second

// listener makes connections that listen.
type listener struct {
	config  *pgx.ConnConfig
	before  func(context.Context, *pgx.ConnConfig) error // pgxpool.Config.BeforeConnect
	options Options
	echo    time.Duration // until a notice must have come back
	quiet   time.Duration // before a connection is asked whether it is still there
	patient time.Duration // with the answer

	mu     sync.Mutex
	deaf   time.Time // until when it is not worth trying
	warned sync.Once
}

func newListener(config *pgxpool.Config, o Options) *listener {
	l := &listener{
		config: config.ConnConfig.Copy(), before: config.BeforeConnect,
		options: o, echo: echoTime, quiet: quiet, patient: Timeout,
	}
	if o.Direct != "" {
		l.config, _ = pgx.ParseConfig(o.Direct) // which the options were checked for
		l.before = nil                          // it is for where the others go
	}
	prepare(l.config, nil)
	l.config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return l
}

// errDeaf says that what is sent is not heard.
var errDeaf = errors.New("the connection does not hear what is sent")

// echoTime is how long a notice may take to come back.
const echoTime = 2 * time.Second

// deafTime is for how long it is not tried again.
const deafTime = 10 * time.Minute

// ear is a connection that listens.
type ear struct {
	of     *listener
	conn   *pgx.Conn
	end    context.CancelFunc
	ended  chan struct{}
	hints  chan []string
	failed chan error
}

// listen connects, and makes sure that what others send is heard: a pooler may accept LISTEN, and
// then give the server's connection to somebody else.
func (l *listener) listen(ctx context.Context, s *Store) (*ear, error) {
	l.mu.Lock()
	deaf := time.Now().Before(l.deaf)
	l.mu.Unlock()
	if deaf {
		return nil, errDeaf
	}
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Exec(ctx, `LISTEN "`+l.options.channel()+`"`); err == nil {
		err = l.prove(ctx, s, conn)
	}
	if err != nil {
		hangUp(conn)
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	e := &ear{of: l, conn: conn, end: end, ended: make(chan struct{}), hints: make(chan []string), failed: make(chan error, 1)}
	go e.run(life, s)
	return e, nil
}

// connect does what the pool does for its connections.
func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	config := l.config.Copy()
	if l.before != nil {
		if err := l.before(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}

// prove sends a notice from another connection, and waits for it.
func (l *listener) prove(ctx context.Context, s *Store, conn *pgx.Conn) error {
	word := probe + rand.Text()
	if err := s.cry(ctx, []string{word}); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, l.echo)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(waiting)
		switch {
		case err != nil && waiting.Err() != nil && ctx.Err() == nil:
			l.mu.Lock()
			l.deaf = time.Now().Add(deafTime)
			l.mu.Unlock()
			return errDeaf
		case err != nil:
			return err
		case n.Payload == word:
			return nil
		}
	}
}

// probe is how a notice begins that is only meant to be heard. It is no name.
const probe = "?"

// warn says once that there will be no notices.
func (l *listener) warn(where string) {
	l.warned.Do(func() {
		l.options.logger().Warn("simba: postgres: nothing can be heard of releases, so those who wait look twice a second; "+
			"name the server itself as Direct, or as simba_direct in the URL, if there is a pooler in between", "database", where)
	})
}

// run hears until ctx is done.
func (e *ear) run(ctx context.Context, s *Store) {
	defer close(e.ended)
	for {
		names, err := e.hear(ctx)
		if err != nil {
			e.failed <- s.at(err)
			return
		}
		select {
		case e.hints <- names:
		case <-ctx.Done():
			return
		}
	}
}

// hear returns the names of the next notice, nil for all.
func (e *ear) hear(ctx context.Context) ([]string, error) {
	for {
		n, err := e.next(ctx)
		if err != nil {
			return nil, err
		}
		if n != nil && !strings.HasPrefix(n.Payload, probe) {
			return unpack(n.Payload), nil
		}
	}
}

// next waits for a notice; nil says that there was none for a while, and that there may be some.
func (e *ear) next(ctx context.Context) (*pgconn.Notification, error) {
	waiting, cancel := context.WithTimeout(ctx, e.of.quiet)
	defer cancel()
	n, err := e.conn.WaitForNotification(waiting)
	if err == nil || ctx.Err() != nil || waiting.Err() == nil {
		return n, err
	}
	asking, cancel := context.WithTimeout(ctx, e.of.patient)
	defer cancel()
	return nil, e.conn.Ping(asking)
}

func (e *ear) close() {
	e.end()
	<-e.ended
	hangUp(e.conn)
}

// hangUp ends a connection, in good order if that is quick.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelDelay)
	defer cancel()
	conn.Close(ctx)
}
