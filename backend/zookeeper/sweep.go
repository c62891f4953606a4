package zookeeper

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"
)

// sweepLimit is how long sweeping may take; what is left is left to others.
const sweepLimit = 10 * time.Second

const (
	// handful is how many names are looked at when a session is opened.
	handful = 32
	// longList is how many names are listed for that, on average at most.
	longList = 10_000
)

// sweep removes what dead sessions have left, at a cost that does not depend on how many names there are.
// Nothing is wrong with what they have left: whoever wants such a name takes it.
func (s *Store) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	r, err := s.reader(ctx)
	if err != nil {
		return
	}
	folder, err := exists(ctx, r.link, s.tree.leases())
	if err != nil || folder == nil || rand.IntN(int(folder.NumChildren)+1) > longList {
		return
	}
	names, err := s.names(ctx, r.link)
	if err != nil {
		return
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	views, err := s.holders(ctx, r.link, 0, names[:min(len(names), handful)])
	if err != nil {
		return
	}
	for _, v := range views {
		for _, id := range v.dead {
			s.tidy(ctx, r.link, []string{v.name}, id)
		}
	}
}

// tidy removes what a dead session has left of these names. What somebody else has taken meanwhile is not
// there any more, and stays as it is.
func (s *Store) tidy(ctx context.Context, l *link, names []string, id string) {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	for n := 0; len(names) > 0; names = names[n:] {
		n = min(len(names), maxOperations/2)
		if s.tidyTogether(ctx, l, names[:n], id) == nil {
			continue
		}
		for _, name := range names[:n] {
			if ctx.Err() != nil {
				return
			}
			s.tidyTogether(ctx, l, []string{name}, id)
		}
	}
}

func (s *Store) tidyTogether(ctx context.Context, l *link, names []string, id string) error {
	var operations []any
	for _, name := range names {
		operations = append(operations, s.vacate(name, id)...)
	}
	_, err := ask(ctx, l, func(c *zk.Conn) (struct{}, error) {
		_, _, err := change(c, operations)
		return struct{}{}, err
	})
	return err
}
