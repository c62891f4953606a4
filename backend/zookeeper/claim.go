package zookeeper

import (
	"context"
	"errors"
	"maps"

	"github.com/go-zookeeper/zk"

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

// inventory is what a session had when somebody began to look.
type inventory struct {
	revision uint64
	claims   map[string]claim
	settled  []string // names that it should own
	open     []string // and those of which only the servers know
}

func (o *session) inventory() inventory {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := inventory{revision: o.revision, claims: make(map[string]claim)}
	for name, c := range o.claims {
		i.claims[name] = *c
		if c.open() {
			i.open = append(i.open, name)
		} else {
			i.settled = append(i.settled, name)
		}
	}
	return i
}

// checks are operations that fail unless the session owns the names.
func (o *session) checks(names []string) []any {
	operations := make([]any, len(names))
	for i, name := range names {
		operations[i] = &zk.CheckVersionRequest{Path: o.store.tree.owner(name, o.id), Version: -1}
	}
	return operations
}

// verify returns which of its claims are good. It comes after a write of the session was answered, so
// whatever became of attempts over an earlier connection is seen.
func (o *session) verify(ctx context.Context, i inventory) (map[string]uint64, error) {
	unsure := i.open
	for rest := i.settled; len(rest) > 0; {
		n := min(len(rest), maxOperations)
		_, err := ask(ctx, o.link, func(c *zk.Conn) (struct{}, error) {
			_, _, err := change(c, o.checks(rest[:n]))
			return struct{}{}, err
		})
		if errors.Is(err, zk.ErrNoNode) {
			unsure = append(unsure, rest[:n]...)
		} else if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	found := make([]uint64, len(unsure))
	err := parallel(len(unsure), func(k int) (err error) {
		found[k], err = o.taken(ctx, unsure[k])
		return err
	})
	if err != nil {
		return nil, err
	}
	tokens := i.tokens()
	for k, name := range unsure {
		delete(tokens, name)
		if found[k] != 0 {
			tokens[name] = found[k]
		}
	}
	o.correct(i, unsure, tokens)
	return tokens, nil
}

// tokens returns those of the names that the session should own.
func (i inventory) tokens() map[string]uint64 {
	tokens := make(map[string]uint64, len(i.settled))
	for _, name := range i.settled {
		tokens[name] = i.claims[name].token
	}
	return tokens
}

// correct notes what the servers have said, unless something has happened meanwhile.
func (o *session) correct(i inventory, names []string, tokens map[string]uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		if c := o.claims[name]; c != nil && *c == i.claims[name] && c.pending == 0 {
			c.token, c.doubt = tokens[name], false
			o.drop(name, c)
		}
	}
}

// taken asks for the token with which the session owns a name.
func (o *session) taken(ctx context.Context, name string) (uint64, error) {
	owner, err := exists(ctx, o.link, o.store.tree.owner(name, o.id))
	if err != nil || owner == nil {
		return 0, err
	}
	return token(o.base, owner.Czxid)
}

// tell returns the revision for a list. That of one which something has happened to since it was begun is
// out of date already.
func (o *session) tell(i inventory, tokens map[string]uint64) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told.revision == o.revision && o.revision == i.revision && maps.Equal(o.told.tokens, tokens) {
		return o.revision
	}
	late := o.revision != i.revision
	o.revision++
	o.told = list{o.revision, tokens}
	if late {
		o.revision++
	}
	return o.told.revision
}

// unchanged reports whether a revision stands for what the session owns, as far as this store has changed
// that.
func (o *session) unchanged(known uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known != o.revision || known != o.told.revision {
		return false
	}
	for _, c := range o.claims {
		if c.open() {
			return false
		}
	}
	return true
}
