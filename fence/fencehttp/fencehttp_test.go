package fencehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencehttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// term is a term as a client has it.
type term struct {
	name  string
	token uint64
}

// Name returns the name of the lease.
func (t term) Name() string { return t.name }

// Token returns the fencing token.
func (t term) Token() uint64 { return t.token }

// document is a resource behind a server: what was written to it last.
type document struct {
	mu   sync.Mutex
	text string
}

// ServeHTTP writes the body.
func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = string(text)
}

// serve serves a document that is guarded by the lease "billing".
func serve(t testing.TB) (*document, *httptest.Server, *http.Client) {
	t.Helper()
	d := &document{}
	server := httptest.NewServer(fencehttp.Middleware(&fence.Guard{}, "billing")(d))
	t.Cleanup(server.Close)
	return d, server, &http.Client{Transport: &fencehttp.Transport{Base: server.Client().Transport}}
}

func put(ctx context.Context, client *http.Client, url, text string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp, fencehttp.Check(resp)
}

func under(t testing.TB, token uint64) context.Context {
	return fencehttp.WithTerm(t.Context(), term{"billing", token})
}

// Two writers; the older token writes last.
func TestOlderWriterIsRefused(t *testing.T) {
	d, server, client := serve(t)
	for _, write := range []struct {
		token uint64
		text  string
	}{{5, "a"}, {9, "b"}, {9, "c"}} {
		if resp, err := put(under(t, write.token), client, server.URL, write.text); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v: %v, %v", write, resp, err)
		}
	}
	resp, err := put(under(t, 5), client, server.URL, "late")
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Name: "billing", Token: 5, Highest: 9}) || resp.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("got %v", err)
	}
	if d.text != "c" {
		t.Errorf("the document says %q", d.text)
	}
}

func TestConcurrentWriters(t *testing.T) {
	d, server, client := serve(t)
	var all sync.WaitGroup
	for writer := range uint64(4) {
		all.Go(func() {
			for n := range uint64(25) {
				token := 1 + (n*7+writer*13)%97
				if _, err := put(under(t, token), client, server.URL, string(rune(token))); err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	highest := uint64(0)
	for writer := range uint64(4) {
		for n := range uint64(25) {
			highest = max(highest, 1+(n*7+writer*13)%97)
		}
	}
	if d.text != string(rune(highest)) {
		t.Errorf("the document says %q, want what token %d wrote", d.text, highest)
	}
}

// No header is believed that is not exactly what Transport sends.
func TestBadHeaders(t *testing.T) {
	d, server, _ := serve(t)
	for name, test := range map[string]struct {
		names, tokens []string
		want          string
	}{
		"no token":       {[]string{"billing"}, nil, "Fencing-Token is missing"},
		"no name":        {nil, []string{"7"}, "Fencing-Name is missing"},
		"two tokens":     {[]string{"billing"}, []string{"7", "8"}, "comes 2 times"},
		"two names":      {[]string{"billing", "billing"}, []string{"7"}, "comes 2 times"},
		"another lease":  {[]string{"mailer"}, []string{"7"}, `not guarded by the lease "mailer"`},
		"bad name":       {[]string{"a b"}, []string{"7"}, "invalid name"},
		"empty":          {[]string{"billing"}, []string{""}, "is no token"},
		"zero":           {[]string{"billing"}, []string{"0"}, "is no token"},
		"negative":       {[]string{"billing"}, []string{"-1"}, "is no token"},
		"plus":           {[]string{"billing"}, []string{"+7"}, "is no token"},
		"a zero ahead":   {[]string{"billing"}, []string{"07"}, "is no token"},
		"hexadecimal":    {[]string{"billing"}, []string{"0x7"}, "is no token"},
		"floating":       {[]string{"billing"}, []string{"1e3"}, "is no token"},
		"words":          {[]string{"billing"}, []string{"seven"}, "is no token"},
		"a list":         {[]string{"billing"}, []string{"7, 8"}, "is no token"},
		"overflow":       {[]string{"billing"}, []string{"18446744073709551616"}, "is no token"},
		"overflow twice": {[]string{"billing"}, []string{strings.Repeat("9", 1000)}, "is no token"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Fencing-Name"], req.Header["Fencing-Token"] = test.names, test.tokens
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var body struct{ Error, Message string }
			if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusBadRequest || body.Error != "invalid" || !strings.Contains(body.Message, test.want) {
				t.Errorf("got %d: %v", resp.StatusCode, body)
			}
			if err := fencehttp.Check(resp); err != nil {
				t.Errorf("a bad request is not stale: %v", err)
			}
		})
	}
	if d.text != "" {
		t.Errorf("the document says %q", d.text)
	}
}

// The greatest token is one.
func TestGreatestToken(t *testing.T) {
	_, server, client := serve(t)
	if _, err := put(under(t, math.MaxUint64), client, server.URL, "x"); err != nil {
		t.Fatal(err)
	}
	_, err := put(under(t, math.MaxUint64-1), client, server.URL, "y")
	var stale *fence.StaleError
	if !errors.As(err, &stale) || stale.Highest != math.MaxUint64 {
		t.Errorf("got %v", err)
	}
}

// body is one that tells whether it was closed.
type body struct {
	io.Reader
	closed bool
}

// Close notes it.
func (b *body) Close() error { b.closed = true; return nil }

// What has no token is not sent.
func TestNothingIsSentWithoutAToken(t *testing.T) {
	var bad *backend.NameError
	for name, test := range map[string]struct {
		ctx context.Context
		as  func(err error) bool
	}{
		"a nil term, as of an election that does not lead": {fencehttp.WithTerm(t.Context(), (*term)(nil)), func(err error) bool { return errors.Is(err, fencehttp.ErrNoTerm) }},
		"no term":  {t.Context(), func(err error) bool { return errors.Is(err, fencehttp.ErrNoTerm) }},
		"token 0":  {under(t, 0), func(err error) bool { return errors.Is(err, fence.ErrZero) }},
		"bad name": {fencehttp.WithTerm(t.Context(), term{"a\r\nb", 7}), func(err error) bool { return errors.As(err, &bad) }},
	} {
		t.Run(name, func(t *testing.T) {
			d, server, client := serve(t)
			b := &body{Reader: strings.NewReader("x")}
			req, err := http.NewRequestWithContext(test.ctx, http.MethodPut, server.URL, b)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if !test.as(err) || !b.closed || d.text != "" {
				t.Errorf("got %v; the body is closed: %v; the document says %q", err, b.closed, d.text)
			}
		})
	}
}

// The request of the caller stays as it is, whatever it had there, and a function may name the term.
func TestTransportCopiesTheRequest(t *testing.T) {
	_, server, _ := serve(t)
	client := &http.Client{Transport: &fencehttp.Transport{
		Base: server.Client().Transport,
		Term: func(context.Context) fencehttp.Term { return term{"billing", 7} },
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(fencehttp.TokenHeader, "an old one")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || req.Header.Get(fencehttp.TokenHeader) != "an old one" {
		t.Errorf("%d, and the request has %v", resp.StatusCode, req.Header)
	}
}

// failing is a guard whose store is away.
type failing struct{}

// Do fails.
func (failing) Do(context.Context, string, uint64, func(context.Context) error) error {
	return errors.New("the disk is full")
}

func TestGuardThatFails(t *testing.T) {
	d := &document{}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("x"))
	r.Header.Set(fencehttp.NameHeader, "billing")
	r.Header.Set(fencehttp.TokenHeader, "7")
	fencehttp.Middleware(failing{}, "billing")(d).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the disk is full") || d.text != "" {
		t.Errorf("got %d %s, and the document says %q", w.Code, w.Body, d.text)
	}
}

// late is a guard that cannot commit.
type late struct{}

func (late) Do(ctx context.Context, _ string, _ uint64, fn func(context.Context) error) error {
	return errors.Join(fn(ctx), errors.New("the commit failed"))
}

// What a handler has answered is not to be believed when its guard fails afterwards, and nothing else can be said any
// more: the client must not take it for an answer.
func TestGuardThatFailsAfterwards(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"with an answer":    func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") },
		"without an answer": func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(fencehttp.Middleware(late{}, "billing")(handler))
			defer server.Close()
			client := &http.Client{Transport: &fencehttp.Transport{Base: server.Client().Transport}}
			if resp, err := put(under(t, 5), client, server.URL, ""); err == nil {
				t.Errorf("got %v", resp)
			}
		})
	}
}

// A 412 of somebody else's is not ours.
func TestCheckOfOtherAnswers(t *testing.T) {
	for name, resp := range map[string]*http.Response{
		"fine":         {StatusCode: http.StatusOK, Header: http.Header{}},
		"another 412":  {StatusCode: http.StatusPreconditionFailed, Header: http.Header{}},
		"not a number": {StatusCode: http.StatusPreconditionFailed, Header: http.Header{"Fencing-Highest": {"x"}}},
		"half of it":   {StatusCode: http.StatusPreconditionFailed, Header: http.Header{"Fencing-Highest": {"7"}}},
		"another code": {StatusCode: http.StatusOK, Header: http.Header{"Fencing-Highest": {"7"}, "Fencing-Token": {"6"}, "Fencing-Name": {"a"}}},
	} {
		if err := fencehttp.Check(resp); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
