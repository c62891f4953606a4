// Package fencehttp carries fencing tokens over HTTP: [Transport] sends the token of a term
// with each request of a client, and [Middleware] lets a server refuse those that are stale.
package fencehttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/simba-go/simba/backend"
	"github.com/simba-go/simba/fence"
)

// The headers. An answer that refuses a stale token repeats the first two.
const (
	// TokenHeader has the token, in decimal digits.
	TokenHeader = "Fencing-Token"
	// NameHeader has the name of the lease that the token belongs to.
	NameHeader = "Fencing-Name"
	// HighestHeader is for an answer that refuses a token. It has the one that the server
	// has seen.
	HighestHeader = "Fencing-Highest"
)

// errHeader says what is wrong with the headers of a request.
var errHeader = errors.New("bad request")

// read takes the name and the token from headers.
func read(h http.Header) (name string, token uint64, err error) {
	if name, err = single(h, NameHeader); err != nil {
		return "", 0, err
	}
	if err := backend.CheckName(name); err != nil {
		return "", 0, fmt.Errorf("%w: %s: %w", errHeader, NameHeader, err)
	}
	digits, err := single(h, TokenHeader)
	if err != nil {
		return "", 0, err
	}
	if token, err = parse(digits); err != nil {
		return "", 0, fmt.Errorf("%w: %s: %w", errHeader, TokenHeader, err)
	}
	return name, token, nil
}

func single(h http.Header, key string) (string, error) {
	switch values := h.Values(key); len(values) {
	case 0:
		return "", fmt.Errorf("%w: the header %s is missing", errHeader, key)
	case 1:
		return values[0], nil
	default:
		return "", fmt.Errorf("%w: the header %s comes %d times; it must come once", errHeader, key, len(values))
	}
}

// parse takes a token only as it is written by Transport: digits, no sign, no zero in front.
func parse(digits string) (uint64, error) {
	token, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || token == 0 || strconv.FormatUint(token, 10) != digits {
		return 0, fmt.Errorf("%.40q is no token; it must be a number from 1 to 18446744073709551615, in digits", digits)
	}
	return token, nil
}

// Check returns a [*fence.StaleError] if the response is that of a [Middleware] that has refused
// the request's token, and nil for any other response.
func Check(resp *http.Response) error {
	if resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	highest, err := parse(resp.Header.Get(HighestHeader))
	if err != nil {
		return nil // somebody else's 412
	}
	name, token, err := read(resp.Header)
	if err != nil {
		return nil
	}
	return &fence.StaleError{Name: name, Token: token, Highest: highest}
}
