package zookeeper

import (
	"context"

	"github.com/simba-go/simba/backend"
)

// claim is what a session knows about a name that it owns, or may own. All that it does goes over its own
// link, so this is complete: what the servers say about these names is what the session owns.
type claim struct {
	token   uint64 // 0 if it is not known to own it
	pending int    // attempts that have no outcome yet
	doubt   bool   // an attempt or a release was lost with its connection
}

// open reports whether only the servers know.
func (c *claim) open() bool { return c.pending > 0 || c.doubt }

// claim notes that an attempt is made. Settle must follow.
func (o *session) claim(names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		c := o.claims[name]
		if c == nil {
			c = &claim{}
			o.claims[name] = c
		}
		c.pending++
	}
}

// settle notes the outcome of an attempt: a token above zero if it was won, and whether there was one.
func (o *session) settle(names []string, token uint64, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if token != 0 {
		o.revision++
	}
	for _, name := range names {
		c := o.claims[name]
		c.pending--
		c.doubt = c.doubt || !known
		if token != 0 {
			c.token = token
		}
		o.drop(name, c)
	}
}

// drop forgets a claim to nothing.
func (o *session) drop(name string, c *claim) {
	if c.token == 0 && !c.open() {
		delete(o.claims, name)
	}
}

// lose notes the outcome of a release, and whether there was one.
func (o *session) lose(leases []backend.Lease, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.revision++
	for _, l := range leases {
		c := o.claims[l.Name]
		if c == nil || c.token != l.Token {
			continue
		}
		if !known {
			c.doubt = true
			continue
		}
		c.token = 0
		o.drop(l.Name, c)
	}
}

// owns returns the token of a name, 0 if the session is not known to own it.
func (o *session) owns(name string) (token uint64, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.claims[name]; c != nil {
		return c.token, c.open()
	}
	return 0, false
}

// look asks the servers which of its claims are good. It comes after a write of the session was answered,
// so whatever became of attempts over an earlier connection is seen.
func (o *session) look(ctx context.Context) (map[string]uint64, error) {
	o.mu.Lock()
	var names []string
	before := make(map[string]claim)
	for name, c := range o.claims {
		names = append(names, name)
		before[name] = *c
	}
	o.mu.Unlock()
	found := make([]uint64, len(names))
	err := parallel(len(names), func(i int) (err error) {
		found[i], err = o.taken(ctx, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	tokens := make(map[string]uint64)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, name := range names {
		if found[i] != 0 {
			tokens[name] = found[i]
		}
		// Unless something has happened meanwhile, this is what there is to know.
		if c := o.claims[name]; c != nil && *c == before[name] && c.pending == 0 {
			c.token, c.doubt = found[i], false
			o.drop(name, c)
		}
	}
	return tokens, nil
}

// taken asks for the token with which the session owns a name.
func (o *session) taken(ctx context.Context, name string) (uint64, error) {
	owner, err := exists(ctx, o.link, o.store.tree.owner(name, o.id))
	if err != nil || owner == nil {
		return 0, err
	}
	return token(o.base, owner.Czxid)
}
