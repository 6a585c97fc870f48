package address

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Readable writes "^" for "%", which the library would escape again. What it gets has no "^" of its own.
func Readable(id string) string { return strings.ReplaceAll(id, "%", "^") }

// Scheme returns the beginning of the key. A page can depend on the scheme: a stored redirect
// from http to https, served to both, would never end. There is no colon because it would be
// escaped.
func Scheme(secure bool) string {
	if secure {
		return "https//"
	}
	return "http//"
}

// IsHost reports whether s is a valid Host in lower case, with or without a port. HTTP/1.0 allows
// an empty one.
func IsHost(s string) bool {
	if len(s) > 255 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' || !rules.IsAlnum(c) && strings.IndexByte("-._:[]", c) < 0 {
			return false
		}
	}
	return true
}

// isClean reports whether a decoded path is absolute and has no "." or ".." segment, and no empty
// segment except the last.
func isClean(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	for rest, more := p[1:], true; more; {
		var s string
		s, rest, more = strings.Cut(rest, "/")
		if s == "." || s == ".." || s == "" && more {
			return false
		}
	}
	return true
}

// HostOf returns the host of a request, normalized.
func HostOf(r *http.Request) string {
	if r.Host != "" {
		return plainHost(r.URL.Scheme, r.Host)
	}
	return plainHost(r.URL.Scheme, r.URL.Host)
}

// plainHost returns a host in lower case, without the default port of its scheme.
func plainHost(scheme, host string) string {
	host = strings.ToLower(host)
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// EscapedPath spells a path as clients do. They send these characters as they are, and package
// net/url leaves them so; but it escapes them in a path of its own.
func EscapedPath(path string) string {
	return asClients.Replace((&url.URL{Path: path}).EscapedPath())
}

var asClients = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%5B", "[", "%5D", "]")

// Name returns a host without any port.
func Name(host string) string {
	name := strings.TrimRight(host, "0123456789")
	if short, ok := strings.CutSuffix(name, ":"); ok {
		return short
	}
	return host
}

// WithoutPort returns a host without the port that its scheme implies.
func WithoutPort(host string) string {
	if !strings.HasSuffix(host, ":80") && !strings.HasSuffix(host, ":443") && !strings.HasSuffix(host, ":") {
		return host
	}
	if name, port, err := net.SplitHostPort(host); err == nil && (port == "80" || port == "443" || port == "") {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return host
}
