package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// watching is a Watch that runs.
type watching struct {
	tb      testing.TB
	set     *backend.NameSet
	vacated chan string
	ended   chan error
	cancel  context.CancelFunc
}

func (s *store) watch(names ...string) *watching {
	ctx, cancel := context.WithCancel(s.ctx)
	w := &watching{s.tb, backend.NewNameSet(), make(chan string, 100_000), make(chan error, 1), cancel}
	w.set.Update(names, nil)
	go func() {
		w.ended <- s.Watch(ctx, w.set, func(names ...string) {
			for _, name := range names {
				w.vacated <- name
			}
		})
	}()
	s.tb.Cleanup(func() {
		cancel()
		<-w.ended
	})
	return w
}

// fails waits until the watch has ended by itself.
func (w *watching) fails() error {
	w.tb.Helper()
	select {
	case err := <-w.ended:
		w.ended <- nil // for the end of the test
		return err
	case <-time.After(bound):
		w.tb.Fatal("the watch goes on")
		return nil
	}
}

func (w *watching) hears(name string) {
	w.tb.Helper()
	for {
		select {
		case got := <-w.vacated:
			if got == name {
				return
			}
		case <-time.After(bound):
			w.tb.Fatalf("heard nothing of %q", name)
		}
	}
}

// A name that leaves the set and comes back is a new one: whoever waits for it now has not heard what was
// said before.
func TestWatchLooksAtANameThatCameBack(t *testing.T) {
	s := fresh(t)
	w := s.watch("name")
	for range 3 {
		w.hears("name")
		w.set.Update([]string{"name"}, []string{"name"})
	}
	w.hears("name")
}

// Nobody tells that an owner has died; a watch looks when it should have.
func TestWatchNoticesExpiry(t *testing.T) {
	s := fresh(t)
	const lease = time.Second
	session := s.session(lease)
	s.win(session, "name")
	renewed := time.Now()
	s.renew(session)
	w := s.watch("name", "free")
	w.hears("free") // so it has looked
	w.hears("name")
	if took := time.Since(renewed); took < lease {
		t.Errorf("told of it %v too early", lease-took)
	}
	if h := s.holder("name"); h.Held {
		t.Errorf("too early: %+v", h)
	}
}

// behind returns a store whose server is behind a proxy, and the proxy.
func behind(tb testing.TB, server *servers.Server, namespace string) (*store, *proxy.Proxy) {
	tb.Helper()
	p, err := proxy.New(server.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	settle(tb, raw(tb, server), namespace)
	return opened(tb, "redis://"+p.Addr+"?namespace="+namespace), p
}

// serve keeps a watch going as backend.Serve does.
func (s *store) serve(names ...string) *watching {
	ctx, cancel := context.WithCancel(s.ctx)
	w := &watching{s.tb, backend.NewNameSet(), make(chan string, 100_000), make(chan error, 1), cancel}
	w.set.Update(names, nil)
	go func() {
		for ctx.Err() == nil {
			s.Watch(ctx, w.set, func(names ...string) {
				for _, name := range names {
					w.vacated <- name
				}
			})
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
		w.ended <- nil
	}()
	s.tb.Cleanup(func() {
		cancel()
		<-w.ended
	})
	return w
}

// What is released while the watch is cut off is found out afterwards.
func TestWatchLooksAfterACut(t *testing.T) {
	server, ns := shared.For(t), namespace()
	s, p := behind(t, server, ns)
	other := settled(t, server, ns) // not behind the proxy
	for range 5 {
		session := other.session(bound)
		token := other.win(session, "name")
		w := s.serve("name", "free")
		w.hears("free") // so it has looked
		p.Cut()
		other.free(session, "name", token)
		w.hears("name")
	}
}

// A connection over which nothing comes any more is given up, although nobody has closed it.
func TestWatchNoticesSilence(t *testing.T) {
	s, p := behind(t, shared.For(t), namespace())
	s.heartbeat = 200 * time.Millisecond
	w := s.watch("free")
	w.hears("free")
	p.Stall()
	contains(t, w.fails(), "the subscription has ended", "timeout")
	p.Pass()
}

// An idle watch goes on for longer than it takes to notice silence.
func TestWatchGoesOnWhenThereIsNothingToSay(t *testing.T) {
	s := fresh(t)
	s.heartbeat = 100 * time.Millisecond
	session := s.session(bound)
	token := s.win(session, "name")
	w := s.watch("name", "free")
	w.hears("free")
	select {
	case err := <-w.ended:
		t.Fatalf("it ended: %v", err)
	case <-time.After(10 * s.heartbeat):
	}
	s.free(session, "name", token)
	w.hears("name")
}

// Names that have left are not subscribed to for ever, nor told of.
func TestWatchForgetsWhatHasLeft(t *testing.T) {
	s := fresh(t)
	session := s.session(bound)
	names := numbered(2500)
	w := s.watch(names...)
	w.hears("orders:2499")
	c := raw(t, shared.For(t))
	followed := func() int {
		channels, err := c.PubSubChannels(s.ctx, s.channels()+"*").Result()
		if err != nil {
			t.Fatal(err)
		}
		return len(channels)
	}
	eventually(t, "all are subscribed to", func() bool { return followed() == len(names) })
	w.set.Update(nil, names[1:])
	eventually(t, "one is left", func() bool { return followed() == 1 })
	leases := s.take(session, names[0], names[1])
	for len(w.vacated) > 0 {
		<-w.vacated
	}
	for i := range leases {
		s.free(session, names[1-i], leases[1-i].Token) // the one in the set last
	}
	if got := <-w.vacated; got != names[0] {
		t.Errorf("heard of %q", got)
	}
}

// A name that has left the set is not told of any more, also before it is unsubscribed from.
func TestWatchTellsOfItsSetOnly(t *testing.T) {
	s := fresh(t)
	session := s.session(bound)
	leases := s.take(session, "left", "stayed")
	w := s.watch("left", "stayed", "free")
	w.hears("free")
	w.set.Update(nil, []string{"left"})
	for _, l := range leases {
		s.free(session, l.Name, l.Token)
	}
	if got := <-w.vacated; got != "stayed" {
		t.Errorf("heard of %q", got)
	}
}

// The store's end is a watch's end, also of one without names.
func TestWatchEndsWithTheStore(t *testing.T) {
	s := fresh(t)
	w, idle := s.watch("free"), s.watch()
	w.hears("free")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*watching{w, idle} {
		if err := w.fails(); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Watch(s.ctx, w.set, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Close waits for a watch that is just telling somebody.
func TestCloseWaits(t *testing.T) {
	s := fresh(t)
	telling, told := make(chan struct{}), make(chan struct{})
	set := backend.NewNameSet()
	set.Update([]string{"free"}, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Watch(s.ctx, set, func(...string) {
			close(telling)
			<-told
		})
	}()
	<-telling
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
		t.Error("it did not wait")
		closed <- nil
	case <-time.After(50 * time.Millisecond): // if it waits, no time is too long
	}
	close(told)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("the watch ended with %v", err)
	}
}
