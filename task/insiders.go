package task

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
)

// ErrInline is the answer to a call that would have to wait, made while the
// engine's loop waits for the caller: for a callback that an executor runs inline.
var ErrInline = errors.New("simba: this call would wait, and was made from a callback that runs inline on the engine's loop; start a goroutine for it")

// Insiders knows which code is a callback or a task of one client. A blocking call
// from in there must not wait for itself (R40).
//
// It knows in two ways. The context that callbacks and tasks are given carries a
// mark, which goes wherever the user hands it on, also to other goroutines. And
// the goroutine that runs them is remembered by its number, for those who call
// with a context of their own. The number is read from the goroutine's own stack
// trace, which takes about a microsecond and is done by blocking calls only.
//
// The mark stays when the callback has returned, because OnRevoked may wait for
// whoever was given the context of OnElected. A goroutine that was started without
// the context and that its starter waits for is not known.
type Insiders struct {
	mu    sync.Mutex
	code  map[uint64]int      // the user's code that runs, by goroutine
	loops map[uint64]struct{} // goroutines for which an engine's loop waits
}

// NewInsiders returns an empty set.
func NewInsiders() *Insiders {
	return &Insiders{code: make(map[uint64]int), loops: make(map[uint64]struct{})}
}

type mark struct{ of *Insiders }

// Enter marks the calling goroutine, until leave is called on it, and the context
// that it returns.
func (in *Insiders) Enter(ctx context.Context) (marked context.Context, leave func()) {
	id := goroutine()
	in.mu.Lock()
	in.code[id]++
	in.mu.Unlock()
	return context.WithValue(ctx, mark{in}, true), func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.code[id]--; in.code[id] == 0 {
			delete(in.code, id)
		}
	}
}

// enterLoop marks the calling goroutine as one for which an engine's loop waits,
// until leave is called on it.
func (in *Insiders) enterLoop() (leave func()) {
	id := goroutine()
	in.mu.Lock()
	in.loops[id] = struct{}{}
	in.mu.Unlock()
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.loops, id)
	}
}

// Inside reports whether the caller is a callback or task, or an executor that is
// being called.
func (in *Insiders) Inside(ctx context.Context) bool {
	if ctx.Value(mark{in}) != nil {
		return true
	}
	id := goroutine()
	in.mu.Lock()
	defer in.mu.Unlock()
	_, loop := in.loops[id]
	return loop || in.code[id] > 0
}

// Inline reports whether an engine's loop waits for the caller (R41): a callback
// that an executor runs before it returns, or the executor itself.
func (in *Insiders) Inline() bool {
	id := goroutine()
	in.mu.Lock()
	defer in.mu.Unlock()
	_, loop := in.loops[id]
	return loop
}

// goroutine returns the number of the calling goroutine, from the first line of
// its stack trace: "goroutine 42 [running]:".
func goroutine() uint64 {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	line, _, _ = bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseUint(string(line), 10, 64)
	return id
}
