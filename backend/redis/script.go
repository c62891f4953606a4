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

// do carries out a call and returns its answer, nil for false. It ends with the deadline of ctx. If ctx is cancelled
// before that, it ends when the answer comes, with the timeout of the connection at the latest, or with the store:
// go-redis looks at the deadline only, and a goroutine to wait in its place would double what a call costs.
func (s *Store) do(ctx context.Context, c call) (any, error) {
	done, err := s.begin()
	if err != nil {
		return nil, s.at(err)
	}
	defer done()
	if ctx.Err() != nil {
		return nil, s.at(fmt.Errorf("not done: %w", context.Cause(ctx)))
	}
	keys := s.keys[:len(s.keys):len(s.keys)]
	for _, session := range c.held {
		keys = append(keys, s.held(session))
	}
	var answer any
	if c.confirmed && s.replicas > 0 {
		answer, err = c.script.runConfirmed(ctx, c.on, s.replicas, keys, c.args)
	} else {
		answer, err = c.script.run(ctx, c.on, keys, c.args)
	}
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, goredis.Nil):
		return nil, nil
	case s.life.Err() != nil:
		return nil, s.at(fmt.Errorf("%w (%w)", ErrClosed, err))
	}
	return nil, s.at(late(ctx, err))
}

// late adds to an error that the caller's time is over, if it is. The connection's clock may strike before that of the
// context does.
func late(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if deadline, ok := ctx.Deadline(); cause == nil && ok && !time.Now().Before(deadline) {
		cause = context.DeadlineExceeded
	}
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}
