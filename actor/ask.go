package actor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// ErrStopped is the result of an [Ask] that reached an actor which had ended.
var ErrStopped = errors.New("actor: stopped")

// Request is a message that wants an answer. It is its own reply address when
// it comes from [Ask]; a behaviour answers with
//
//	ctx.Send(request.ReplyTo(), answer)
//
// at once or later, and once. Ask takes the first answer and ignores further
// ones, and any that comes after it has given up.
type Request struct {
	// Message is what is asked.
	Message Message

	replyTo Ref
	answer  chan Message // room for one; nil unless Ask waits
	state   atomic.Uint32
}

// Unanswered is the runtime's answer to a [Request] that its receiver did not
// live to handle: it had ended, or it panicked over it. [Ask] returns
// [ErrStopped] for it; an actor that asked by [NewRequest] gets it as a message.
type Unanswered struct {
	Request *Request
	To      Ref // the receiver
}

// NewRequest returns a request whose answer goes to replyTo, for actors that ask
// actors.
func NewRequest(msg Message, replyTo Ref) *Request {
	return &Request{Message: msg, replyTo: replyTo}
}

// The life of a request that Ask waits for.
const (
	asked uint32 = iota
	answered
	abandoned
)

// ReplyTo is where the answer goes.
func (r *Request) ReplyTo() Ref {
	if r.replyTo != nil {
		return r.replyTo
	}
	return r
}

// Tell answers the request.
func (r *Request) Tell(answer Message) {
	switch {
	case r.replyTo != nil:
		r.replyTo.Tell(answer)
	case r.answer != nil && r.state.CompareAndSwap(asked, answered):
		r.answer <- answer // room for one, and this is the only one
	}
}

// String names the request by what it asks.
func (r *Request) String() string { return fmt.Sprintf("request(%T)", r.Message) }

// Ask sends msg as a [Request] and waits for its answer or for ctx, whose cause
// the error then matches: it is unknown what became of msg, unless ctx was done
// already, for then it is not sent. The error matches [ErrStopped] if the
// receiver had ended, ends with the request in its mailbox, or panics over it;
// one that has taken the request and ends later is not noticed.
//
// It must not be called from a behaviour, which would block; see [NewRequest].
func Ask(ctx context.Context, to Ref, msg Message) (Message, error) {
	if ctx.Err() != nil {
		return nil, askError(ctx, to)
	}
	channels := channelsFor(to)
	r := &Request{Message: msg, answer: channels.get()}
	to.Tell(r)
	var answer Message
	select {
	case answer = <-r.answer:
	case <-ctx.Done():
		if r.state.CompareAndSwap(asked, abandoned) {
			// From here on Tell does not touch the channel.
			channels.put(r.answer)
			return nil, askError(ctx, to)
		}
		answer = <-r.answer // it was answered at the same moment
	}
	// Tell has done the one send that it does, so another request can have the
	// channel even though whoever was asked may keep this one.
	channels.put(r.answer)
	if _, ok := answer.(Unanswered); ok {
		return nil, fmt.Errorf("%w: %s", ErrStopped, to)
	}
	return answer, nil
}

func askError(ctx context.Context, to Ref) error {
	return fmt.Errorf("actor: asking %s: %w", to, context.Cause(ctx))
}

// channels are what Ask waits on. There is one pool per system and none for the
// whole program, because a channel that was made in a testing/synctest bubble must
// not be used outside of it.
type channels struct{ pool sync.Pool }

func (c *channels) get() chan Message {
	if c != nil {
		if ch, ok := c.pool.Get().(chan Message); ok {
			return ch
		}
	}
	return make(chan Message, 1)
}

func (c *channels) put(ch chan Message) {
	if c != nil {
		c.pool.Put(ch)
	}
}

// channelsFor returns the pool of the receiver's system. Other implementations of
// Ref have none.
func channelsFor(to Ref) *channels {
	if p, ok := to.(*process); ok {
		return &p.system.channels
	}
	return nil
}

// refuse answers msg, if it wants an answer, in the name of its receiver.
func refuse(to Ref, msg Message) {
	if r, ok := msg.(*Request); ok {
		r.Tell(Unanswered{Request: r, To: to})
	}
}
