// Package edges has a file where the deterministic world ends.
package edges

import "time"

// Now reads the clock.
func Now() time.Time { return time.Now() }

// Clock is a type: that it is used hides nothing.
type Clock struct{ base time.Time }

// Elapsed reads the clock.
func (c *Clock) Elapsed() time.Duration { return time.Since(c.base) }

// Base is offered.
func (c *Clock) Base() time.Time { return c.base }

// New is offered.
func New[T any](T) *Clock { return &Clock{} }

// Generic is not.
type Generic[T any] struct{}

// Read reads.
func (Generic[T]) Read() {}

// Epoch is a variable.
var Epoch = time.Now()

// Limit is a constant.
const Limit = 5

func loop(m map[string]int) {
	for k := range m { //simba:unordered it is an edge // want `//simba:unordered: nothing needs it, because this file is an edge`
		go println(k)
	}
}
