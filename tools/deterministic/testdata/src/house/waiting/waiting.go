// Package waiting starts things and waits for them.
package waiting

import "context"

func all(ctx context.Context, c chan int) {
	go func() {}() // want `go: a behaviour starts no goroutine`
	c <- 1         // want `send on a channel`
	_ = <-c        // want `receive from a channel`
	<-ctx.Done()   // want `receive from a channel`
	for range c {  // want `range over a channel`
	}
	select { // want `select: a behaviour waits for nothing`
	default:
	}
	close(c) // want `close of a channel`
}

func generic[C ~chan int](c C) {
	for range c { // want `range over a channel`
	}
}
