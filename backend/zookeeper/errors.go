package zookeeper

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// What can be wrong. Errors that match one of these also say which ensemble it is, and what it said.
var (
	// ErrClosed is the answer of a store after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrURL says that a URL, or what was given in place of one, is not valid.
	ErrURL = errors.New("not valid")
	// ErrPermission says that the user may not do what is needed with the nodes.
	ErrPermission = errors.New("the access list of a node forbids it; look at who created the namespace, and as which user")
	// ErrConnection says that a connection was lost, or not made. The outcome is unknown.
	ErrConnection = errors.New("no connection")
)

// errLost says that a connection of which there was to be only one is gone.
var errLost = fmt.Errorf("%w any more", ErrConnection)

func isExpired(err error) bool { return errors.Is(err, backend.ErrExpired) }

// explain adds to what a server or the library said what it means.
func explain(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%w (%w)", ErrPermission, err)
	case broken(err):
		return fmt.Errorf("%w: it is unknown whether this was done (%w)", ErrConnection, err)
	}
	return err
}

// broken reports whether an error came in place of an answer.
func broken(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, zk.ErrSessionMoved)
}
