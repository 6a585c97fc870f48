package sitemap

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

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

// layouts are the forms of the W3C note on dates, and invalid ones in use. Without a zone, a date
// is UTC.
var layouts = []string{
	"2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01", "2006",
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z07",
	"2006-01-02T15:04:05 Z07:00", "2006-01-02T15:04:05 Z0700", "2006-01-02T15:04:05 MST",
	"2006/01/02", "2006/01/02T15:04:05", "20060102T150405Z0700", "20060102T150405", "20060102",
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006", "January 2, 2006", "Jan 2, 2006",
}

// firstYear is before any web page. Programs without a date write 0001-01-01 or 1970-01-01.
const firstYear = 1990

// ParseDate reads a date in the forms that sites write. It rejects forms where day and
// month cannot be distinguished. Errors wrap [ErrDate].
func ParseDate(s string) (time.Time, error) {
	text := strings.TrimSpace(s)
	if len(text) < 4 || len(text) > 64 {
		return time.Time{}, fmt.Errorf("%w: %d bytes", ErrDate, len(text))
	}
	if text[4:] != "" && (text[4] == '-' || text[4] == '/') {
		text = tidyNumeric(text)
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if t = t.UTC(); t.Year() < firstYear || t.Year() > 9999 {
			return time.Time{}, fmt.Errorf("%w: the year %d", ErrDate, t.Year())
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%w: %d bytes in an unknown form", ErrDate, len(text))
}

func tidyNumeric(text string) string {
	b := []byte(text)
	if len(b) > 10 && (b[10] == 't' || b[10] == ' ' && len(b) > 11 && b[11] >= '0' && b[11] <= '9') {
		b[10] = 'T'
	}
	if last := len(b) - 1; b[last] == 'z' {
		b[last] = 'Z'
	}
	return string(b)
}
