package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one atomic operation.
type script struct{ source, hash string }

var (
	checkScript    = load("check")
	openScript     = load("open")
	renewScript    = load("renew")
	acquireScript  = load("acquire")
	releaseScript  = load("release")
	noteScript     = load("note")
	closeScript    = load("close")
	inspectScript  = load("inspect")
	sessionsScript = load("sessions")
	listScript     = load("list")
)

func load(name string) *script {
	source := read("prelude") + read(name)
	hash := sha1.Sum([]byte(source))
	return &script{source, hex.EncodeToString(hash[:])}
}

func read(name string) string {
	source, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is compiled in
	}
	return string(source)
}

// run runs the script by its hash. A server that does not know it, because it is new or its scripts were
// flushed, has done nothing, and is given the source.
func (sc *script) run(ctx context.Context, c goredis.Cmdable, keys []string, args []any) (any, error) {
	answer, err := c.EvalSha(ctx, sc.hash, keys, args...).Result()
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = c.Eval(ctx, sc.source, keys, args...).Result()
	}
	return answer, err
}

// confirmation is for how long a write waits for replicas.
const confirmation = time.Second

// runConfirmed runs the script, and waits until so many replicas have what it wrote. Another connection
// would not do: WAIT is about the writes of its own.
func (sc *script) runConfirmed(ctx context.Context, c goredis.UniversalClient, replicas int, keys []string, args []any) (any, error) {
	node, err := master(ctx, c, keys[0])
	if err != nil {
		return nil, err
	}
	var confirmed *goredis.Cmd
	attempt := func(run func(p goredis.Pipeliner) *goredis.Cmd) (any, error) {
		p := node.Pipeline()
		answer := run(p)
		confirmed = p.Do(ctx, "wait", replicas, confirmation.Milliseconds())
		p.Exec(ctx) // each command has its error
		return answer.Result()
	}
	answer, err := attempt(func(p goredis.Pipeliner) *goredis.Cmd { return p.EvalSha(ctx, sc.hash, keys, args...) })
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = attempt(func(p goredis.Pipeliner) *goredis.Cmd { return p.Eval(ctx, sc.source, keys, args...) })
	}
	if err != nil {
		if cluster, ok := c.(*goredis.ClusterClient); ok {
			cluster.ReloadState(ctx) // the slot may be another node's by now
		}
		return nil, err
	}
	n, err := confirmed.Int64()
	if err != nil {
		return nil, err
	}
	if n < int64(replicas) {
		return nil, fmt.Errorf("%w: %d of %d in %v", ErrReplicas, n, replicas, confirmation)
	}
	return answer, nil
}

// master returns the client of the node that has the key.
func master(ctx context.Context, c goredis.UniversalClient, key string) (goredis.UniversalClient, error) {
	if cluster, ok := c.(*goredis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return c, nil
}

// call is one script to run.
type call struct {
	script    *script
	on        goredis.UniversalClient
	confirmed bool     // by replicas, if the store wants it
	held      []string // sessions whose leases it is about
	args      []any
}

// do carries out a call and returns its answer, nil for false. It ends soon after ctx is done: go-redis
// heeds the deadline of a context, and that it is cancelled only before it sends something, so the
// rest is left to a goroutine. That ends with the deadline, with the timeout of the connection, or with
// the store.
func (s *Store) do(ctx context.Context, c call) (any, error) {
	done, err := s.begin()
	if err != nil {
		return nil, s.at(err)
	}
	if ctx.Err() != nil {
		done()
		return nil, s.at(context.Cause(ctx))
	}
	keys := s.keys[:len(s.keys):len(s.keys)]
	for _, session := range c.held {
		keys = append(keys, s.held(session))
	}
	type result struct {
		answer any
		err    error
	}
	results := make(chan result, 1)
	go func() {
		defer done()
		var r result
		if c.confirmed && s.replicas > 0 {
			r.answer, r.err = c.script.runConfirmed(ctx, c.on, s.replicas, keys, c.args)
		} else {
			r.answer, r.err = c.script.run(ctx, c.on, keys, c.args)
		}
		results <- r
	}()
	select {
	case r := <-results:
		if errors.Is(r.err, goredis.Nil) {
			return nil, nil
		}
		return r.answer, s.at(r.err)
	case <-ctx.Done():
		return nil, s.at(fmt.Errorf("no answer in time; it may have been carried out, or may be yet: %w", context.Cause(ctx)))
	case <-s.life.Done():
		return nil, s.at(ErrClosed)
	}
}
