// Package control lets one process tell another one, of the same user on the same machine, to step down.
//
// Each process that can be told listens on a socket of its own, in a folder that only its user can enter. Whoever asks
// names the session that leads, as the store says, and asks all processes that contend for the name: only the one that
// has this session does anything. So nobody can be mistaken for another one, whatever ids the system gives away anew: a
// process that is gone does not answer, and one that has opened a new session since does not feel addressed.
package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Patience is how long a process may take to say whether it leads. One that is frozen does not.
const Patience = 5 * time.Second

// Leader is what a process can be told about. Its methods are called from any goroutine.
type Leader interface {
	// Leads returns the token under which this process leads in the session, 0 if it does not.
	Leads(session string) (token uint64)
	// StepDown hands over and stays down for the cooldown, counted from now. It returns when that is done.
	StepDown(ctx context.Context, cooldown time.Duration) error
}

// ErrNobody says that no process here leads the name in the session.
var ErrNobody = errors.New("no process of this user on this machine leads it")

// SilentError says that nobody claims to lead, but that Sockets have not said anything: their processes may be frozen.
type SilentError struct{ Sockets []string }

// Error names the sockets.
func (e *SilentError) Error() string {
	return fmt.Sprintf("%d of the processes that contend for it did not answer within %v, such as the one behind %s; it may be frozen",
		len(e.Sockets), Patience, e.Sockets[0])
}

// LostError says that the leader with a Token has begun to step down and was gone, by a Cause, before it had said how that
// went.
type LostError struct {
	Token uint64
	Cause error
}

// Error says that the outcome is not known.
func (e *LostError) Error() string {
	return fmt.Sprintf("the leader with the token %d was told, but has gone without an answer: %v", e.Token, e.Cause)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// What goes over a socket, each as one line of JSON: a request, a claim, and if that has a token, a result.
type (
	request struct {
		Name     string        `json:"name"`
		Session  string        `json:"session"`
		Cooldown time.Duration `json:"cooldown_ns"`
	}
	claim struct {
		Token uint64 `json:"token"` // 0: somebody else leads
	}
	result struct {
		Problem string `json:"problem,omitempty"`
	}
)

// limit is more than a line takes.
const limit = 4096

const ending = ".sock"

// prefix is how the sockets of a name begin. Paths of sockets are short, and names need not be.
func prefix(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8]) + "-"
}
