package actor

import "sync"

// mailbox is an unbounded queue with one consumer. The consumer takes the whole
// queue at once, so that a burst costs it one lock, and sleeps on a channel of
// its own, so that an idle actor is a parked goroutine and nothing more.
type mailbox struct {
	mu      sync.Mutex
	queue   []Message
	wake    chan struct{}
	waiting bool // the consumer sleeps, and nobody has taken on to wake it yet
	closed  bool
}

// keepCap is the largest buffer that an idle mailbox keeps: enough for the
// steady state to allocate nothing, too small to matter for many idle actors.
const keepCap = 32

func (m *mailbox) init() { m.wake = make(chan struct{}, 1) }

// put reports whether the mailbox took msg; a closed one does not.
func (m *mailbox) put(msg Message) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.queue = append(m.queue, msg)
	wake := m.waiting
	m.waiting = false
	m.mu.Unlock()
	if wake {
		// Never blocks: the channel has room for one token, the consumer waits for
		// exactly one, and only the put that cleared waiting sends it.
		m.wake <- struct{}{}
	}
	return true
}

// take waits for messages and returns all of them in order. It swaps in spent,
// the cleared slice of the round before, as the new queue.
func (m *mailbox) take(spent []Message) []Message {
	m.mu.Lock()
	if len(m.queue) == 0 {
		// A burst that is over takes its buffers with it.
		if cap(spent) > keepCap {
			spent = nil
		}
		if cap(m.queue) > keepCap {
			m.queue = nil
		}
		m.waiting = true
		m.mu.Unlock()
		<-m.wake // the queue is not empty any more: only take empties it
		m.mu.Lock()
	}
	batch := m.queue
	m.queue = spent[:0]
	m.mu.Unlock()
	return batch
}

// close refuses further messages and returns those that nobody took. Only the
// consumer closes, so nobody is waiting.
func (m *mailbox) close() []Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	rest := m.queue
	m.queue = nil
	return rest
}
