package backend

import (
	"maps"
	"slices"
	"sync"
)

// NameSet is the set of names that someone waits for. It is safe for concurrent
// use; its zero value is not usable, see [NewNameSet]. It belongs to whoever calls
// [Watcher.Watch], which only reads it.
type NameSet struct {
	mu      sync.Mutex
	names   map[string]uint64 // to the serial number of the update by which it joined
	serial  uint64            // of the last update by which a name joined
	changed chan struct{}
}

// NewNameSet returns an empty set.
func NewNameSet() *NameSet {
	return &NameSet{names: make(map[string]uint64), changed: make(chan struct{})}
}

// Update removes and then adds names: one that is in both leaves the set and joins
// it anew.
func (s *NameSet) Update(add, remove []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range remove {
		delete(s.names, name)
	}
	for _, name := range add {
		if _, member := s.names[name]; !member {
			s.names[name] = s.serial + 1
		}
	}
	if len(add) > 0 {
		s.serial++
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
	return slices.AppendSeq(make([]string, 0, len(s.names)), maps.Keys(s.names)), s.changed
}

// Joined returns the names that have joined the set since an earlier call, which
// returned serial, or with serial 0 all names. Comparing two results of Names is
// not the same: a name that left and came back in between was not in the set when
// it mattered.
func (s *NameSet) Joined(serial uint64) (names []string, now uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if serial < s.serial {
		for name, joined := range s.names {
			if joined > serial {
				names = append(names, name)
			}
		}
	}
	return names, s.serial, s.changed
}
