package redis

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/simba-go/simba/backend"
)

// What operators do by hand at the server is noticed by the owner's next renewal, or at once.
func TestChangedByHand(t *testing.T) {
	for what, c := range map[string]struct {
		// change is done to the keys of a session that holds "a" and "b" with tokens.
		change func(s *store, do func(args ...any), session string, token uint64)
		left   []string // what the session has then; nil if it is dead
	}{
		"a lease is taken away": {func(s *store, do func(args ...any), _ string, token uint64) {
			do("HSET", s.key("names"), "a", strconv.FormatUint(token, 10))
		}, []string{"b"}},
		"a record is deleted": {func(s *store, do func(args ...any), _ string, _ uint64) {
			do("HDEL", s.key("names"), "a")
		}, []string{"b"}},
		"all records are deleted": {func(s *store, do func(args ...any), _ string, _ uint64) {
			do("DEL", s.key("names"))
		}, []string{}},
		"a session is ended": {func(s *store, do func(args ...any), session string, _ uint64) {
			do("ZREM", s.key("sessions"), session)
		}, nil},
		"all sessions are ended": {func(s *store, do func(args ...any), _ string, _ uint64) {
			do("DEL", s.key("sessions"))
		}, nil},
		"what is known about sessions is deleted": {func(s *store, do func(args ...any), _ string, _ uint64) {
			do("DEL", s.key("about"))
		}, nil},
		"revisions are deleted": {func(s *store, do func(args ...any), _ string, _ uint64) {
			do("DEL", s.key("revisions"))
		}, []string{"a", "b"}},
	} {
		t.Run(what, func(t *testing.T) {
			s := fresh(t)
			admin := raw(t, shared.For(t))
			session, next := s.session(bound), s.session(bound)
			leases := s.take(session, "a", "b")
			before := s.renew(session)
			c.change(s, func(args ...any) {
				if err := admin.Do(s.ctx, args...).Err(); err != nil {
					t.Fatal(err)
				}
			}, session, leases[0].Token)
			all, err := s.Inspect(s.ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range all {
				if s.holder(h.Name).Token != h.Token {
					t.Errorf("%q is listed, and not held", h.Name)
				}
			}
			if c.left == nil {
				s.expired(session)
			} else {
				r := s.renew(session)
				var got []string
				for _, l := range r.Leases {
					got = append(got, l.Name)
				}
				slices.Sort(got)
				if !slices.Equal(got, c.left) {
					t.Errorf("the session has %q in place of %q", got, c.left)
				}
				if len(got) != 2 && r.Revision == before.Revision {
					t.Errorf("another list has the revision %d again", r.Revision)
				}
			}
			if !slices.Contains(c.left, "a") && what != "all sessions are ended" && what != "what is known about sessions is deleted" {
				if token := s.win(next, "a"); token <= leases[0].Token {
					t.Errorf("R19: token %d came after %d", token, leases[0].Token)
				}
			}
		})
	}
}

// An owner that has lost the list of what it holds finds a lease again by asking for it.
func TestDeletedList(t *testing.T) {
	s := fresh(t)
	session := s.session(bound)
	token := s.win(session, "name")
	known := s.renew(session).Revision
	if err := raw(t, shared.For(t)).Del(s.ctx, s.held(session)).Err(); err != nil {
		t.Fatal(err)
	}
	if again := s.win(session, "name"); again != token {
		t.Errorf("R30: the token %d has become %d", token, again)
	}
	r, err := s.Renew(s.ctx, session, known, false)
	if err != nil || len(r.Leases) != 1 {
		t.Errorf("the session has %+v, %v", r, err)
	}
}

// What makes no sense is an error that shows it, and changes nothing.
func TestDamagedRecords(t *testing.T) {
	s := fresh(t)
	admin := raw(t, shared.For(t))
	session := s.session(bound)
	for record, says := range map[string]string{
		"free":             `the record of a name is "free"`,
		"9007199254740991": "2^53-1 is the greatest",
	} {
		if err := admin.HSet(s.ctx, s.key("names"), "name", record).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Acquire(s.ctx, session, []string{"other", "name"}, false)
		contains(t, err, "simba: redis: ", says)
		if h := s.holder("other"); h.Held {
			t.Errorf("after the error, %+v is held", h)
		}
	}
	if _, err := s.Open(s.ctx, 0, ""); err == nil || !strings.Contains(err.Error(), "1µs") {
		t.Errorf("a lease of 0: %v", err)
	}
	if err := admin.Set(s.ctx, s.key("names"), "text", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Acquire(s.ctx, session, []string{"name"}, false)
	contains(t, err, "WRONGTYPE")
}

// A token is a number of 16 digits, which Lua would round if it were asked to print it.
func TestTokensAreExact(t *testing.T) {
	s := fresh(t)
	session := s.session(bound)
	const last = uint64(7123456789012345)
	if err := raw(t, shared.For(t)).HSet(s.ctx, s.key("names"), "name", strconv.FormatUint(last, 10)).Err(); err != nil {
		t.Fatal(err)
	}
	for want := last + 1; want < last+5; want++ {
		if token := s.win(session, "name"); token != want {
			t.Fatalf("token %d in place of %d", token, want)
		}
		if r := s.renew(session); !slices.Equal(r.Leases, []backend.Lease{{Name: "name", Token: want}}) {
			t.Errorf("the session has %v", r.Leases)
		}
		if all, err := s.Inspect(s.ctx, nil); err != nil || len(all) != 1 || all[0].Token != want {
			t.Errorf("all leases are %+v, %v", all, err)
		}
		s.free(session, "name", want)
	}
}

// Whoever finds that a session has expired writes it down, so that a clock that is set back cannot revive it.
func TestDeathIsWrittenDown(t *testing.T) {
	for what, look := range map[string]func(s *store, session string){
		"renew":   func(s *store, session string) { s.Renew(s.ctx, session, 0, true) },
		"acquire": func(s *store, session string) { s.Acquire(s.ctx, session, []string{"free"}, false) },
		"release": func(s *store, session string) { s.Release(s.ctx, session, []backend.Lease{{Name: "none", Token: 1}}) },
		"note": func(s *store, session string) {
			s.KeepNote(s.ctx, session, backend.Lease{Name: "name", Token: 1}, backend.Note{})
		},
		"rival":   func(s *store, _ string) { s.Acquire(s.ctx, s.session(bound), []string{"name"}, false) },
		"inspect": func(s *store, _ string) { s.holder("name") },
		"list":    func(s *store, _ string) { s.Inspect(s.ctx, nil) },
	} {
		t.Run(what, func(t *testing.T) {
			s, c := fresh(t), raw(t, shared.For(t))
			session := s.doomed("name")
			eventually(t, "its time is over", func() bool { // before anybody looks, for a renewal would give it more
				deadline, err := c.ZScore(s.ctx, s.key("sessions"), session).Result()
				return err == nil && c.Time(s.ctx).Val().UnixMicro() > int64(deadline)
			})
			look(s, session)
			if err := c.ZScore(s.ctx, s.key("sessions"), session).Err(); !errors.Is(err, goredis.Nil) {
				t.Errorf("its death is not written down: %v", err)
			}
		})
	}
}
