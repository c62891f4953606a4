package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"syscall"
	"time"
)

// StepDown tells the process that leads the name in the session to hand over and to stay down for the cooldown, and
// returns its token when it has done so. When ctx is done first, the handover goes on.
//
// The error matches [ErrNobody], is a [*SilentError] or a [*LostError], is the cause of ctx, or says what was wrong in
// the other process or with the folder.
func StepDown(ctx context.Context, folder, name, session string, cooldown time.Duration) (token uint64, err error) {
	if err := check(folder); err != nil {
		return 0, err
	}
	c, err := find(ctx, sockets(folder, prefix(name)), request{name, session, cooldown})
	if err != nil {
		return 0, err
	}
	defer c.close()
	return c.token, c.result(ctx)
}

// conversation is one with a process that may lead.
type conversation struct {
	net.Conn
	lines *bufio.Reader
	token uint64
}

func (c *conversation) close() {
	if c != nil {
		c.Conn.Close()
	}
}

// find tells all of them at once, and returns the conversation with the one that leads.
func find(ctx context.Context, paths []string, r request) (leader *conversation, err error) {
	type reply struct {
		path string
		*conversation
		err error
	}
	replies := make(chan reply, len(paths))
	asking, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for _, path := range paths {
		go func() {
			c, err := tell(asking, path, r)
			replies <- reply{path, c, err}
		}()
	}
	silent := &SilentError{}
	for range paths {
		r := <-replies
		switch {
		case r.err == nil && r.token > 0:
			leader = r.conversation
			cancel() // nobody else does
		case r.err == nil:
			r.close()
		case errors.Is(r.err, context.DeadlineExceeded), errors.Is(r.err, syscall.EAGAIN): // too many ask it already
			silent.Sockets = append(silent.Sockets, r.path)
		}
	}
	switch {
	case leader != nil:
		return leader, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(silent.Sockets) > 0:
		return nil, silent
	}
	return nil, ErrNobody
}

// tell returns a conversation with the process behind a socket, once it has said whether it leads.
func tell(ctx context.Context, path string, r request) (*conversation, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	c := &conversation{Conn: conn, lines: bufio.NewReader(conn)}
	var answer claim
	err = c.until(ctx, func() error {
		if err := send(c, r); err != nil {
			return err
		}
		return c.receive(&answer)
	})
	if err != nil {
		c.close()
		return nil, err
	}
	c.token = answer.Token
	return c, nil
}

// result waits for the end of the handover.
func (c *conversation) result(ctx context.Context) error {
	var r result
	switch err := c.until(ctx, func() error { return c.receive(&r) }); {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &LostError{c.token, err}
	case r.Problem != "":
		return errors.New(r.Problem)
	}
	return nil
}

// until runs f, which is cut short when ctx is done. What f has heard all the same counts.
func (c *conversation) until(ctx context.Context, f func() error) error {
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.SetDeadline(time.Unix(1, 0))
		close(cut)
	})
	err := f()
	if stop() {
		return err
	}
	<-cut
	c.SetDeadline(time.Time{})
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (c *conversation) receive(v any) error {
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}
