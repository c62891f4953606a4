package simba_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/redis"
	"github.com/simba-go/simba/internal/proxy"
	"github.com/simba-go/simba/internal/servers"
)

// terms are those of one name that anybody was given, for somebody to look at all of them.
type terms struct {
	mu  sync.Mutex
	all []*simba.Term
}

func (t *terms) add(term *simba.Term) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, term)
}

// valid returns those that are valid, one after the other.
func (t *terms) valid() (valid []*simba.Term) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, term := range t.all {
		if term.Valid() {
			valid = append(valid, term)
		}
	}
	return valid
}

// twice returns an error if two terms are valid at one instant: one after the first has been found valid, and the
// first again after that, which says that it was in between.
func (t *terms) twice() error {
	valid := t.valid()
	for i, second := range valid {
		for _, first := range valid[:i] {
			if second.Valid() && first.Valid() {
				return fmt.Errorf("the tokens %d (session %s) and %d (session %s) are valid at once",
					first.Token(), first.Session(), second.Token(), second.Session())
			}
		}
	}
	return nil
}

// Whole clients on a real server that is killed and comes back without its data, over connections that are cut, stall and
// lose answers: no instant has two valid terms, of one client or of two, and when all is well again, there is a leader.
func TestOneLeaderOnRedis(t *testing.T) {
	const (
		lease  = 600 * time.Millisecond
		rounds = 12
		name   = "leader"
	)
	server, err := servers.Redis()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	given := &terms{}
	var ways []*proxy.Proxy
	var elections []*simba.Election
	for i := range 3 {
		way, err := proxy.New(server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer way.Close()
		store, err := redis.Open(t.Context(), "redis://"+way.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		client, err := simba.Open(t.Context(), store, simba.WithLease(lease), simba.WithLabel(fmt.Sprint("client-", i)),
			simba.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close(context.Background())
		e, err := client.Run(name, func(ctx context.Context, term *simba.Term) error {
			given.add(term)
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ways, elections = append(ways, way), append(elections, e)
	}
	stop := make(chan struct{})
	var looking sync.WaitGroup
	defer looking.Wait()
	defer close(stop)
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := given.twice(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range rounds {
		i := rand.N(len(ways))
		way, long := ways[i], rand.N(2*lease)
		switch rand.N(6) {
		case 0:
			way.Cut()
		case 1:
			way.Stall()
		case 2:
			way.DropAnswers(rand.N(200))
		case 3:
			way.CutAnswers(rand.N(200))
		case 4:
			ctx, cancel := context.WithTimeout(t.Context(), lease)
			if err := elections[i].StepDown(ctx, 0); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			cancel()
		case 5:
			server.Kill()
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(long) // for the fault to last, at a random point of what the clients do
		way.Pass()
	}
	for end := time.Now().Add(30 * time.Second); len(given.valid()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody leads although all is well")
		}
	}
}
