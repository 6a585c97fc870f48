package sitemap

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// Normalise returns an absolute http or https URL in the one spelling that stands
// for it: host in lower case and ASCII, no default port, no user, no fragment, no
// dot segments, percent escapes in upper case and only where needed. A relative URL
// is resolved against base, which may be nil. The query is left in its order, for
// to some sites that matters. Its errors wrap [ErrURL] and do not quote the URL.
func Normalise(text string, base *url.URL) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxField {
		return "", fmt.Errorf("%w: %d bytes", ErrURL, len(text))
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: %d bytes that do not parse", ErrURL, len(text))
	}
	if base == nil {
		base = &url.URL{}
	}
	u = base.ResolveReference(u)
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return "", fmt.Errorf("%w: neither http nor https", ErrURL)
	}
	if u.Host, err = host(u); err != nil {
		return "", err
	}
	path := escapes(u.EscapedPath())
	if path == "" {
		path = "/"
	}
	norm := u.Scheme + "://" + u.Host + path
	if u.RawQuery != "" {
		norm += "?" + escapes(u.RawQuery)
	}
	return norm, nil
}

// host returns the host of u in lower case and ASCII, with the port unless it is
// the default.
func host(u *url.URL) (string, error) {
	name, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(name, ":") { // IPv6
		name = "[" + name + "]"
	} else if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^`+"`{|}%/?#@", c) >= 0 {
			return "", fmt.Errorf("%w: its host", ErrURL)
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

const hex = "0123456789ABCDEF"

// escapes spells percent escapes in one way, after RFC 3986, section 6.2.2: what
// needs none has none, what is no ASCII has one, and their digits are upper case.
func escapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			if v := byte(unhex(s[i+1])<<4 | unhex(s[i+2])); unreserved(v) {
				b.WriteByte(v)
			} else {
				b.WriteString("%" + strings.ToUpper(s[i+1:i+3]))
			}
			i += 2
		case c == '%', c <= ' ', c >= 0x7f, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unhex returns what a hexadecimal digit stands for, or -1.
func unhex(c byte) int {
	if c >= 'a' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(hex, c)
}

// unreserved reports whether c means itself in a URL, escaped or not. The dot does,
// too, but is left as it is: an escaped one makes no dot segment for Go, and would
// make one afterwards.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '~'
}

// Identity returns what a normalised URL is known by: itself without the scheme. A
// site that moves from http to https has the same pages as before.
func Identity(normalised string) string {
	_, rest, _ := strings.Cut(normalised, "://")
	return rest
}
