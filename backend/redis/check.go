package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// format is how the keys are laid out. Another layout will have another number.
const format = "1"

// check asks whether the server can be used, and connects both clients meanwhile.
func (s *Store) check(ctx context.Context) error {
	answer, err := s.do(ctx, call{script: checkScript, on: s.calls, held: []string{"nobody"}, args: []any{format, s.channels()}})
	if err != nil {
		return unusable(err)
	}
	var r reader
	fields := r.fields(answer, 3)
	if fields == nil {
		return s.at(r.err)
	}
	var refused []string
	for _, line := range r.list(fields[2]) {
		refused = append(refused, r.text(line))
	}
	info, found := r.text(fields[0]), r.text(fields[1])
	if r.err != nil {
		return s.at(r.err)
	}
	if _, single := s.calls.(*goredis.Client); single && field(info, "redis_mode") == "cluster" {
		return s.at(ErrCluster) // which happens to have our slot here, and may move it
	}
	if err := judge(info, found, refused); err != nil {
		return s.at(err)
	}
	return s.connectRenewals(ctx)
}

// connectRenewals makes the first renewal as quick as others.
func (s *Store) connectRenewals(ctx context.Context) error {
	_, err := s.do(ctx, call{script: sessionsScript, on: s.renewals})
	return err
}

// judge returns an error if the server must not be used, or cannot be.
func judge(info, found string, refused []string) error {
	if err := refusal(refused); err != nil {
		return err
	}
	if version := field(info, "redis_version"); tooOld(version) {
		return fmt.Errorf("%w: the server is Redis %s, and must be 6.2 or later", ErrVersion, version)
	}
	if found != format {
		return fmt.Errorf("%w: the namespace has the format %q, and this version reads %q", ErrVersion, found, format)
	}
	// Keys that expire may go, as ours never do.
	if policy := field(info, "maxmemory_policy"); policy != "" && policy != "noeviction" && !strings.HasPrefix(policy, "volatile-") {
		return fmt.Errorf("%w (it has %q)", ErrEviction, policy)
	}
	return nil
}

// refusal returns what the server refused to do, if anything.
func refusal(refused []string) error {
	if len(refused) == 0 {
		return nil
	}
	_, said, _ := strings.Cut(refused[0], ": ")
	if err := explain(errors.New(said)); !errors.Is(err, ErrPermission) {
		return fmt.Errorf("the server refuses %s (%w)", refused[0], err)
	}
	return fmt.Errorf("%w: see the list in docs/backends/redis.md; refused are %s", ErrPermission, strings.Join(refused, "; "))
}

// unusable adds to a refusal to carry out any script at all what that means.
func unusable(err error) error {
	var said goredis.Error
	switch {
	case !errors.As(err, &said):
		return err
	case goredis.HasErrorPrefix(said, "MOVED"), goredis.HasErrorPrefix(said, "CLUSTERDOWN"):
		return fmt.Errorf("%w: %w", ErrCluster, err)
	case strings.Contains(said.Error(), "unknown command"):
		return fmt.Errorf("%w; a Sentinel is meant by the parameter master_name of the URL", err)
	}
	return err
}

// field returns a line of the server's description.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// tooOld reports whether a version is below 6.2. One that cannot be read is somebody's own.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (a < 6 || a == 6 && b < 2)
}
