package simba_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba"
	"github.com/simba-go/simba/backend/memory"
)

func TestOptionsNameEveryBrokenRule(t *testing.T) {
	tests := []struct {
		name string
		opts []simba.Option
		want []string // one for each broken rule, in order
	}{
		{"lease", []simba.Option{simba.WithLease(-time.Second)}, []string{"the lease is -1s; it must be above zero"}},
		{"zero lease", []simba.Option{simba.WithLease(0)}, []string{"the lease is 0s; it must be above zero"}},
		{"overflow", []simba.Option{simba.WithLease(math.MaxInt64)}, []string{"the lease is 2562047h47m16.854775807s; it must be"}},
		{"renew", []simba.Option{simba.WithRenewInterval(0)}, []string{"the renew interval is 0s; it must be above zero"}},
		{"renew does not fit", []simba.Option{simba.WithRenewInterval(8 * time.Second)},
			[]string{"the renew interval 8s does not fit twice into the lease 15s; it must be at most 7.5s"}},
		{"drift", []simba.Option{simba.WithDrift(0.5)}, []string{"the drift is 0.5; it must be at least 0 and below 0.5"}},
		{"no number", []simba.Option{simba.WithDrift(math.NaN())}, []string{"the drift is NaN"}},
		{"margin", []simba.Option{simba.WithMargin(-1)}, []string{"the margin is -1ns; it must not be negative"}},
		{"margin too large", []simba.Option{simba.WithMargin(12 * time.Second)},
			[]string{"a lease of 15s with drift 0.01 and margin 12s can be relied on for 2.85s, which must be more than the renew interval 5s"}},
		{"jitter", []simba.Option{simba.WithRetryJitter(-1)}, []string{"the retry jitter is -1ns; it must not be negative"}},
		{"back-off", []simba.Option{simba.WithMinBackoff(0)}, []string{"the minimum back-off is 0s; it must be above zero"}},
		{"long back-off", []simba.Option{simba.WithMinBackoff(time.Minute)},
			[]string{"the minimum back-off 1m0s is longer than the renew interval 5s"}},
		{"label", []simba.Option{simba.WithLabel("")}, []string{"the label has 0 bytes; it must have 1 to 256"}},
		{"long label", []simba.Option{simba.WithLabel(strings.Repeat("x", 257))}, []string{"the label has 257 bytes"}},
		{"bad label", []simba.Option{simba.WithLabel("a\nb")}, []string{`contains '\n', which is not printable`}},
		{"no text", []simba.Option{simba.WithLabel("a\xff")}, []string{`the label "a\xff" is not UTF-8`}},
		{"nothing", []simba.Option{
			simba.WithLogger(nil), simba.WithEvents(nil), simba.WithExecutor(nil), simba.WithClock(nil), nil,
		}, []string{"option 5 of 5 is nil", "the logger is nil", "the function for events is nil", "the executor is nil", "the clock is nil"}},
		{"many", []simba.Option{
			simba.WithLease(time.Second), simba.WithRenewInterval(-1), simba.WithDrift(-1), simba.WithMargin(-1),
			simba.WithRetryJitter(-1), simba.WithMinBackoff(-1), simba.WithLabel("\t"),
		}, []string{"renew interval", "back-off", "margin", "drift", "jitter", "label"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := simba.Open(t.Context(), memory.New(), test.opts...)
			var params *simba.ParamsError
			if !errors.As(err, &params) {
				t.Fatalf("Open says %v", err)
			}
			if early := simba.CheckOptions(test.opts...); early == nil || early.Error() != err.Error() {
				t.Errorf("CheckOptions says %v, and Open %v", early, err)
			}
			if len(params.Broken) != len(test.want) {
				t.Errorf("%d broken rules, want %d: %v", len(params.Broken), len(test.want), err)
			}
			for i, want := range test.want {
				if i < len(params.Broken) && !strings.Contains(params.Broken[i].Error(), want) {
					t.Errorf("rule %d is %q, want %q", i, params.Broken[i], want)
				}
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if !strings.HasPrefix(err.Error(), "simba: ") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestCheckOptionsAcceptsWhatOpenDoes(t *testing.T) {
	for _, opts := range [][]simba.Option{nil, {simba.WithLease(time.Minute), simba.WithLabel("me")}} {
		if err := simba.CheckOptions(opts...); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenWithoutAStore(t *testing.T) {
	_, err := simba.Open(t.Context(), nil, simba.WithDrift(2))
	var params *simba.ParamsError
	if !errors.As(err, &params) || len(params.Broken) != 2 || !strings.Contains(err.Error(), "the store is nil; open one") {
		t.Errorf("Open says %v", err)
	}
}

// What a client does is the evidence of what it was told.
func TestOptionsInAnyOrder(t *testing.T) {
	opts := []simba.Option{
		simba.WithMinBackoff(time.Second), simba.WithRetryJitter(0), simba.WithRenewInterval(2 * time.Second), simba.WithLease(time.Minute),
		simba.WithMargin(time.Second), simba.WithDrift(0.1), simba.WithLabel("me ✓"),
	}
	for range len(opts) {
		opts = append(opts[1:], opts[0])
		virtual(t, func(t *testing.T, w *world) {
			p := w.start(opts...)
			if s := p.Snapshot(); s.Interval != 2*time.Second || s.Remaining != time.Minute-6*time.Second-time.Second {
				t.Errorf("interval %v, remaining %v", s.Interval, s.Remaining)
			}
			must(p.Lock(t.Context(), "held"))
			if h := w.holder("held"); h.Label != "me ✓" {
				t.Errorf("label %q", h.Label)
			}
			// Attempts come every half interval, without jitter.
			other := w.start(opts...)
			must(other.Elect("held", simba.Listener{}))
			time.Sleep(10*time.Second + time.Millisecond)
			if n := other.way.count(opAcquire); n != 11 {
				t.Errorf("%d attempts in 10s", n)
			}
			// A failure is retried after the minimum back-off at the earliest.
			other.way.set(cut, opOpen)
			other.way.set(expired, opRenew)
			time.Sleep(2 * time.Second)
			n := other.way.count(opOpen)
			time.Sleep(time.Second / 2)
			if m := other.way.count(opOpen) - n; m > 1 {
				t.Errorf("%d tries to open in half a second", m)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		p := w.start()
		if s := p.Snapshot(); s.Interval != interval || s.Remaining != local || s.State != simba.StateLive || s.Session == "" {
			t.Errorf("%+v", s)
		}
		must(p.Lock(t.Context(), "n"))
		if h := w.holder("n"); h.Remaining != lease || !strings.Contains(h.Label, ":") {
			t.Errorf("%+v", h)
		}
	})
}
