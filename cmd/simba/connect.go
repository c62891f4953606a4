package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simba-go/simba"
)

// patience is how long a store may take to answer at first. Whoever waits for a
// lease does so after that.
const patience = 10 * time.Second

var errPatience = fmt.Errorf("gave up after %v", patience)

// connection is an open client with its store.
type connection struct {
	*simba.Client
	private    bool // no other process sees the store
	closeStore func() error
}

// errPrivate is for commands that only make sense if others see the store.
var errPrivate = usagef("memory: is gone with this process, and no other process can see it; use sqlite:PATH")

// connectShared is connect to a store that other processes can see.
func (a *app) connectShared(ctx context.Context) (*connection, error) {
	s, url, err := a.chosen()
	if err != nil {
		return nil, err
	}
	if s.private {
		return nil, errPrivate
	}
	return a.open(ctx, s, url)
}

// connect opens the user's store, and a client of it.
func (a *app) connect(ctx context.Context) (*connection, error) {
	s, url, err := a.chosen()
	if err != nil {
		return nil, err
	}
	return a.open(ctx, s, url)
}

// chosen is the store that the user wants. It looks at the other flags first: opening
// a store may create it, and may take its time.
func (a *app) chosen() (s scheme, url string, err error) {
	if err := simba.CheckOptions(a.global.options()...); err != nil {
		return scheme{}, "", err
	}
	if url, err = a.global.backendURL(); err != nil {
		return scheme{}, "", err
	}
	s, err = schemeOf(url)
	return s, url, err
}

func (a *app) open(ctx context.Context, s scheme, url string) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	store, closeStore, err := s.open(ctx, url)
	if err != nil {
		return nil, causeOf(ctx, unavailable(redact(err, url)))
	}
	client, err := simba.Open(ctx, store, a.global.options()...)
	if err != nil {
		return nil, causeOf(ctx, redact(errors.Join(err, closeStore()), url))
	}
	return &connection{Client: client, private: s.private, closeStore: closeStore}, nil
}

// unavailable is for a store that cannot be opened, unless it is the user's
// mistake.
func unavailable(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	return &exitError{exitUnavailable, err}
}

// hangUp hands everything over, and ends the session. Whoever has asked twice for
// our end does not want to wait for the store.
func (c *connection) hangUp(s *signals) error {
	const impatience = time.Second
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := context.AfterFunc(s.forced, func() {
		time.AfterFunc(impatience, func() { cancel(context.Cause(s.forced)) })
	})
	defer stop()
	return errors.Join(c.Client.Close(ctx), c.closeStore())
}
