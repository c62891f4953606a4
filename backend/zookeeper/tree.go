package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/simba-go/simba/backend"
)

// tree knows where the nodes are:
//
//	root                         what tokens count from is when it was created
//	root/sessions/SESSION        ephemeral; a session is alive as long as this exists
//	root/leases/NAME/SESSION     who owns a name
//	root/notes/NAME              the note of a name
//
// That the owner is part of the path makes every operation name the owner it means: a release of an
// owner who does not know yet that it has lost the name finds nothing to delete, and of two who take
// over from a dead owner, one does not find it any more. No version has to be compared.
type tree struct{ root string }

func (t tree) sessions() string             { return t.root + "/sessions" }
func (t tree) session(id string) string     { return t.sessions() + "/" + id }
func (t tree) leases() string               { return t.root + "/leases" }
func (t tree) lease(name string) string     { return t.leases() + "/" + name }
func (t tree) owner(name, id string) string { return t.lease(name) + "/" + id }
func (t tree) notes() string                { return t.root + "/notes" }
func (t tree) note(name string) string      { return t.notes() + "/" + name }

// defaultNamespace is the root if nobody says otherwise.
const defaultNamespace = "/simba"

// maxNamespace keeps the largest request, which takes a thousand names or none, below the servers' limit
// of a megabyte.
const maxNamespace = 128

func checkNamespace(namespace string) (root string, err error) {
	if namespace == "" || namespace == "/" {
		return defaultNamespace, nil
	}
	if len(namespace) > maxNamespace {
		return "", fmt.Errorf("%w: the namespace has %d bytes; it may have %d", ErrURL, len(namespace), maxNamespace)
	}
	rest, ok := strings.CutPrefix(namespace, "/")
	if !ok {
		return "", fmt.Errorf("%w: the namespace %q must be a path that begins with a slash, such as %q", ErrURL, namespace, defaultNamespace)
	}
	for i, element := range strings.Split(rest, "/") {
		var name *backend.NameError
		if errors.As(backend.CheckName(element), &name) {
			return "", fmt.Errorf("%w: the namespace %q has the element %q: %s", ErrURL, namespace, element, name.Why)
		}
		if i == 0 && element == "zookeeper" {
			return "", fmt.Errorf("%w: the namespace %q: /zookeeper is the servers' own", ErrURL, namespace)
		}
	}
	return namespace, nil
}

// acl is who may do what with the nodes.
type acl struct {
	list []zk.ACL
	auth func() []byte // "user:password", nil for nobody; nobody who prints a store sees it
}

// maxUser is there for the same reason as maxNamespace: each node repeats its access list.
const maxUser = 64

func newACL(user, password string) (acl, error) {
	switch {
	case user == "" && password == "":
		return acl{list: zk.WorldACL(zk.PermAll)}, nil
	case user == "" || password == "":
		return acl{}, fmt.Errorf("%w: user and password belong together", ErrURL)
	case len(user) > maxUser:
		return acl{}, fmt.Errorf("%w: the user has %d bytes; it may have %d", ErrURL, len(user), maxUser)
	case strings.Contains(user, ":"):
		return acl{}, fmt.Errorf("%w: the user %q contains a colon, which ends it", ErrURL, user)
	}
	auth := func() []byte { return []byte(user + ":" + password) }
	return acl{list: zk.DigestACL(zk.PermAll, user, password), auth: auth}, nil
}

// prepare makes sure that the folders are there.
func (s *Store) prepare(ctx context.Context) error {
	r, err := s.reader(ctx)
	if err != nil {
		return err
	}
	if err := s.folders(ctx, r.link); err != nil {
		return err
	}
	_, err = ask(ctx, r.link, func(c *zk.Conn) (struct{}, error) { // which takes the permission to read
		_, _, err := c.Get(s.tree.root)
		return struct{}{}, err
	})
	return err
}

// folders creates what is missing.
func (s *Store) folders(ctx context.Context, l *link) error {
	var missing []string
	for _, p := range []string{s.tree.notes(), s.tree.leases(), s.tree.sessions()} {
		for ; p != "/"; p = path.Dir(p) {
			found, err := exists(ctx, l, p)
			if err != nil {
				return err
			}
			if found != nil {
				break
			}
			missing = append(missing, p)
		}
	}
	for len(missing) > 0 { // from the root down
		last := missing[len(missing)-1]
		missing = missing[:len(missing)-1]
		_, err := ask(ctx, l, func(c *zk.Conn) (string, error) { return c.Create(last, nil, zk.FlagPersistent, s.acl.list) })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("creating the node %s: %w", last, err)
		}
	}
	return nil
}
