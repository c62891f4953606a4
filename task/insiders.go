package task

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
)

// ErrInline is the answer to a call that would have to wait, made from a callback
// that an executor runs inline: it would wait for the very loop on which it runs.
var ErrInline = errors.New("simba: this call would wait, and was made from a callback that runs inline on the engine's loop; start a goroutine for it")

// Insiders knows which code is a callback or a task of one client. A blocking
// call from in there must not wait for itself.
//
// It knows in two ways. The context that callbacks and tasks are given carries a
// mark, which goes wherever the user hands it on, also to other goroutines. And
// the goroutine that runs them is remembered by its number, for those who call
// with a context of their own. The number is read from the goroutine's own stack
// trace, which takes about a microsecond and is done by blocking calls only.
// Neither sees a goroutine that a task has started, has not given the context to,
// and waits for.
type Insiders struct {
	mu    sync.Mutex
	depth map[uint64]int      // running user code, by goroutine
	loops map[uint64]struct{} // engine loops that hand callbacks to an executor now
}

// NewInsiders returns an empty set.
func NewInsiders() *Insiders {
	return &Insiders{depth: make(map[uint64]int), loops: make(map[uint64]struct{})}
}

type mark struct{ of *Insiders }

// Enter marks the calling goroutine and the context that it returns, until leave
// is called on the same goroutine.
func (in *Insiders) Enter(ctx context.Context) (marked context.Context, leave func()) {
	id := goroutine()
	in.mu.Lock()
	in.depth[id]++
	in.mu.Unlock()
	return context.WithValue(ctx, mark{in}, true), func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.depth[id]--; in.depth[id] == 0 {
			delete(in.depth, id)
		}
	}
}

// enterLoop remembers that the calling goroutine is an engine's loop.
func (in *Insiders) enterLoop() (leave func()) {
	id := goroutine()
	in.mu.Lock()
	in.loops[id] = struct{}{}
	in.mu.Unlock()
	return func() {
		in.mu.Lock()
		delete(in.loops, id)
		in.mu.Unlock()
	}
}

// Inside reports whether the caller is a callback or task.
func (in *Insiders) Inside(ctx context.Context) bool {
	if ctx.Value(mark{in}) != nil {
		return true
	}
	id := goroutine()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.depth[id] > 0
}

// Inline reports whether the caller is a callback that runs on an engine's loop.
func (in *Insiders) Inline() bool {
	id := goroutine()
	in.mu.Lock()
	defer in.mu.Unlock()
	_, loop := in.loops[id]
	return loop && in.depth[id] > 0
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
