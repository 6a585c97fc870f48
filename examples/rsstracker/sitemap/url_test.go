package sitemap_test

import (
	"errors"
	"testing"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

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
