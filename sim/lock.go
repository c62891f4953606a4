package sim

import (
	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/lock"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/term"
)

// Lock is a lock of a client, for one name or for several together.
type Lock struct {
	// Acquired is the answer to the attempt: a [lock.Acquired], or an error.
	Acquired *Reply

	ref actor.Ref
}

// Lock makes the client wait for the names, or with once, try once.
func (c *Client) Lock(once bool, names ...string) *Lock {
	l := &Lock{Acquired: &Reply{}}
	l.ref = c.Spawn("lock "+names[0], lock.New(lock.Config{Names: names, Session: c.Session, Sink: c.sink}))
	c.cluster.Monitor.node(c.Node).actor(l.ref).lock = true
	ask(c.Session, session.Join{Names: names, Owner: l.ref}, func(answer actor.Message) {
		if _, ok := answer.(session.Done); !ok {
			l.Acquired.Tell(answer)
			return
		}
		ask(l.ref, lock.Acquire{Once: once}, func(answer actor.Message) {
			if _, held := answer.(*lock.HeldError); held {
				c.cluster.Monitor.Met[LockHeld]++
			}
			l.Acquired.Tell(answer)
		})
	})
	return l
}

// Terms returns what the lock has won, or nil.
func (l *Lock) Terms() []*term.Term {
	a, _ := l.Acquired.Answer.(lock.Acquired)
	return a.Terms
}

// Release asks the lock to give back what it has or may still get.
func (l *Lock) Release() *Reply { return ask(l.ref, lock.Release{}, nil) }
