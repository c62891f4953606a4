package redis

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a server. Errors that match one of these also say which server it is, and what
// it said.
var (
	// ErrClosed is the answer of a store after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrURL says that a URL cannot be read.
	ErrURL = errors.New("not a URL of Redis")
	// ErrNamespace says that a namespace is no name.
	ErrNamespace = errors.New("a namespace must have 1 to 128 characters of A-Z a-z 0-9 . _ : -")
	// ErrCluster says that a server is part of a cluster, and the client of [New] does not know.
	ErrCluster = errors.New("the server is part of a cluster")
	// ErrClient says that [New] was given a kind of client that it cannot use.
	ErrClient = errors.New("not a client of one server or of a cluster")
	// ErrEviction says that the server deletes keys when its memory is full, whoever needs them.
	ErrEviction = errors.New("the server may evict keys, and with them leases; set maxmemory-policy to noeviction, or use another server")
	// ErrVersion says that the server, or the format of what is stored, is too old or too new.
	ErrVersion = errors.New("this version is not supported")
	// ErrLogin says that the server does not know the user, or not with this password, or wants one.
	ErrLogin = errors.New("the server does not accept the user and the password, or wants some")
	// ErrPermission says that the user may not do everything that is needed.
	ErrPermission = errors.New("the user's permissions do not suffice")
	// ErrReplica says that the server is a replica, to which nobody may write.
	ErrReplica = errors.New("the server is a replica; connect to the master, or through Sentinel")
	// ErrReplicas says that too few replicas have confirmed a write. Its outcome is unknown.
	ErrReplicas = errors.New("too few replicas have confirmed")
)

// at says which server an error is about.
func (s *Store) at(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("simba: redis: %s: %w", s.where, explain(err))
}

// explain adds to what a server said what it means.
func explain(err error) error {
	said := err.Error()
	switch {
	case strings.Contains(said, repeats):
		before, _, _ := strings.Cut(said, repeats)
		return refused(before)
	case strings.HasPrefix(said, "READONLY"):
		return fmt.Errorf("%w (%w)", ErrReplica, err)
	case strings.Contains(said, "WRONGPASS"), strings.Contains(said, "NOAUTH"), strings.Contains(said, "unauthenticated"):
		return fmt.Errorf("%w (%w)", ErrLogin, err)
	case strings.Contains(said, "NOPERM"), strings.Contains(said, "ACL failure"), strings.Contains(said, "The user executing the script can't"):
		return fmt.Errorf("%w (%w)", ErrPermission, err)
	}
	return err
}

// repeats begins what a server repeats of a command that it does not know, such as AUTH with the password.
const repeats = ", with args beginning with"

// refused is what a server said, without what it repeated.
type refused string

func (r refused) Error() string { return string(r) }

// RedisError implements [goredis.Error].
func (refused) RedisError() {}
