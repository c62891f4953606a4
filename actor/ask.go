package actor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Request is a message that wants an answer. It is its own reply address when
// it comes from [Ask]; a behaviour answers with
//
//	ctx.Send(request.ReplyTo(), answer)
//
// at once or later, and at most once: further answers are ignored.
type Request struct {
	// Message is what is asked.
	Message Message

	replyTo Ref
	answer  chan Message
	state   atomic.Uint32
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

// stoppedAnswer is the answer of the runtime for an actor that has ended.
type stoppedAnswer struct{}

// answers holds channels that no request refers to any more.
var answers = sync.Pool{New: func() any { return make(chan Message, 1) }}

// ReplyTo is where the answer goes.
func (r *Request) ReplyTo() Ref {
	if r.replyTo != nil {
		return r.replyTo
	}
	return r
}

// Tell answers the request. Only the first answer counts, and none counts after
// the asker has given up.
func (r *Request) Tell(answer Message) {
	if r.replyTo != nil {
		r.replyTo.Tell(answer)
		return
	}
	if r.state.CompareAndSwap(asked, answered) {
		r.answer <- answer // room for one, and this is the only one
	}
}

// String names the request by what it asks.
func (r *Request) String() string { return fmt.Sprintf("request(%T)", r.Message) }

// Ask sends msg as a [Request] and waits for its answer, for ctx, or for the
// receiver's end ([ErrStopped]). It must not be called from a behaviour.
func Ask(ctx context.Context, to Ref, msg Message) (Message, error) {
	ch := answers.Get().(chan Message)
	r := &Request{Message: msg, answer: ch}
	to.Tell(r)
	var answer Message
	select {
	case answer = <-ch:
	case <-ctx.Done():
		if r.state.CompareAndSwap(asked, abandoned) {
			// From here on Tell does not touch the channel, so it can be reused.
			answers.Put(ch)
			return nil, context.Cause(ctx)
		}
		answer = <-ch // it was answered at the same moment
	}
	answers.Put(ch)
	if _, ok := answer.(stoppedAnswer); ok {
		return nil, fmt.Errorf("%w: %s", ErrStopped, to)
	}
	return answer, nil
}
