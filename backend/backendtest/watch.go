package backendtest

import (
	"context"
	"sync"
	"time"

	"github.com/simba-go/simba/backend"
)

// lookout is a Watch at work.
type lookout struct {
	*suite
	set    *backend.NameSet
	cancel context.CancelFunc
	ended  chan error

	mu   sync.Mutex
	seen map[string]int
}

// watch starts watching names, until the check ends.
func (s *suite) watch(names ...string) *lookout {
	s.Helper()
	watcher, ok := s.store.Driver.(backend.Watcher)
	if !ok {
		s.Skip("the driver is no backend.Watcher: its clients poll")
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &lookout{
		suite: s, set: backend.NewNameSet(), cancel: cancel,
		ended: make(chan error, 1), seen: make(map[string]int),
	}
	l.set.Update(names, nil)
	go func() { l.ended <- watcher.Watch(ctx, l.set, l.vacated) }()
	s.Cleanup(l.end)
	return l
}

func (l *lookout) vacated(names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		l.seen[name]++
	}
}

func (l *lookout) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[name]
}

// end ends the Watch if it has not ended yet.
func (l *lookout) end() {
	l.cancel()
	select {
	case err := <-l.ended:
		l.ended <- nil
		if err != nil {
			l.Errorf("Watch returned %v after its context was cancelled, in place of nil", err)
		}
	case <-time.After(l.config.Patience):
		l.Errorf("Watch did not end within %v after its context was cancelled", l.config.Patience)
	}
}

// tells waits for a notice of name that is caused by act.
func (l *lookout) tells(name, what string, act func()) {
	l.Helper()
	before := l.count(name)
	act()
	l.until("notice that "+name+" "+what, func() bool { return l.count(name) > before })
}

func watchTellsOfReleases(s *suite) {
	l := s.watch("a", "b")
	for _, c := range s.clients(2) { // with a peer, one of another driver
		a, other := c.win("a"), c.win("other")
		c.free("other", other)
		l.tells("a", "was released", func() { c.free("a", a) })
		b := c.tokens(c.acquire(false, "b", "c"))
		l.tells("b", "was released", func() {
			c.release(backend.Lease{Name: "c", Token: b[1]}, backend.Lease{Name: "b", Token: b[0]})
		})
	}
	if l.count("other")+l.count("c") > 0 {
		s.Fatalf("Watch told of names that are not in its set: %v", l.seen)
	}
}

func watchTellsOfClosedSessions(s *suite) {
	l := s.watch("a", "b")
	for _, c := range s.clients(2) {
		c.acquire(false, "a", "b", "c")
		before := l.count("b")
		l.tells("a", "was freed with its session", c.close)
		s.until("notice that b was freed with its session", func() bool { return l.count("b") > before })
	}
}

// A name that joins the set may have been released a moment before, unseen.
func watchLooksAtNewNames(s *suite) {
	c := s.open()
	l := s.watch("free")
	s.until("notice of a name that was free from the start", func() bool { return l.count("free") > 0 })
	c.free("late", c.win("late"))
	held := c.win("held")
	l.tells("late", "is free when it joins the set", func() { l.set.Update([]string{"late", "held"}, []string{"free"}) })
	l.tells("held", "was released", func() { c.free("held", held) })
}

func watchEnds(s *suite) {
	l := s.watch("a")
	l.set.Update(nil, []string{"a"})
	c := s.open()
	c.free("a", c.win("a"))
	l.tells("a", "is free when it joins an empty set", func() { l.set.Update([]string{"a"}, nil) })
	select {
	case err := <-l.ended:
		l.ended <- nil
		s.Fatalf("Watch ended by itself: %v", err)
	default:
	}
	l.end() // with an error if it does not
}
