package zookeeper

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	neturl "net/url"
	"os"
	"strconv"
	"strings"
)

// defaultPort is the servers' port for clients.
const defaultPort = "2181"

// parseURL takes a URL apart by hand, for package net/url knows one host only. Its errors show no part of
// a URL in which a password could be.
func parseURL(url string) (servers []string, options Options, err error) {
	rest, ok := strings.CutPrefix(url, "zookeeper://")
	if !ok {
		return nil, options, fmt.Errorf("%w: a URL of ZooKeeper begins with zookeeper://", ErrURL)
	}
	rest, query, _ := strings.Cut(rest, "?")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		if options.User, options.Password, err = parseUser(rest[:i]); err != nil {
			return nil, options, err
		}
		rest = rest[i+1:]
	}
	hosts, namespace, ok := strings.Cut(rest, "/")
	if ok {
		options.Namespace = "/" + namespace
	}
	if hosts == "" {
		return nil, options, fmt.Errorf("%w: the URL has no server; write zookeeper://HOST:2181,HOST:2181/NAMESPACE", ErrURL)
	}
	options.TLS, err = parseParameters(query)
	if err != nil && options.User == "" && strings.Contains(query, "@") {
		// The ? may be the password's, and what follows be the rest of it.
		return nil, options, fmt.Errorf("%w: what follows the ? of the URL is wrong; in the user and the password, a ? must be escaped as %%3F", ErrURL)
	}
	return strings.Split(hosts, ","), options, err
}

func parseUser(text string) (user, password string, err error) {
	user, password, _ = strings.Cut(text, ":")
	for _, part := range []*string{&user, &password} {
		if *part, err = neturl.PathUnescape(*part); err != nil {
			return "", "", fmt.Errorf("%w: the user or the password has a %% that is not followed by two hexadecimal digits", ErrURL)
		}
	}
	return user, password, nil
}

func parseParameters(query string) (*tls.Config, error) {
	parameters, err := neturl.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("%w: what follows the ? of the URL: %w", ErrURL, err)
	}
	for name, values := range parameters {
		switch name {
		case "tls", "ca", "cert", "key":
		default:
			return nil, fmt.Errorf("%w: the parameter %q is not known; there are tls, ca, cert and key", ErrURL, name)
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("%w: the parameter %q is there twice", ErrURL, name)
		}
	}
	on := false
	if value := parameters.Get("tls"); value != "" {
		if on, err = strconv.ParseBool(value); err != nil {
			return nil, fmt.Errorf("%w: the parameter tls is %q; it must be true or false", ErrURL, value)
		}
	}
	if !on {
		if parameters.Has("ca") || parameters.Has("cert") || parameters.Has("key") {
			return nil, fmt.Errorf("%w: ca, cert and key are for tls=true", ErrURL)
		}
		return nil, nil
	}
	return loadTLS(parameters.Get("ca"), parameters.Get("cert"), parameters.Get("key"))
}

func loadTLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%w: the parameter ca: %w", ErrURL, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: the parameter ca: %s has no certificate in PEM", ErrURL, ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%w: the parameters cert and key: %w", ErrURL, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// checkServers completes addresses with the default port.
func checkServers(servers []string) ([]string, error) {
	if len(servers) == 0 {
		return nil, fmt.Errorf("%w: there is no server", ErrURL)
	}
	addresses := make([]string, len(servers))
	for i, server := range servers {
		host, port := strings.Trim(server, "[]"), defaultPort
		if strings.Contains(server, "]:") || strings.Count(server, ":") == 1 {
			var err error
			if host, port, err = net.SplitHostPort(server); err != nil {
				return nil, fmt.Errorf("%w: the server %q: %w", ErrURL, server, err)
			}
		}
		if n, err := strconv.ParseUint(port, 10, 16); host == "" || strings.ContainsAny(host, " \t") || err != nil || n == 0 {
			return nil, fmt.Errorf("%w: the server %q must be a host or HOST:PORT, such as zk1.example.com:2181", ErrURL, server)
		}
		addresses[i] = net.JoinHostPort(host, port)
	}
	return addresses, nil
}
