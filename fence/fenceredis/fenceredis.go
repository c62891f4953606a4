// Package fenceredis guards what is in Redis: the check of the token and the write
// are one script, which the server runs in one step.
//
// The highest token of a key is kept in a second key beside it, without an expiry and in the
// same slot of a cluster. It must not be lost: a server that evicts keys
// (maxmemory-policy allkeys-*) or forgets its latest writes in a failover may accept a
// stale token again.
package fenceredis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/fence"
)

// Script is a script that runs only if the token is accepted. It is safe for concurrent use.
type Script struct{ script *redis.Script }

// prelude decides. Tokens are compared as digits, since a number of Lua has only 53 bits. The last
// of KEYS and of ARGV are the guard's; the body sees only its own.
const prelude = `
local mark, token = table.remove(KEYS), table.remove(ARGV)
local seen = redis.call('GET', mark) or ''
if not string.match(seen, '^%d*$') or #seen > 20 or string.sub(seen, 1, 1) == '0' then
  return redis.error_reply('FENCE the key ' .. mark .. ' holds no token')
end
if #token < #seen or (#token == #seen and token < seen) then
  return {seen}
end
redis.call('SET', mark, token)
return {'', (function()
`

const postlude = `
end)()}
`

// NewScript returns a script of your own behind the guard: body is Lua with KEYS and ARGV, and
// what it returns is the result.
//
// A body that fails half-way leaves what it has done, as always in Redis, and the token is
// kept. go-redis may send a script again when the connection breaks (its MaxRetries): the
// token is accepted again then, so a body that does harm the second time needs MaxRetries -1.
func NewScript(body string) *Script {
	return &Script{redis.NewScript(prelude + body + postlude)}
}

// Run runs the script on keys under the token. The first key is the name of the resource, by
// whose highest token it is guarded; in a cluster all keys must be in its slot. The result
// is what the body returned, nil if that was nil or false.
//
// An error that matches [fence.ErrStale] means that the token was refused, and the body has
// not run. One that matches [fence.ErrUnknown] means that the server has not answered, and
// may have run it. An error of the server is passed on.
func (s *Script) Run(ctx context.Context, client redis.Scripter, keys []string, token uint64, args ...any) (any, error) {
	if len(keys) == 0 {
		return nil, errors.New("fence: a script needs a key, by whose highest token it is guarded")
	}
	name := keys[0]
	if err := fence.Compare(name, token, 0, math.MaxUint64); err != nil {
		return nil, err
	}
	mark, err := TokenKey(name)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("fence: %q was not written under the token %d: %w", name, token, context.Cause(ctx))
	}
	keys = append(keys[:len(keys):len(keys)], mark)
	args = append(args[:len(args):len(args)], strconv.FormatUint(token, 10))
	answer, err := s.script.Run(ctx, client, keys, args...).Slice()
	if err != nil {
		return nil, failed(name, token, err)
	}
	return result(name, token, answer)
}

// result reads the answer: the token that was seen, if that is higher, and what the body returned.
func result(name string, token uint64, answer []any) (any, error) {
	if len(answer) == 0 {
		return nil, &fence.UnknownError{Name: name, Token: token, Cause: errors.New("the script's answer is empty")}
	}
	switch seen := answer[0]; seen {
	case "":
		if len(answer) == 1 {
			return nil, nil
		}
		if err, bad := answer[1].(error); bad { // redis.error_reply
			return nil, failed(name, token, err)
		}
		return answer[1], nil
	default:
		highest, err := strconv.ParseUint(fmt.Sprint(seen), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("fence: %q refuses the token %d, but what it has seen is no token: %w", name, token, err)
		}
		return nil, &fence.StaleError{Name: name, Token: token, Highest: highest}
	}
}

// failed keeps apart what the server has said and that it has said nothing.
func failed(name string, token uint64, err error) error {
	var answer redis.Error
	if errors.As(err, &answer) {
		return fmt.Errorf("fence: %q under the token %d: %w", name, token, err)
	}
	return &fence.UnknownError{Name: name, Token: token, Cause: err}
}

// TokenKey returns the key that holds the highest token of a key. Both have the same slot in a
// cluster. A key with braces that are no hash tag is an error.
func TokenKey(key string) (string, error) {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open:], '}'); end > 1 {
			return key + ":token", nil // it has a hash tag
		}
	}
	if key == "" || strings.ContainsRune(key, '}') {
		return "", fmt.Errorf("fence: there is no place for the token beside the key %q: it must not be empty, and braces must make a hash tag, as in {user}:7", key)
	}
	return "{" + key + "}:token", nil
}

var (
	set = NewScript(`
		if ARGV[2] == '0' then return redis.call('SET', KEYS[1], ARGV[1]) end
		return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`)
	advance = NewScript(`return 1`)
)

// Set sets a key to a value, as the client's Set does, unless the key has seen a higher token;
// then the error is a [*fence.StaleError]. With an expiry above 0 the value expires, at a
// resolution of milliseconds, and the token does not.
func Set(ctx context.Context, client redis.Scripter, key string, token uint64, value any, expiry time.Duration) error {
	if expiry < 0 || expiry > 0 && expiry < time.Millisecond {
		return fmt.Errorf("fence: %q cannot expire after %v; it must be 0 for never, or at least 1ms", key, expiry)
	}
	_, err := set.Run(ctx, client, []string{key}, token, value, expiry.Milliseconds())
	return err
}

// Advance checks a token and keeps it as the highest one of a name, which need not be a key. It
// is for resources elsewhere that all of their writers reach through Redis. Time passes
// between this check and what it is for; where that matters, let [Script] do both.
func Advance(ctx context.Context, client redis.Scripter, name string, token uint64) error {
	_, err := advance.Run(ctx, client, []string{name}, token)
	return err
}
