package fetch

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// parseURL returns a URL that the client may get, in the form in which it is sent and cached.
func (c *Client) parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, &Error{Kind: ErrURL, Err: err} // only the cause quotes the URL, with its secrets
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
	n.Path = cmp.Or(n.Path, "/")
	n.RawQuery = Respell(n.RawQuery, func(c byte) bool { return ' ' < c && c <= '~' }, nil)
	refuse := func(kind error, detail string) (*url.URL, error) {
		return nil, &Error{URL: redacted(&n), Kind: kind, Detail: detail}
	}
	switch {
	case n.Scheme != "http" && n.Scheme != "https":
		return refuse(ErrScheme, "")
	case n.Opaque != "" || n.Hostname() == "":
		return refuse(ErrURL, "no host")
	case n.User != nil: // passwords in URLs end up in logs; use Request.Header
		return refuse(ErrURL, "it has user information")
	case n.Port() == "" && !strings.HasSuffix(n.Host, ":"):
		return &n, nil
	}
	port, err := strconv.ParseUint(n.Port(), 10, 16)
	switch {
	case err != nil || port == 0:
		return refuse(ErrPort, "no port number")
	case !c.cfg.AllowPrivate && port != 80 && port != 443 && port < 1024:
		return refuse(ErrPort, "") // a mail server would execute the lines of a request
	case n.Port() == defaultPort(n.Scheme):
		n.Host = strings.TrimSuffix(n.Host, ":"+n.Port())
	}
	return &n, nil
}

// Respell writes percent escapes in one form. It escapes every byte that is not plain. It decodes
// the escapes of free bytes and keeps the others. If "%" is plain, it decodes nothing.
func Respell(s string, plain, free func(c byte) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, bare := s[i], plain
		if v, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+3, len(s))], 16, 8); c == '%' && !plain('%') && err == nil && i+2 < len(s) {
			c, bare = byte(v), free
			i += 2
		}
		if bare(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

func hostOf(u *url.URL) string {
	return u.Hostname() + ":" + cmp.Or(u.Port(), defaultPort(u.Scheme))
}

// Redact returns a URL for people and logs, without the parts that may hold tokens: user
// information, query and fragment.
func Redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "a URL that does not parse"
	}
	return redacted(u)
}

func redacted(u *url.URL) string {
	n := *u
	n.User, n.RawQuery, n.ForceQuery, n.Fragment, n.RawFragment = nil, "", false, "", ""
	return n.String()
}

func redirect(status int) (is, permanent bool) {
	switch status {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		return true, true
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return true, false
	}
	return false, false
}
