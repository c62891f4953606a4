package backend

import "sync"

// NameSet is the set of names that someone waits for. It is safe for concurrent
// use; its zero value is not usable, see [NewNameSet]. It belongs to whoever calls
// [Watcher.Watch], which only reads it.
type NameSet struct {
	mu      sync.Mutex
	names   map[string]struct{}
	changed chan struct{}
}

// NewNameSet returns an empty set.
func NewNameSet() *NameSet {
	return &NameSet{names: make(map[string]struct{}), changed: make(chan struct{})}
}

// Update removes and then adds names: one that is in both stays in the set.
func (s *NameSet) Update(add, remove []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range remove {
		delete(s.names, name)
	}
	for _, name := range add {
		s.names[name] = struct{}{}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Len returns how many names the set has.
func (s *NameSet) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.names)
}

// Has reports whether name is in the set.
func (s *NameSet) Has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.names[name]
	return ok
}

// Names returns the names in no order, and a channel that is closed at the next
// change of the set.
func (s *NameSet) Names() (names []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names = make([]string, 0, len(s.names))
	for name := range s.names {
		names = append(names, name)
	}
	return names, s.changed
}
