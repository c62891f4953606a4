package main

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hidden stands where a secret was.
const hidden = "xxxxx"

// redactedError is an error whose text may repeat the URL of a store.
type redactedError struct {
	err     error
	secrets []string
}

// redact keeps the secrets of a URL out of an error's text. The error still
// matches what it did.
func redact(err error, rawURL string) error {
	if err == nil {
		return nil
	}
	return &redactedError{err, secretsOf(rawURL)}
}

func (e *redactedError) Error() string {
	text := e.err.Error()
	for _, s := range e.secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	return text
}

func (e *redactedError) Unwrap() error { return e.err }

// userInfo finds what comes between the slashes and the last @ before the host.
var userInfo = regexp.MustCompile(`^[^:/?#]+:(?://)?([^/?#]*)@`)

// parameter finds the parameters of a query, or the words of a driver's own
// notation, whose names speak of secrets.
var parameter = regexp.MustCompile(`(?i)(?:pass|pwd|secret|token|key)[a-z_-]*=([^&\s;]+)`)

// secretsOf returns every way in which a driver may spell the secrets of a URL,
// the longest first. It must not need a URL that is well formed: the mistake may
// be in the password.
func secretsOf(rawURL string) []string {
	var found []string
	if m := userInfo.FindStringSubmatch(rawURL); m != nil {
		_, password, _ := strings.Cut(m[1], ":")
		found = append(found, password)
	}
	for _, m := range parameter.FindAllStringSubmatch(rawURL, -1) {
		found = append(found, m[1])
	}
	var secrets []string
	for _, s := range found {
		secrets = append(secrets, s)
		for _, unescape := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if plain, err := unescape(s); err == nil {
				secrets = append(secrets, plain, url.QueryEscape(plain), url.UserPassword("", plain).String()[1:])
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(secrets)
}
