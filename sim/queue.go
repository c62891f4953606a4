package sim

import "github.com/simba-go/simba/actor"

// queue holds what is to happen, by true time and, at one instant, in the order in
// which it came about. It is a heap in which each node has four children: fewer
// levels than with two, and their keys lie side by side.
type queue []slot

type slot struct {
	at  actor.Instant
	seq uint64
	*event
}

func (s slot) before(t slot) bool {
	if s.at != t.at {
		return s.at < t.at
	}
	return s.seq < t.seq
}

func (q *queue) push(s slot) {
	*q = append(*q, s)
	q.up(len(*q) - 1)
}

// pop takes the first one out of a queue that is not empty.
func (q *queue) pop() slot {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], slot{}
	*q = h[:last]
	q.down(0)
	return first
}

// order restores the heap after the times of its slots have changed.
func (q *queue) order() {
	for i := len(*q) / 4; i >= 0; i-- {
		q.down(i)
	}
}

func (q *queue) up(i int) {
	h := *q
	s := h[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !s.before(h[parent]) {
			break
		}
		h[i], i = h[parent], parent
	}
	h[i] = s
}

func (q *queue) down(i int) {
	h := *q
	if i >= len(h) {
		return
	}
	s := h[i]
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(s) {
			break
		}
		h[i], i = h[least], least
	}
	h[i] = s
}
