package session_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/session"
)

// R47: what derives from the lease.
func TestDefaults(t *testing.T) {
	check(t, "defaults", session.Defaults(15*time.Second), session.Params{
		Lease: 15 * time.Second, RenewInterval: 5 * time.Second, Drift: 0.01, Margin: 50 * time.Millisecond,
		RetryJitter: 2500 * time.Millisecond, MinBackoff: 100 * time.Millisecond,
	})
	for _, lease := range []time.Duration{100 * time.Millisecond, time.Second, 15 * time.Second, time.Hour, 1000 * 24 * time.Hour, math.MaxInt64 / 4} {
		if err := session.Defaults(lease).Validate(); err != nil {
			t.Errorf("the defaults for %v: %v", lease, err)
		}
	}
}

// R48: each broken rule is named, and only those.
func TestValidate(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	set := func(change func(p *session.Params)) session.Params {
		p := session.Defaults(15 * time.Second)
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name   string
		params session.Params
		want   []string // each in an error of its own
	}{
		{"all zero", session.Params{}, []string{"the lease is 0s", "the renew interval is 0s", "the minimum back-off is 0s"}},
		{"all negative", session.Params{Lease: -1, RenewInterval: -2, Drift: -0.1, Margin: -3, RetryJitter: -4, MinBackoff: -5},
			[]string{"the lease is -1ns", "the renew interval is -2ns", "the drift is -0.1", "the margin is -3ns", "the retry jitter is -4ns", "the minimum back-off is -5ns"}},
		{"all at most", session.Params{Lease: most, RenewInterval: most, Drift: math.MaxFloat64, Margin: most, RetryJitter: most, MinBackoff: most},
			[]string{"the lease is 2562047h47m16.854775807s", "the drift is 1.79", "the retry jitter is 2562047h47m16.854775807s"}},
		{"drift NaN", set(func(p *session.Params) { p.Drift = math.NaN() }), []string{"the drift is NaN"}},
		{"drift infinite", set(func(p *session.Params) { p.Drift = math.Inf(1) }), []string{"the drift is +Inf"}},
		{"drift a half", set(func(p *session.Params) { p.Drift = 0.5 }), []string{"the drift is 0.5"}},
		{"drift below a half", set(func(p *session.Params) { p.Drift = math.Nextafter(0.5, 0) }), nil},
		{"interval of half a lease", set(func(p *session.Params) { p.RenewInterval = 7500 * time.Millisecond }), nil},
		{"interval above", set(func(p *session.Params) { p.RenewInterval = 7500*time.Millisecond + 1 }), []string{"does not fit twice into the lease 15s; it must be at most 7.5s"}},
		// What is left of 15 s is the interval, and that is not enough.
		{"margin too large", set(func(p *session.Params) { p.Drift, p.Margin = 0, 10*time.Second }), []string{"can be relied on for 5s, which must be more than the renew interval 5s"}},
		{"margin as large as it can be", set(func(p *session.Params) { p.Drift, p.Margin = 0, 10*time.Second-1 }), nil},
		{"margin above the lease", set(func(p *session.Params) { p.Margin = most }), []string{"can be relied on for 0s"}},
		{"back-off of an interval", set(func(p *session.Params) { p.MinBackoff = 5 * time.Second }), nil},
		{"back-off above", set(func(p *session.Params) { p.MinBackoff = 5*time.Second + 1 }), []string{"the minimum back-off 5.000000001s is longer than the renew interval 5s"}},
		{"several", set(func(p *session.Params) {
			p.RenewInterval, p.MinBackoff, p.Margin = 8*time.Second, 9*time.Second, 10*time.Second
		}),
			[]string{"does not fit twice", "is longer than", "can be relied on for"}},
		{"shortest lease", session.Params{Lease: 2, RenewInterval: 1, MinBackoff: 1}, nil},
		{"a nanosecond", session.Params{Lease: 1, RenewInterval: 1, MinBackoff: 1},
			[]string{"the renew interval 1ns does not fit twice into the lease 1ns; it must be at most 0s", "can be relied on for 1ns"}},
		{"shortest lease and any drift", session.Params{Lease: 2, RenewInterval: 1, MinBackoff: 1, Drift: 1e-9}, []string{"can be relied on for 1ns"}},
		{"shortest lease and any margin", session.Params{Lease: 2, RenewInterval: 1, MinBackoff: 1, Margin: 1}, []string{"can be relied on for 1ns"}},
		{"largest drift", session.Params{Lease: 3, RenewInterval: 1, MinBackoff: 1, Drift: math.Nextafter(0.5, 0)}, []string{"can be relied on for 1ns"}},
		{"largest drift and a lease of four", session.Params{Lease: 4, RenewInterval: 1, MinBackoff: 1, Drift: math.Nextafter(0.5, 0)}, nil},
		{"longest lease and interval", session.Params{Lease: most / 4, RenewInterval: most / 8, MinBackoff: most / 8, RetryJitter: most / 4}, nil},
		{"longest lease, largest drift", session.Params{Lease: most / 4, RenewInterval: most / 8, MinBackoff: 1, Drift: math.Nextafter(0.5, 0)},
			[]string{"which must be more than the renew interval"}},
		{"longest lease and margin", session.Params{Lease: most / 4, RenewInterval: 1, MinBackoff: 1, Margin: most}, []string{"can be relied on for 0s"}},
		{"too long a jitter", set(func(p *session.Params) { p.RetryJitter = most/4 + 1 }), []string{"the retry jitter is"}},
		{"longest lease", set(func(p *session.Params) { p.Lease = most / 4 }), nil},
		{"too long a lease", set(func(p *session.Params) { p.Lease = most/4 + 1 }), []string{"it must be above zero and at most"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.params.Validate()
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var broken *session.ParamsError
			if !errors.As(err, &broken) || len(broken.Broken) != len(tt.want) {
				t.Fatalf("%v\nwant %d broken rules", err, len(tt.want))
			}
			for _, want := range tt.want {
				if n := strings.Count(err.Error(), want); n != 1 {
					t.Errorf("%v\nnames %q %d times, want once", err, want, n)
				}
			}
			for _, rule := range broken.Broken {
				if !errors.Is(err, rule) {
					t.Errorf("errors.Is does not find %v", rule)
				}
			}
		})
	}
}

// R48: what is accepted is what the rules say, in exact arithmetic: as many parts
// per billion of drift as are needed, rounded up.
func TestValidateExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.OneOf(rapid.Int64Range(-5, 100), rapid.Int64Range(0, int64(time.Hour)), rapid.Int64())
		ppb := rapid.Int64Range(-1, 600_000_000).Draw(t, "drift in ppb")
		p := session.Params{
			Lease:         time.Duration(duration.Draw(t, "lease")),
			RenewInterval: time.Duration(duration.Draw(t, "interval")),
			Drift:         float64(ppb) / 1e9,
			Margin:        time.Duration(duration.Draw(t, "margin")),
			RetryJitter:   time.Duration(duration.Draw(t, "jitter")),
			MinBackoff:    time.Duration(duration.Draw(t, "back-off")),
		}
		ok := p.Lease > 0 && p.Lease <= math.MaxInt64/4 && p.RenewInterval > 0 && p.MinBackoff > 0 && p.Margin >= 0 &&
			p.RetryJitter >= 0 && p.RetryJitter <= math.MaxInt64/4 && p.Drift >= 0 && p.Drift < 0.5 &&
			p.RenewInterval <= p.Lease/2 && p.MinBackoff <= p.RenewInterval && outlasts(p, ppb)
		if err := p.Validate(); (err == nil) != ok {
			t.Fatalf("%+v: %v, want it to be accepted: %v", p, err, ok)
		}
	})
}

// outlasts says, in integers without bounds, whether what can be relied on of a lease
// is longer than the renew interval.
func outlasts(p session.Params, ppb int64) bool {
	const billion = 1_000_000_000
	local := new(big.Int).Mul(big.NewInt(int64(p.Lease)), big.NewInt(billion-ppb))
	local.Div(local, big.NewInt(billion)) // which rounds down
	local.Sub(local, big.NewInt(int64(p.Margin)))
	return local.Cmp(big.NewInt(int64(p.RenewInterval))) > 0
}
