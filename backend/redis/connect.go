package redis

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// renewalConns is how many connections renewals have to themselves. One is hardly ever busy; one whose
// answer is lost is, until its call is given up.
const renewalConns = 8

// address is where a server is: one of the three.
type address struct {
	where    string // for errors: nothing secret
	options  Options
	single   *goredis.Options
	sentinel *goredis.FailoverOptions
	cluster  *goredis.ClusterOptions
}

// dial returns a new client, which connects when it is used. With pool above 0 it has so many
// connections.
func (a address) dial(pool int) goredis.UniversalClient {
	switch {
	case a.sentinel != nil:
		o := *a.sentinel
		o.MaxRetries, o.DialerRetries = once, 1
		o.ContextTimeoutEnabled = true
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.PipelinePoolSize = none
		if pool > 0 {
			o.PoolSize, o.MinIdleConns, o.MaxActiveConns = pool, 0, 0
		}
		return goredis.NewFailoverClient(&o)
	case a.cluster != nil:
		o := *a.cluster
		// A command is still sent again when a node says that the key is elsewhere, or does not
		// answer. No script does anything the second time.
		o.MaxRetries, o.DialerRetries = once, 1
		o.ContextTimeoutEnabled = true
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.PipelinePoolSize = none
		o.MaintNotificationsConfig = withoutNotices()
		if pool > 0 {
			o.PoolSize, o.MinIdleConns, o.MaxActiveConns = pool, 0, 0
		}
		return goredis.NewClusterClient(&o)
	default:
		o := *a.single
		o.MaxRetries, o.DialerRetries = once, 1
		o.ContextTimeoutEnabled = true
		o.PipelinePoolSize = none
		o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
		o.MaintNotificationsConfig = withoutNotices()
		if pool > 0 {
			o.PoolSize, o.MinIdleConns, o.MaxActiveConns = pool, 0, 0
		}
		return goredis.NewClient(&o)
	}
}

// In the options of go-redis, 0 stands for a default.
const (
	once = -1 // is how often a command is sent: 0 retries
	none = -1
)

// withoutNotices does without what only servers of one company send.
func withoutNotices() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// addressOf is that of a client's server.
func addressOf(client goredis.UniversalClient) (address, error) {
	switch c := client.(type) {
	case *goredis.Client:
		if c != nil {
			o := *c.Options()
			return address{where: where(o.Addr, o.DB), single: &o}, nil
		}
	case *goredis.ClusterClient:
		if c != nil {
			o := *c.Options()
			return address{where: strings.Join(o.Addrs, ","), cluster: &o}, nil
		}
	}
	return address{}, fmt.Errorf("simba: redis: %w: New needs a *redis.Client or a *redis.ClusterClient, and got a %T", ErrClient, client)
}

func where(addr string, db int) string {
	if db == 0 {
		return addr
	}
	return addr + "/" + strconv.Itoa(db)
}

// parseURL reads a URL, if asCluster also one without the parameter addr as that of a cluster. Its errors
// repeat nothing in which a password could be.
func parseURL(raw string, asCluster bool) (address, error) {
	a, err := readURL(raw, asCluster)
	if err != nil && unescaped(raw) {
		return address{}, errUnescaped
	}
	return a, err
}

// errUnescaped says what is wrong most often.
var errUnescaped = fmt.Errorf("simba: redis: %w: it cannot be read; in the user and the password, other characters than letters and digits must be escaped, like %%40 for @", ErrURL)

// unescaped reports whether a / or ? may have cut a password in two: what looks like the path or a parameter is the rest
// of it, then, and the host.
func unescaped(raw string) bool {
	u, err := url.Parse(raw)
	return err != nil || u.User == nil && strings.Contains(u.Path+u.RawQuery, "@")
}

func readURL(raw string, asCluster bool) (address, error) {
	u, options, err := split(raw)
	if err != nil {
		return address{}, err
	}
	a := address{options: options}
	switch q := u.Query(); {
	case q.Has("master_name"):
		if a.sentinel, err = goredis.ParseFailoverURL(u.String()); err == nil {
			a.where = a.sentinel.MasterName + " behind " + strings.Join(a.sentinel.SentinelAddrs, ",")
		}
	case asCluster || q.Has("addr"):
		if database := strings.Trim(u.Path, "/"); database != "" && database != "0" {
			err = fmt.Errorf("a cluster has only the database 0, and not %q", database)
		} else if a.cluster, err = goredis.ParseClusterURL(u.String()); err == nil {
			a.where = strings.Join(a.cluster.Addrs, ",")
		}
	default:
		if a.single, err = goredis.ParseURL(u.String()); err == nil {
			a.where = where(a.single.Addr, a.single.DB)
		}
	}
	if err != nil {
		// What can be wrong is a parameter or the path, and the error is about that.
		return address{}, fmt.Errorf("simba: redis: %w: %s", ErrURL, strings.TrimPrefix(err.Error(), "redis: "))
	}
	return a, nil
}

// split takes what is ours off a URL.
func split(raw string) (*url.URL, Options, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, Options{}, errUnescaped
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return nil, Options{}, fmt.Errorf("simba: redis: %w: the scheme is %q; it must be redis, rediss or unix", ErrURL, u.Scheme)
	}
	var options Options
	q := u.Query()
	if q.Has("namespace") {
		if options.Namespace = q.Get("namespace"); options.Namespace == "" {
			return nil, Options{}, fmt.Errorf("simba: redis: %w: the namespace is empty; leave it out for %q", ErrURL, DefaultNamespace)
		}
	}
	if q.Has("replicas") {
		if options.Replicas, err = strconv.Atoi(q.Get("replicas")); err != nil {
			return nil, Options{}, fmt.Errorf("simba: redis: %w: replicas is %q; it must be a number", ErrURL, q.Get("replicas"))
		}
	}
	q.Del("namespace")
	q.Del("replicas")
	u.RawQuery = q.Encode()
	return u, options, nil
}
