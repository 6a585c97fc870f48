package sitemap_test

import (
	"net/url"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// FuzzRead: for any bytes, no panic, no more entries than allowed, and all URLs in canonical form.
func FuzzRead(f *testing.F) {
	for _, doc := range []string{
		two, zip(two), "<sitemapindex><sitemap><loc>/a</loc></sitemap></sitemapindex>", "https://example.com/a\n",
		"<!DOCTYPE html><html>", "\xff\xfe<\x00u\x00", "<?xml version='1.0' encoding='gbk'?><urlset><url><loc>/\xc4\xe3</loc></url>",
		"<urlset><url><loc>/%2e%2e/%2E./a</loc></url>", "<urlset><url><news:news><news:title>x</news:title>",
	} {
		f.Add([]byte(doc))
	}
	opt := sitemap.Options{Base: base, MaxEntries: 50, MaxBytes: 1 << 20}
	f.Fuzz(func(t *testing.T, doc []byte) {
		text, err := fetch.Response{Body: doc}.Text()
		if err != nil {
			return // damaged gzip
		}
		n := 0
		sum, err := sitemap.Read(text, opt, func(e sitemap.Entry) error {
			n++
			again, err := sitemap.Normalise(e.Loc, nil)
			if err != nil || again != e.Loc {
				t.Errorf("%q is normalised to %q, %v", e.Loc, again, err)
			}
			if u, err := url.Parse(e.Loc); err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
				t.Errorf("%q is no URL to fetch: %v", e.Loc, err)
			}
			return nil
		})
		if n != sum.Entries || n > opt.MaxEntries {
			t.Errorf("%d entries, the summary says %d", n, sum.Entries)
		}
		if err != nil && n > 0 || sum.Partial != nil && n == 0 {
			t.Errorf("%d entries with the error %v, partial %v", n, err, sum.Partial)
		}
	})
}
