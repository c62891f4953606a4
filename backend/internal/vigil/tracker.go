// Package vigil is what drivers have in common that find out by looking which names have become
// free.
package vigil

import "time"

// Lease is what a look sees of a name.
type Lease struct {
	// Name is the name that was looked at.
	Name string
	// Token is the last one of the name, 0 if it was never used.
	Token uint64
	// Held says whether somebody owns it.
	Held bool
	// Remaining is for how long the owner's session lives unless it is renewed.
	Remaining time.Duration
}

// Tracker remembers what was seen, so that of each vacancy it is told once. Its zero value
// has seen nothing. It is not safe for concurrent use.
type Tracker struct {
	// seen has 0 for a name that was held, otherwise 1 + its last token, by which a name that was
	// taken and freed between two looks differs from one that nobody wanted.
	seen map[string]uint64
}

// Ask returns those of the names to look at: all, or those that were not seen, or that
// have joined since, maybe once more. What is not among the names is forgotten.
func (t *Tracker) Ask(names, joined []string, all bool) (ask []string) {
	for _, name := range joined {
		delete(t.seen, name)
	}
	before := t.seen
	t.seen = make(map[string]uint64, len(names))
	for _, name := range names {
		last, known := before[name]
		if known {
			t.seen[name] = last
		}
		if all || !known {
			ask = append(ask, name)
		}
	}
	return ask
}

// Vacant returns those of the names that have become vacant since they were seen last.
func (t *Tracker) Vacant(leases []Lease) (vacant []string) {
	for _, l := range leases {
		if l.Held {
			t.seen[l.Name] = 0
			continue
		}
		if t.seen[l.Name] != l.Token+1 {
			t.seen[l.Name] = l.Token + 1
			vacant = append(vacant, l.Name)
		}
	}
	return vacant
}
