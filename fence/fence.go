// Package fence holds what stands in front of a protected resource: guards that refuse
// a fencing token lower than the highest one that they have seen.
//
// A lease cannot stop a process that was paused between looking at its term and acting.
// The resource can: each write carries the token of the term that it belongs to, tokens
// only grow from term to term, and a write whose token is lower than one before it
// comes from somebody who has lost the lease without noticing. The same token may come
// any number of times, since one term writes many times.
//
// [Guard] is for a resource within one process. The packages below this one are for
// others: fencesql and fencepgx for databases, fenceredis for Redis, fencehttp for what is
// behind an HTTP server, fencefile for files. They all answer with the errors of this package.
package fence

import (
	"errors"
	"fmt"
)

// The errors to match with errors.Is.
var (
	// ErrStale: the token is lower than one that the resource has seen. It comes as a
	// [*StaleError]. Nothing was written.
	ErrStale = errors.New("fence: the token is stale")
	// ErrZero: the token is 0, which no term has. It comes as a [*TokenError].
	ErrZero = errors.New("fence: the token is 0")
	// ErrTooLarge: the token is greater than what the resource can store. It comes as a
	// [*TokenError].
	ErrTooLarge = errors.New("fence: the token is too large")
	// ErrNotFound: there is no such resource. It comes as a [*NotFoundError].
	ErrNotFound = errors.New("fence: the resource was not found")
	// ErrUnknown: whether the write happened is not known. It comes as an
	// [*UnknownError].
	ErrUnknown = errors.New("fence: the outcome is not known")
)

// StaleError says that a resource has refused a token.
type StaleError struct {
	// Name is the name of the resource.
	Name string
	// Token is the token that was refused.
	Token uint64
	// Highest is the one that the resource has seen.
	Highest uint64
}

// Error names the resource and both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: %q refuses the stale token %d: it has seen %d, so another owner has taken over", e.Name, e.Token, e.Highest)
}

// Unwrap returns [ErrStale].
func (e *StaleError) Unwrap() error { return ErrStale }

// TokenError says that a token cannot be one.
type TokenError struct {
	// Name is the name of the resource.
	Name string
	// Token is the token that was refused.
	Token uint64
	// Max is the highest token that the resource can store.
	Max uint64
}

// Error says what a token may be.
func (e *TokenError) Error() string {
	if e.Token == 0 {
		return fmt.Sprintf("fence: %q was given the token 0, which no term has: hand on the token of the term", e.Name)
	}
	return fmt.Sprintf("fence: %q was given the token %d, but it can store no more than %d", e.Name, e.Token, e.Max)
}

// Unwrap returns [ErrZero] or [ErrTooLarge].
func (e *TokenError) Unwrap() error {
	if e.Token == 0 {
		return ErrZero
	}
	return ErrTooLarge
}

// NotFoundError says that there is no such resource, and so nothing was written.
type NotFoundError struct {
	// Name is the name of the resource.
	Name string
	// Token is the token of the write.
	Token uint64
}

// Error names the resource.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("fence: %q was not found, so nothing was written under the token %d", e.Name, e.Token)
}

// Unwrap returns [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// UnknownError says that a write may have happened, or not: the resource was asked, and what
// came back does not tell. Repeat the write if that does no harm, under the same token, or look.
type UnknownError struct {
	// Name is the name of the resource.
	Name string
	// Token is the token of the write.
	Token uint64
	// Cause is what came back.
	Cause error
}

// Error names the resource and the cause.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("fence: whether %q was written under the token %d is not known: %v", e.Name, e.Token, e.Cause)
}

// Unwrap returns [ErrUnknown] and the cause.
func (e *UnknownError) Unwrap() []error { return []error{ErrUnknown, e.Cause} }

// Compare decides, for a resource that has seen highest (0 for none yet) and can store
// tokens up to limit: nil, a [*StaleError] or a [*TokenError]. It is for guards of your own.
func Compare(name string, token, highest, limit uint64) error {
	switch {
	case token == 0 || token > limit:
		return &TokenError{name, token, limit}
	case token < highest:
		return &StaleError{name, token, highest}
	}
	return nil
}
