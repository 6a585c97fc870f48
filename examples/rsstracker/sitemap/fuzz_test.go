package sitemap_test

import (
	"bytes"
	"errors"
	"net/url"
	"testing"
	"time"

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
		n := 0
		sum, err := sitemap.Read(bytes.NewReader(doc), opt, func(e sitemap.Entry) error {
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

// FuzzParseDate: a date is in UTC, in a year that a feed can write, and survives a round trip.
func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2026", "2026-03-04T05:06:07.5+08:00", "Wed, 04 Mar 2026 05:06:07 EST", "20260304", "January 2, 2006", "9999-12-31T23:59:59-14:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := sitemap.ParseDate(s)
		if err != nil {
			if !errors.Is(err, sitemap.ErrDate) || !d.IsZero() {
				t.Errorf("ParseDate(%q) = %v, %v", s, d, err)
			}
			return
		}
		again, err := sitemap.ParseDate(d.Format(time.RFC3339Nano))
		if err != nil || !again.Equal(d) || d.Location() != time.UTC || d.Year() < 1990 || d.Year() > 9999 {
			t.Errorf("ParseDate(%q) = %v; read again: %v, %v", s, d, again, err)
		}
	})
}
