package sitemap

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// Normalise returns a URL in canonical form, without user and fragment. base may be nil. Errors
// wrap [ErrURL].
func Normalise(text string, base *url.URL) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxField {
		return "", fmt.Errorf("%w: %d bytes", ErrURL, len(text))
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: %d bytes that do not parse", ErrURL, len(text))
	}
	u = cmp.Or(base, &url.URL{}).ResolveReference(u)
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return "", fmt.Errorf("%w: neither http nor https", ErrURL)
	}
	if u.Host, err = host(u); err != nil {
		return "", err
	}
	norm := u.Scheme + "://" + u.Host + cmp.Or(escapes(u.EscapedPath()), "/")
	if u.RawQuery != "" {
		norm += "?" + escapes(u.RawQuery)
	}
	return norm, nil
}

func host(u *url.URL) (string, error) {
	name, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(name, ":") { // IPv6
		name = "[" + name + "]"
	} else if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^`+"`{|}%/?#@", c) >= 0 {
			return "", fmt.Errorf("%w: invalid host", ErrURL)
		}
	}
	if name == "" {
		return "", fmt.Errorf("%w: no host", ErrURL)
	}
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return name, nil
	}
	return name + ":" + port, nil
}

// escapes writes percent escapes in one form (RFC 3986, 6.2.2). It keeps an escaped dot:
// decoded, it could make a dot segment.
func escapes(s string) string {
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte("%\"<>\\^`{|}", c) < 0 }
	unreserved := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '~'
	}
	return fetch.Respell(s, plain, unreserved)
}

// Identity drops the scheme of a normalised URL, so a site that moves to https keeps its pages.
func Identity(normalised string) string {
	_, rest, _ := strings.Cut(normalised, "://")
	return rest
}
