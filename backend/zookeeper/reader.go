package zookeeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// reader is a link for looking, with a single connection: a watch is good for as long as that lives, so
// who watches knows what it has missed. (The library would set its watches again over the next one, as of
// a time that it may have moved on already.)
type reader struct {
	store *Store
	link  *link

	mu    sync.Mutex
	armed map[string]*arming // paths that are watched
	ears  map[*ear]bool      // who wants to hear of events
}

// arming is how the watch of a path is set.
type arming struct {
	done chan struct{} // closed when the server has it, or has not
	set  bool
}

// readerTimeout is that of a session that holds nothing.
const readerTimeout = 10 * time.Second

// reader returns the link that all share.
func (s *Store) reader(ctx context.Context) (*reader, error) {
	r, err := s.sharedReader()
	if err != nil {
		return nil, err
	}
	if _, err := r.link.ready(ctx); !errors.Is(err, errLost) {
		return r, err
	}
	if r, err = s.sharedReader(); err != nil { // a new one
		return nil, err
	}
	_, err = r.link.ready(ctx)
	return r, err
}

// sharedReader makes a reader unless there is one.
func (s *Store) sharedReader() (*reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.looking != nil {
		if s.looking.link.over() == nil {
			return s.looking, nil
		}
		s.running.Go(s.looking.link.close)
		s.looking = nil
	}
	r := &reader{store: s, armed: make(map[string]*arming), ears: make(map[*ear]bool)}
	var err error
	if r.link, err = s.connect(readerTimeout, true, r.event); err != nil {
		return nil, err
	}
	s.looking = r
	return r, nil
}

// event is called by the library.
func (r *reader) event(e zk.Event) {
	if e.Path == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.armed, e.Path)
	for l := range r.ears {
		l.hear(e.Path)
	}
}

// listen adds an ear, or removes it.
func (r *reader) listen(l *ear, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on {
		r.ears[l] = true
	} else {
		delete(r.ears, l)
	}
}

// children returns those of a node. After it, there is an event when they change, or the node is removed,
// or, if there is none and one may come, it is created. A path has one watch at most, for they cannot be
// taken back.
func (r *reader) children(ctx context.Context, path string, comes bool) (children []string, found bool, err error) {
	for {
		mine, a := r.arm(path)
		if mine {
			children, found, err = r.watch(ctx, path, comes)
			r.confirm(path, a, err == nil && (found || comes))
			return children, found, err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
		if a.set {
			return r.plain(ctx, path)
		}
	}
}

// arm reports whether the caller is the one who sets the watch; otherwise somebody does, or has.
func (r *reader) arm(path string) (mine bool, a *arming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.armed[path]; a != nil {
		return false, a
	}
	a = &arming{done: make(chan struct{})}
	r.armed[path] = a
	return true, a
}

func (r *reader) confirm(path string, a *arming, set bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.set = set
	if !set && r.armed[path] == a {
		delete(r.armed, path)
	}
	close(a.done)
}

func (r *reader) watch(ctx context.Context, path string, comes bool) (children []string, found bool, err error) {
	for {
		children, err = ask(ctx, r.link, func(c *zk.Conn) ([]string, error) {
			children, _, _, err := c.ChildrenW(path)
			return children, err
		})
		if err == nil {
			return children, true, nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return nil, false, err
		}
		if !comes {
			return nil, false, nil
		}
		found, err = ask(ctx, r.link, func(c *zk.Conn) (bool, error) {
			found, _, _, err := c.ExistsW(path)
			return found, err
		})
		if err != nil || !found {
			return nil, false, err
		}
	}
}

func (r *reader) plain(ctx context.Context, path string) (children []string, found bool, err error) {
	children, err = ask(ctx, r.link, func(c *zk.Conn) ([]string, error) {
		children, _, err := c.Children(path)
		return children, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	return children, err == nil, err
}
