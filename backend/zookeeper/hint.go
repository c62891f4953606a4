package zookeeper

import "sync"

// hints are names of which this store has heard last that they are vacant. Its zero value is empty.
type hints struct {
	mu    sync.Mutex
	names map[string]bool
}

// maxHints is how many are remembered: they are worth something for a moment only.
const maxHints = 4096

func (h *hints) add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil || len(h.names) >= maxHints {
		h.names = make(map[string]bool)
	}
	h.names[name] = true
}

// take returns those of the names, and forgets them.
func (h *hints) take(names []string) (vacant []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if h.names[name] {
			delete(h.names, name)
			vacant = append(vacant, name)
		}
	}
	return vacant
}
