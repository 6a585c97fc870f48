package ops

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxValue is the longest value of a question or a purge, in bytes.
const maxValue = 2048

// badInput is what an operator got wrong.
type badInput struct{ text string }

func (e *badInput) Error() string { return e.text }

func bad(format string, args ...any) error { return &badInput{fmt.Sprintf(format, args...)} }

// request makes the request of a client that asks for a URL, as r's sender would if
// it is only a path: of the same host and over the same scheme.
func request(r *http.Request, value string) (*http.Request, error) {
	u, err := parseURL(value)
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "/", http.NoBody)
	if err != nil {
		return nil, err
	}
	secure, host := whereOf(r, u)
	q.Host = host
	q.URL = &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	if secure {
		q.TLS = &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true}
	}
	return q, nil
}

// whereOf returns the scheme and the host of a URL, or those of r.
func whereOf(r *http.Request, u *url.URL) (secure bool, host string) {
	if u.Host == "" {
		return r.TLS != nil, strings.ToLower(r.Host)
	}
	return u.Scheme == "https", strings.ToLower(u.Host)
}

// parseURL reads a path with or without a query, or a whole URL.
func parseURL(value string) (*url.URL, error) {
	if value == "" || len(value) > maxValue {
		return nil, bad("value has %d bytes, want 1 to %d", len(value), maxValue)
	}
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, bad("value of %d bytes is no URL", len(value))
	case u.Opaque != "" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(u.Path, "/"):
	case u.Scheme == "" && u.Host == "", (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return u, nil
	}
	return nil, bad("value of %d bytes is neither a path that begins with / nor a URL of http or https with a path", len(value))
}

// parsePath reads a path that may be escaped.
func parsePath(value string) (string, error) {
	u, err := parseURL(value)
	if err != nil {
		return "", err
	}
	if u.Host != "" || u.RawQuery != "" || u.ForceQuery {
		return "", bad("value of %d bytes is more than a path: entries of every host and query are meant", len(value))
	}
	return u.Path, nil
}

// parsePrefix reads a path, or a URL without a query, that others begin with.
func parsePrefix(r *http.Request, value string) (host, path string, err error) {
	u, err := parseURL(value)
	if err != nil {
		return "", "", err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return "", "", bad("value of %d bytes has a query: entries of every query are meant", len(value))
	}
	_, host = whereOf(r, u)
	return host, u.Path, nil
}

// single returns the only value of the only parameter, which is one of names. What
// else there is may be a misspelled one, and is refused rather than overlooked.
func single(v url.Values, names ...string) (name, value string, err error) {
	for _, n := range names {
		if len(v[n]) > 0 {
			name, value = n, v[n][0]
		}
	}
	if name == "" || len(v) != 1 || len(v[name]) != 1 {
		return "", "", bad("%d parameters, want one of %s, once", len(v), strings.Join(names, ", "))
	}
	return name, value, nil
}
