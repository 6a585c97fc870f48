package sitemap_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

func TestParseDate(t *testing.T) {
	for text, want := range map[string]string{
		// the forms of the W3C note
		"2026":                          "2026-01-01T00:00:00Z",
		"2026-03":                       "2026-03-01T00:00:00Z",
		"2026-03-04":                    "2026-03-04T00:00:00Z",
		"2026-03-04T05:06Z":             "2026-03-04T05:06:00Z",
		"2026-03-04T05:06+08:00":        "2026-03-03T21:06:00Z",
		"2026-03-04T05:06:07Z":          "2026-03-04T05:06:07Z",
		"2026-03-04T05:06:07-05:00":     "2026-03-04T10:06:07Z",
		"2026-03-04T05:06:07.890+00:00": "2026-03-04T05:06:07.89Z",
		// invalid forms that sites write
		" 2026-03-04\n":                  "2026-03-04T00:00:00Z",
		"2026-03-04T05:06:07":            "2026-03-04T05:06:07Z",
		"2026-03-04T05:06":               "2026-03-04T05:06:00Z",
		"2026-03-04 05:06:07":            "2026-03-04T05:06:07Z",
		"2026-03-04 05:06:07 +0200":      "2026-03-04T03:06:07Z",
		"2026-03-04 05:06:07 UTC":        "2026-03-04T05:06:07Z",
		"2026-03-04T05:06:07+0800":       "2026-03-03T21:06:07Z",
		"2026-03-04T05:06:07+08":         "2026-03-03T21:06:07Z",
		"2026-03-04t05:06:07z":           "2026-03-04T05:06:07Z",
		"2026/03/04":                     "2026-03-04T00:00:00Z",
		"20260304":                       "2026-03-04T00:00:00Z",
		"20260304T050607Z":               "2026-03-04T05:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 GMT":  "2026-03-04T05:06:07Z",
		"Wed, 4 Mar 2026 05:06:07 +0100": "2026-03-04T04:06:07Z",
		"March 4, 2026":                  "2026-03-04T00:00:00Z",
		// the caller handles future dates
		"2099-01-01": "2099-01-01T00:00:00Z",
	} {
		got, err := sitemap.ParseDate(text)
		if err != nil || got.Format(time.RFC3339Nano) != want || got.Location() != time.UTC {
			t.Errorf("ParseDate(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseDateRefuses(t *testing.T) {
	for _, text := range []string{
		"", "x", "2026-02-30", "2026-13-01", "0001-01-01T00:00:00Z", "1970-01-01", "0000-00-00", "03/04/2026",
		"yesterday", "{{ page.date }}", "2026-03-04T25:00:00Z", "1772600000000000000000000000000000000000000000000000000000000000000",
	} {
		if got, err := sitemap.ParseDate(text); !errors.Is(err, sitemap.ErrDate) || !got.IsZero() {
			t.Errorf("ParseDate(%q) = %v, %v; want ErrDate", text, got, err)
		}
	}
}

func TestNormalise(t *testing.T) {
	for text, want := range map[string]string{
		"HTTPS://Example.COM":             "https://example.com/",
		"https://example.com:443/a":       "https://example.com/a",
		"http://example.com:80":           "http://example.com/",
		"http://example.com:8080/a":       "http://example.com:8080/a",
		"https://me:secret@example.com/a": "https://example.com/a",
		"https://example.com/a#top":       "https://example.com/a",
		"https://example.com/a/../b/./c":  "https://example.com/b/c",
		"https://example.com/caf%c3%a9":   "https://example.com/caf%C3%A9",
		"https://example.com/café":        "https://example.com/caf%C3%A9",
		"https://example.com/%7Eme":       "https://example.com/~me",
		"https://example.com/a b":         "https://example.com/a%20b",
		"https://example.com/a%2Fb":       "https://example.com/a%2Fb",
		"https://example.com/?b=2&a=1":    "https://example.com/?b=2&a=1",
		"https://bücher.example/":         "https://xn--bcher-kva.example/",
		"https://[2001:DB8::1]:443/":      "https://[2001:db8::1]/",
		"/a":                              "https://example.com/a",
		"?page=2":                         "https://example.com/maps/sitemap.xml?page=2",
	} {
		got, err := sitemap.Normalise(text, base)
		if err != nil || got != want {
			t.Errorf("Normalise(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "ftp://example.com/", "mailto:a@b", "https://", "https://a b/", "https://example.com/%zz", "http://exa mple.com/", "https:opaque"} {
		if got, err := sitemap.Normalise(text, nil); !errors.Is(err, sitemap.ErrURL) {
			t.Errorf("Normalise(%q) = %q, %v; want ErrURL", text, got, err)
		}
	}
}

func TestIdentityIgnoresTheScheme(t *testing.T) {
	if a, b := sitemap.Identity("http://example.com/a"), sitemap.Identity("https://example.com/a"); a != b {
		t.Errorf("%q is not %q", a, b)
	}
}
