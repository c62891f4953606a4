package sim

import "github.com/simba-go/simba/actor"

// Write is what a task sends to the protected resource: something to be done under
// its fencing token.
type Write struct {
	Name  string // of the lease
	Token uint64 // of the term
}

// resource is what leases are there to protect. With checks it refuses a token that
// is lower than the highest it has seen; without, it accepts everything.
type resource struct {
	checks  bool
	highest map[string]uint64
	told    func(w Write, accepted bool)
}

// Receive takes writes.
func (r *resource) Receive(_ actor.Context, msg actor.Message) {
	w, ok := msg.(Write)
	if !ok {
		return
	}
	accepted := !r.checks || w.Token >= r.highest[w.Name]
	r.highest[w.Name] = max(r.highest[w.Name], w.Token)
	r.told(w, accepted)
}
