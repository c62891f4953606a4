package fencehttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/fence"
)

// ErrNoTerm says that a request has no token to send. It was not sent.
var ErrNoTerm = errors.New("fence: the request has no term; give its context one with fencehttp.WithTerm, or set Transport.Term")

// Term is what a request is sent under. A *simba.Term is one.
type Term interface {
	// Name returns the name of the lease.
	Name() string
	// Token returns the fencing token.
	Token() uint64
}

type termKey struct{}

// WithTerm returns a context whose requests are sent under the term.
func WithTerm(ctx context.Context, t Term) context.Context {
	return context.WithValue(ctx, termKey{}, t)
}

// FromContext returns the term of [WithTerm], nil if there is none.
func FromContext(ctx context.Context) Term {
	t, _ := ctx.Value(termKey{}).(Term)
	return t
}

// Transport sends the token and the name of a term with each request. A request without a
// term fails with [ErrNoTerm], unsent: so use one client for what is protected and another
// one for the rest. The token is no secret, but it tells roughly when the term began, and
// goes wherever a redirect leads.
type Transport struct {
	// Base sends the requests; http.DefaultTransport if it is nil.
	Base http.RoundTripper
	// Term returns the term of a request; if it is nil, that is [FromContext].
	Term func(ctx context.Context) Term
}

// RoundTrip sends a copy of the request with the headers.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	fenced, err := t.fenced(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(fenced)
}

func (t *Transport) fenced(req *http.Request) (*http.Request, error) {
	find := t.Term
	if find == nil {
		find = FromContext
	}
	term := find(req.Context())
	if absent(term) {
		return nil, fmt.Errorf("%w (%s %s)", ErrNoTerm, req.Method, req.URL.Redacted())
	}
	name, token := term.Name(), term.Token()
	if err := backend.CheckName(name); err != nil {
		return nil, err
	}
	if token == 0 {
		return nil, &fence.TokenError{Name: name}
	}
	req = req.Clone(req.Context())
	req.Header.Set(NameHeader, name)
	req.Header.Set(TokenHeader, strconv.FormatUint(token, 10))
	return req, nil
}

// absent reports whether there is no term: an election that does not lead has a nil pointer to one.
func absent(t Term) bool {
	v := reflect.ValueOf(t)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
