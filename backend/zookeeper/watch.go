package zookeeper

import (
	"context"
	"errors"
	"sync"

	"github.com/simba-go/simba/backend"
)

// Watch implements [backend.Watcher]. It hears of a release from the server that it is connected to, and
// of the end of an owner's session as well.
func (s *Store) Watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	for {
		err := s.watch(ctx, set, vacated)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errLost) {
			return s.at(err)
		}
	}
}

// watch watches over one connection.
func (s *Store) watch(ctx context.Context, set *backend.NameSet, vacated func(names ...string)) error {
	r, err := s.reader(ctx)
	if err != nil {
		return err
	}
	w := &watch{
		reader: r, set: set, vacated: vacated, names: make(map[string]string),
		ear: &ear{heard: make(chan struct{}, 1), paths: make(map[string]bool)},
	}
	r.listen(w.ear, true)
	defer r.listen(w.ear, false)
	return w.run(ctx)
}

// ear collects the paths of events.
type ear struct {
	mu    sync.Mutex
	paths map[string]bool
	heard chan struct{} // has room for the news that there are some
}

func (e *ear) hear(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paths[path] = true
	select {
	case e.heard <- struct{}{}:
	default:
	}
}

func (e *ear) take() map[string]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	paths := e.paths
	e.paths = make(map[string]bool)
	return paths
}

// watch is a Watch over one connection.
type watch struct {
	*reader
	*ear
	set     *backend.NameSet
	vacated func(names ...string)
	names   map[string]string // that are watched, to the session that owns it, "" if it is vacant
}

func (w *watch) run(ctx context.Context) error {
	for serial := uint64(0); ; {
		fresh, now, changed := w.set.Joined(serial)
		serial = now
		w.leave()
		if err := w.look(ctx, fresh); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.link.life.Done():
			return w.link.over()
		case <-changed:
		case <-w.heard:
			if err := w.look(ctx, w.touched()); err != nil {
				return err
			}
		}
	}
}

// leave forgets names that are not in the set any more. Their watches stay until they fire.
func (w *watch) leave() {
	for name := range w.names {
		if !w.set.Has(name) {
			delete(w.names, name)
		}
	}
}

// touched returns the names that events are about.
func (w *watch) touched() (names []string) {
	paths := w.take()
	for name, owner := range w.names {
		if paths[w.store.tree.lease(name)] || owner != "" && paths[w.store.tree.session(owner)] {
			names = append(names, name)
		}
	}
	return names
}

// look looks at names and tells of those that are vacant: each was not watched before, or something has
// happened to it.
func (w *watch) look(ctx context.Context, names []string) error {
	owners := make([]string, len(names))
	err := parallel(len(names), func(i int) error {
		owner, found, err := w.owner(ctx, names[i])
		if owners[i] = owner; err == nil && !found {
			w.store.vacant.add(names[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	var vacant []string
	for i, name := range names {
		w.names[name] = owners[i]
		if owners[i] == "" {
			vacant = append(vacant, name)
		}
	}
	if len(vacant) > 0 {
		w.vacated(vacant...)
	}
	return nil
}

// owner returns the session that owns a name, "" if it is vacant, and whether there is a node for it. From
// here on, there is an event when that changes.
func (w *watch) owner(ctx context.Context, name string) (owner string, found bool, err error) {
	owners, found, err := w.children(ctx, w.store.tree.lease(name), true)
	for _, id := range owners {
		_, alive, failed := w.children(ctx, w.store.tree.session(id), false)
		if failed != nil {
			return "", found, failed
		}
		if alive {
			return id, true, nil
		}
	}
	return "", found, err
}
