package fencehttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/simba-go/simba/fence"
)

// Guard is a *fence.Guard, or one of your own that lasts longer than the server.
type Guard interface {
	// Do runs fn under the token unless the name has seen a higher one: then it returns a
	// [*fence.StaleError].
	Do(ctx context.Context, name string, token uint64, fn func(ctx context.Context) error) error
}

// Middleware guards handlers by the token of the lease with one of the names. A request runs
// while the guard holds its token: it starts when all requests under lower tokens have been
// served, and those of the same token run at the same time. A request is served when its
// handler has returned, so a handler must not leave work behind: http.TimeoutHandler, which
// does, belongs around what Middleware returns and not within.
//
// A stale token is answered with 412 Precondition Failed, since the token is a condition that
// comes in a header and does not hold; 409 Conflict would invite to resolve the conflict and
// try again, and nothing helps a stale token. A header that is missing or invalid, and the
// name of another lease, are answered with 400, and a request that ends while it waits, or
// whose guard fails, with 503. The body is JSON:
//
//	{"error": "stale", "message": "...", "name": "billing", "token": 41, "highest": 42}
//
// If the guard fails when the request has been served, as one may that commits then, the
// connection is cut: the client shall take the outcome for unknown.
//
// Tokens are believed: whoever may send requests can shut everybody out with a high one. Put
// Middleware behind what checks who is asking. A *fence.Guard forgets when the server
// restarts, and other servers have their own: where that matters, guard the resource behind.
func Middleware(guard Guard, names ...string) func(http.Handler) http.Handler {
	names = slices.Clone(names)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, token, err := read(r.Header)
			if err == nil && !slices.Contains(names, name) {
				err = fmt.Errorf("%w: what is here is not guarded by the lease %q, but by %q", errHeader, name, names)
			}
			served := false
			if err == nil {
				err = guard.Do(r.Context(), name, token, func(ctx context.Context) error {
					served = true
					next.ServeHTTP(w, r.WithContext(ctx))
					return nil
				})
			}
			switch {
			case err != nil && served:
				panic(http.ErrAbortHandler) // what was answered may not count, and a refusal would be no more true
			case err != nil:
				refuse(w, name, token, err)
			}
		})
	}
}

// refusal is the body of an answer that refuses a request.
type refusal struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Name    string `json:"name,omitempty"`
	Token   uint64 `json:"token,omitempty"`
	Highest uint64 `json:"highest,omitempty"`
}

func refuse(w http.ResponseWriter, name string, token uint64, err error) {
	body := refusal{Message: err.Error(), Name: name, Token: token}
	status := http.StatusServiceUnavailable
	body.Error = "unavailable"
	var stale *fence.StaleError
	var bad *fence.TokenError
	switch {
	case errors.As(err, &stale):
		status, body.Error, body.Highest = http.StatusPreconditionFailed, "stale", stale.Highest
		w.Header().Set(NameHeader, name)
		w.Header().Set(TokenHeader, strconv.FormatUint(token, 10))
		w.Header().Set(HighestHeader, strconv.FormatUint(stale.Highest, 10))
	case errors.Is(err, errHeader), errors.As(err, &bad):
		status, body.Error = http.StatusBadRequest, "invalid"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) // the client may be gone
}
