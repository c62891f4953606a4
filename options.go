package simba

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
	"unicode"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/observe"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
)

// DefaultLease is the lease duration of a client that sets none.
const DefaultLease = 15 * time.Second

// Option configures a [Client]. One duration, the lease, is enough; all others
// derive from it.
type Option func(*options)

// options are what the user has set; derive makes parameters of them.
type options struct {
	lease    time.Duration
	override []func(*session.Params) // in the order of the options
	label    string
	logger   *slog.Logger
	sink     observe.Sink
	executor Executor
	clock    actor.Clock
}

// WithLease sets how long the backend keeps the session without a renewal: how
// long others wait after a crash. The default is [DefaultLease].
func WithLease(d time.Duration) Option { return func(o *options) { o.lease = d } }

// WithRenewInterval sets the time between renewals, by default a third of the
// lease. It must fit twice into the lease.
func WithRenewInterval(d time.Duration) Option {
	return func(o *options) {
		o.set(func(p *session.Params) {
			p.RenewInterval = d
			p.RetryJitter = d / 2
			p.MinBackoff = min(p.MinBackoff, d)
		})
	}
}

// WithDrift sets by how much the rates of this machine's clock and the backend's
// may differ, as a fraction in [0, 0.5). The default is 0.01.
func WithDrift(fraction float64) Option {
	return func(o *options) { o.set(func(p *session.Params) { p.Drift = fraction }) }
}

// WithMargin sets what is taken off the local deadline on top of the drift, by
// default 50 ms.
func WithMargin(d time.Duration) Option {
	return func(o *options) { o.set(func(p *session.Params) { p.Margin = d }) }
}

// WithRetryJitter sets the largest random delay between two attempts on top of
// half a renew interval; by default another half.
func WithRetryJitter(d time.Duration) Option {
	return func(o *options) { o.set(func(p *session.Params) { p.RetryJitter = d }) }
}

// WithMinBackoff sets the shortest pause after a failure, by default 100 ms. It
// must not exceed the renew interval.
func WithMinBackoff(d time.Duration) Option {
	return func(o *options) { o.set(func(p *session.Params) { p.MinBackoff = d }) }
}

// WithLabel sets what people see as the holder of this client's leases, by default
// host:pid. It has 1 to 256 printable characters, and need not be unique: what
// identifies the client is its session.
func WithLabel(label string) Option { return func(o *options) { o.label = label } }

// WithLogger sets where the client logs, by default to slog.Default().
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithEvents sets a function that is told of every event of package observe. The
// engine calls it: it must return at once and be safe for concurrent use.
func WithEvents(f func(Event)) Option { return func(o *options) { o.sink = f } }

// WithExecutor sets what runs callbacks, by default [GoExecutor].
func WithExecutor(x Executor) Option { return func(o *options) { o.executor = x } }

// WithClock sets the clock, by default one that counts time asleep. Tests set
// another one.
func WithClock(c actor.Clock) Option { return func(o *options) { o.clock = c } }

func (o *options) set(f func(*session.Params)) { o.override = append(o.override, f) }

// maxLabel is the length of the longest label, in bytes.
const maxLabel = 256

// newOptions applies the options to the defaults and returns an error that names
// every broken rule.
func newOptions(opts []Option) (*options, session.Params, error) {
	o := &options{
		lease:    DefaultLease,
		label:    defaultLabel(),
		logger:   slog.Default(),
		sink:     observe.Discard,
		executor: task.Go,
		clock:    actor.SystemClock{},
	}
	for _, opt := range opts {
		opt(o)
	}
	p := session.Defaults(o.lease)
	for _, f := range o.override {
		f(&p)
	}
	return o, p, o.validate(p)
}

func (o *options) validate(p session.Params) error {
	var broken []error
	if err := p.Validate(); err != nil {
		var pe *session.ParamsError
		errors.As(err, &pe)
		broken = pe.Broken
	}
	require := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Errorf(format, args...))
		}
	}
	require(o.label != "" && len(o.label) <= maxLabel, "the label has %d bytes; it must have 1 to %d", len(o.label), maxLabel)
	for _, r := range o.label {
		if !unicode.IsPrint(r) {
			require(false, "the label %q contains %q; it must be printable", o.label, r)
			break
		}
	}
	require(o.logger != nil, "the logger is nil")
	require(o.sink != nil, "the function for events is nil")
	require(o.executor != nil, "the executor is nil")
	require(o.clock != nil, "the clock is nil")
	if len(broken) > 0 {
		return &ParamsError{Broken: broken}
	}
	return nil
}

func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
