package simba

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/simba-go/simba/actor"
	"github.com/simba-go/simba/session"
	"github.com/simba-go/simba/task"
)

// DefaultLease is the lease duration of a client that sets none.
const DefaultLease = 15 * time.Second

// Option configures a [Client]. One duration, the lease, is enough; all others
// derive from it. The order of options does not matter, and of two that set the
// same the later one counts.
type Option func(*options)

// options are what the user has set; params makes parameters of them.
type options struct {
	lease                          time.Duration
	renew, margin, jitter, backoff *time.Duration // nil if not set
	drift                          *float64
	label                          string
	logger                         *slog.Logger
	events                         func(Event)
	executor                       Executor
	clock                          actor.Clock
}

// WithLease sets how long the backend keeps the session without a renewal: how
// long others wait after a crash. The default is [DefaultLease].
func WithLease(d time.Duration) Option { return func(o *options) { o.lease = d } }

// WithRenewInterval sets the time between renewals, by default a third of the
// lease. It must fit twice into the lease, and once into what is left of the lease
// after drift and margin. Where it does not fit twice into that, renewals come every
// third of it.
func WithRenewInterval(d time.Duration) Option { return func(o *options) { o.renew = &d } }

// WithDrift sets by how much the rates of this machine's clock and the backend's
// may differ, as a fraction in [0, 0.5). The default is 0.01.
func WithDrift(fraction float64) Option { return func(o *options) { o.drift = &fraction } }

// WithMargin sets what is taken off the local deadline on top of the drift, by
// default 50 ms. It must not be negative.
func WithMargin(d time.Duration) Option { return func(o *options) { o.margin = &d } }

// WithRetryJitter sets the largest random delay between two attempts on top of
// half a renew interval; by default another half. It must not be negative.
func WithRetryJitter(d time.Duration) Option { return func(o *options) { o.jitter = &d } }

// WithMinBackoff sets the shortest pause after a failure, by default 100 ms. It
// must be positive, and not exceed the renew interval.
func WithMinBackoff(d time.Duration) Option { return func(o *options) { o.backoff = &d } }

// WithLabel sets what people see as the holder of this client's leases, by default
// host:pid. It has 1 to 256 bytes of printable UTF-8, and need not be unique: what
// identifies the client is its session.
func WithLabel(label string) Option { return func(o *options) { o.label = label } }

// WithLogger sets where the client logs, by default to slog.Default().
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithEvents sets a function that is told of every event, which are the types of
// package observe. The engine calls it on its own goroutines: it must return at
// once, be safe for concurrent use, and not call the client.
func WithEvents(f func(Event)) Option { return func(o *options) { o.events = f } }

// WithExecutor sets what runs callbacks, by default [GoExecutor].
func WithExecutor(x Executor) Option { return func(o *options) { o.executor = x } }

// WithClock sets the clock, by default one that counts time asleep. Tests set
// another one.
func WithClock(c actor.Clock) Option { return func(o *options) { o.clock = c } }

// maxLabel is the length of the longest label, in bytes.
const maxLabel = 256

// CheckOptions returns nil, or the error that [Open] would return for these options
// whatever the store: a [*ParamsError] that names every broken rule. It is for
// programs that would rather know before they open the store.
func CheckOptions(opts ...Option) error {
	_, _, broken := readOptions(opts)
	return paramsError(broken)
}

// newOptions applies the options to the defaults and returns an error that names
// every broken rule.
func newOptions(store Store, opts []Option) (*options, session.Params, error) {
	o, p, broken := readOptions(opts)
	if store == nil {
		broken = append(broken, errors.New("the store is nil; open one, for example with sqlite.Open"))
	}
	return o, p, paramsError(broken)
}

func paramsError(broken []error) error {
	if len(broken) == 0 {
		return nil
	}
	return &ParamsError{Broken: broken}
}

// readOptions applies the options to the defaults and returns every broken rule.
func readOptions(opts []Option) (*options, session.Params, []error) {
	o := &options{
		lease:    DefaultLease,
		label:    defaultLabel(),
		logger:   slog.Default(),
		events:   func(Event) {},
		executor: task.Go,
		clock:    actor.SystemClock{},
	}
	var broken []error
	for i, opt := range opts {
		if opt == nil {
			broken = append(broken, fmt.Errorf("option %d of %d is nil; leave it out", i+1, len(opts)))
			continue
		}
		opt(o)
	}
	p := o.params()
	return o, p, append(broken, o.validate(p)...)
}

// params derives what was not set. Nothing derives from a value that breaks a rule
// by itself, so that an error names what the user has written and nothing else.
func (o *options) params() session.Params {
	p := session.Defaults(DefaultLease)
	if o.lease > 0 {
		p = session.Defaults(o.lease)
	}
	p.Lease = o.lease
	if o.renew != nil {
		p.RenewInterval = *o.renew
		if *o.renew > 0 {
			p.RetryJitter, p.MinBackoff = *o.renew/2, min(p.MinBackoff, *o.renew)
		}
	}
	override(&p.Margin, o.margin)
	override(&p.RetryJitter, o.jitter)
	override(&p.MinBackoff, o.backoff)
	override(&p.Drift, o.drift)
	return p
}

func override[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (o *options) validate(p session.Params) []error {
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
	n := len(o.label)
	require(0 < n && n <= maxLabel, "the label has %d bytes; it must have 1 to %d", n, maxLabel)
	require(utf8.ValidString(o.label), "the label %q is not UTF-8", o.label)
	if i := strings.IndexFunc(o.label, unprintable); i >= 0 {
		r, _ := utf8.DecodeRuneInString(o.label[i:])
		require(false, "the label %q contains %q, which is not printable", o.label, r)
	}
	require(o.logger != nil, "the logger is nil; to log nothing, use one with slog.DiscardHandler")
	require(o.events != nil, "the function for events is nil; leave the option out")
	require(o.executor != nil, "the executor is nil; leave the option out for a goroutine per callback")
	require(o.clock != nil, "the clock is nil; leave the option out for the system's")
	return broken
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// defaultLabel is host:pid, whatever the host is called.
func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil || host == "" || len(host) > maxLabel/2 || !utf8.ValidString(host) || strings.ContainsFunc(host, unprintable) {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
