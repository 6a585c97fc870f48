package fetch

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// parseURL returns a URL that may be asked, in the form in which it is asked and
// cached: absolute, without a fragment, with nothing left to escape.
func (c *Client) parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error's text quotes the URL, with whatever is secret in it.
		return nil, &Error{URL: "", Kind: ErrURL, Err: err}
	}
	return c.checkURL(u)
}

func (c *Client) checkURL(u *url.URL) (*url.URL, error) {
	n := *u
	n.Scheme, n.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	n.Fragment, n.RawFragment = "", ""
	if ascii, err := httpguts.PunycodeHostPort(n.Host); err == nil {
		n.Host = ascii
	}
	n.RawQuery = escape(n.RawQuery)
	if n.Path == "" {
		n.Path = "/"
	}
	refuse := func(kind error, detail string) (*url.URL, error) {
		return nil, &Error{URL: redacted(&n), Kind: kind, Detail: detail}
	}
	switch {
	case n.Scheme != "http" && n.Scheme != "https":
		return refuse(ErrScheme, "")
	case n.Opaque != "" || n.Hostname() == "":
		return refuse(ErrURL, "no host")
	case n.User != nil:
		// Passwords in URLs end up in logs and in caches; Request.Header is for them.
		return refuse(ErrURL, "it has user information")
	}
	if p := n.Port(); p != "" || strings.HasSuffix(n.Host, ":") {
		port, err := strconv.ParseUint(p, 10, 16)
		if err != nil || port == 0 {
			return refuse(ErrPort, "no port number")
		}
		if !c.cfg.AllowPrivate && port != 80 && port != 443 && port < 1024 {
			// Ports of mail servers and the like: what a stranger could send them
			// through us is a request, but some of them read it line by line.
			return refuse(ErrPort, "")
		}
		if p == defaultPort(n.Scheme) {
			n.Host = strings.TrimSuffix(n.Host, ":"+p)
		}
	}
	return &n, nil
}

// escape escapes the bytes of a query that a request line cannot hold.
func escape(query string) string {
	if !strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		writeEscaped(&b, query[i], query[i] <= ' ' || query[i] > '~')
	}
	return b.String()
}

// writeEscaped writes a byte of a URL, percent-encoded if it is to be.
func writeEscaped(b *strings.Builder, c byte, enc bool) {
	const hex = "0123456789ABCDEF"
	if !enc {
		b.WriteByte(c)
		return
	}
	b.WriteByte('%')
	b.WriteByte(hex[c>>4])
	b.WriteByte(hex[c&15])
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// hostOf names who is asked, for queues and for the memory of the dead: a server
// is a name and a port, and a final dot makes no other name.
func hostOf(u *url.URL) string {
	p := u.Port()
	if p == "" {
		p = defaultPort(u.Scheme)
	}
	return strings.TrimSuffix(u.Hostname(), ".") + ":" + p
}

// originOf names what a robots.txt is about.
func originOf(u *url.URL) string { return u.Scheme + "://" + hostOf(u) }

// redacted returns a URL fit for errors and logs: queries and user information
// hold tokens.
func redacted(u *url.URL) string {
	n := *u
	n.User, n.RawQuery, n.ForceQuery, n.Fragment, n.RawFragment = nil, "", false, "", ""
	return n.String()
}

// keepsSecrets reports whether what was meant for one URL may be sent to the
// other: to the same origin, or to the https side of it. Another port is another
// server.
func keepsSecrets(from, to *url.URL) bool {
	if originOf(from) == originOf(to) {
		return true
	}
	return from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname() && from.Port() == "" && to.Port() == ""
}

// redirect reports whether a status is one that leads elsewhere, and for good.
func redirect(status int) (is, permanent bool) {
	switch status {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		return true, true
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return true, false
	}
	return false, false
}
