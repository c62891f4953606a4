package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend"
)

// heartbeat is after how much silence a watch asks whether its server is still there, and for how long it
// waits for the answer. A connection over which nothing comes any more looks like one over which there
// is nothing to say.
const heartbeat = 3 * time.Second

// lag is for how long a watch waits after an owner should have expired: what expires within that time
// is looked at together.
const lag = 10 * time.Millisecond

// watch is one call of [Store.Watch].
type watch struct {
	store   *Store
	set     *backend.NameSet
	vacated func(names ...string)

	sub     *goredis.PubSub
	fresh   chan string // names that the server has begun to tell of
	broken  chan error  // has room for the reader's last word
	reading sync.WaitGroup

	followed map[string]bool      // names that the server was asked to tell of
	ask      map[string]bool      // names to look at
	due      map[string]time.Time // when a name that was held becomes vacant unless its owner renews
}

// Watch implements [backend.Watcher]. The server tells of each release, by a channel for each name. A name
// is looked at when the server says that it will tell of it from then on, which it also does after a
// connection was lost, and when its owner should have expired.
func (s *Store) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	done, err := s.begin()
	if err != nil {
		return s.at(err)
	}
	defer done()
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	w := &watch{
		store: s, set: set, vacated: vacated,
		fresh: make(chan string, 100), broken: make(chan error, 1),
		followed: make(map[string]bool), ask: make(map[string]bool), due: make(map[string]time.Time),
	}
	err = w.run(watching)
	cancel()
	w.hangUp()
	switch {
	case ctx.Err() != nil:
		return nil
	case s.life.Err() != nil:
		return s.at(ErrClosed)
	}
	return err
}

func (w *watch) run(ctx context.Context) error {
	for serial := uint64(0); ; {
		joined, now, changed := w.set.Joined(serial)
		serial = now
		if err := w.follow(ctx, joined); err != nil {
			return err
		}
		expiry := time.NewTimer(w.untilDue())
		select {
		case <-ctx.Done():
		case <-changed:
		case name := <-w.fresh:
			w.ask[name] = true
			w.drain()
		case err := <-w.broken:
			expiry.Stop()
			return w.store.at(err)
		case <-expiry.C:
			w.askDue()
		}
		expiry.Stop()
		if ctx.Err() != nil {
			return nil
		}
		if err := w.look(ctx); err != nil {
			return err
		}
	}
}

// follow asks the server to tell of names. One that was in the set before is asked for again: whoever
// joins wants to know how it is now.
func (w *watch) follow(ctx context.Context, joined []string) error {
	if len(joined) == 0 {
		return w.unfollow(ctx)
	}
	first := w.sub == nil
	if first {
		w.sub = w.store.calls.Subscribe(ctx) // which connects when it is asked for the first name
	}
	for names := range slices.Chunk(joined, backend.MaxBatch) {
		channels := make([]string, len(names))
		for i, name := range names {
			channels[i] = w.store.channels() + name
			w.followed[name] = true
		}
		if err := w.sub.Subscribe(ctx, channels...); err != nil {
			return w.store.at(err)
		}
	}
	if first {
		w.reading.Go(func() { w.read(ctx) })
	}
	return w.unfollow(ctx)
}

// unfollow ends what has left the set, when that is worth the trouble.
func (w *watch) unfollow(ctx context.Context) error {
	if len(w.followed) < 2*w.set.Len()+100 {
		return nil
	}
	var channels []string
	for name := range w.followed {
		if !w.set.Has(name) {
			delete(w.followed, name)
			delete(w.due, name)
			channels = append(channels, w.store.channels()+name)
		}
	}
	return w.store.at(w.sub.Unsubscribe(ctx, channels...))
}

// read tells of what the server says is free, and passes on what it has begun to tell of, until the connection breaks
// or is closed.
func (w *watch) read(ctx context.Context) {
	for asked := false; ; {
		m, err := w.sub.ReceiveTimeout(ctx, w.store.heartbeat)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && !asked {
			if err = w.sub.Ping(ctx); err == nil {
				asked = true
				continue
			}
		}
		if err != nil {
			w.broken <- fmt.Errorf("the subscription has ended: %w", err)
			return
		}
		asked = false
		switch m := m.(type) {
		case *goredis.Message:
			if name := w.name(m.Channel); w.set.Has(name) {
				w.vacated(name)
			}
		case *goredis.Subscription:
			// Also after a reconnection of the library's own.
			if m.Kind != "subscribe" {
				continue
			}
			select {
			case w.fresh <- w.name(m.Channel):
			case <-ctx.Done():
				return
			}
		}
	}
}

// hangUp ends the subscription, and its reader.
func (w *watch) hangUp() {
	if w.sub != nil {
		w.sub.Close()
	}
	w.reading.Wait()
}

// drain takes what else is fresh already, so that one look does for all.
func (w *watch) drain() {
	for range backend.MaxBatch {
		select {
		case name := <-w.fresh:
			w.ask[name] = true
		default:
			return
		}
	}
}

func (w *watch) name(channel string) string { return strings.TrimPrefix(channel, w.store.channels()) }

// look looks at those names that are to be looked at and still in the set, and tells of the vacant ones.
func (w *watch) look(ctx context.Context) error {
	var names []string
	for name := range w.ask {
		delete(w.due, name)
		if w.set.Has(name) {
			names = append(names, name)
		}
	}
	clear(w.ask)
	for names := range slices.Chunk(names, backend.MaxBatch) {
		holders, withheld, err := w.store.look(ctx, names)
		if err != nil {
			return err
		}
		now := time.Now()
		var vacant []string
		for _, h := range holders {
			switch {
			case h.Held:
				w.due[h.Name] = now.Add(h.Remaining)
			case withheld > 0:
				w.due[h.Name] = now.Add(withheld)
			default:
				vacant = append(vacant, h.Name)
			}
		}
		if len(vacant) > 0 {
			w.vacated(vacant...)
		}
	}
	return nil
}

// untilDue is the time until a look at the names whose owners should have expired by then.
func (w *watch) untilDue() time.Duration {
	first := time.Duration(math.MaxInt64)
	for _, at := range w.due {
		first = min(first, time.Until(at)+lag)
	}
	return max(first, 0)
}

// askDue looks at the names whose owners should have expired by now.
func (w *watch) askDue() {
	now := time.Now()
	for name, at := range w.due {
		if at.Before(now) {
			w.ask[name] = true
		}
	}
}
