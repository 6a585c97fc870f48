package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

var base = &url.URL{Scheme: "https", Host: "example.com", Path: "/maps/sitemap.xml"}

// read returns the entries of a document.
func read(t *testing.T, doc string, opt sitemap.Options) ([]sitemap.Entry, sitemap.Summary, error) {
	t.Helper()
	if opt.Base == nil {
		opt.Base = base
	}
	text, err := fetch.Response{Body: []byte(doc)}.Text()
	if err != nil {
		return nil, sitemap.Summary{}, err
	}
	var all []sitemap.Entry
	sum, err := sitemap.Read(text, opt, func(e sitemap.Entry) error {
		all = append(all, e)
		return nil
	})
	return all, sum, err
}

func zip(doc string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, doc)
	_ = z.Close()
	return b.String()
}

const two = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.com/a</loc><lastmod>2026-01-02</lastmod></url>
<url><loc>
  https://example.com/b?x=1&amp;y=2
</loc></url>
</urlset>`

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestForms(t *testing.T) {
	a := sitemap.Entry{Loc: "https://example.com/a", LastMod: at("2026-01-02T00:00:00Z")}
	b := sitemap.Entry{Loc: "https://example.com/b?x=1&y=2"}
	for name, tc := range map[string]struct {
		doc  string
		kind sitemap.Kind
		want []sitemap.Entry
	}{
		"plain":              {two, sitemap.URLSet, []sitemap.Entry{a, b}},
		"byte order mark":    {"\xef\xbb\xbf" + two, sitemap.URLSet, []sitemap.Entry{a, b}},
		"blank lines before": {"\n\n  " + two, sitemap.URLSet, []sitemap.Entry{a, b}},
		"control character":  {strings.ReplaceAll(two, "<loc>", "<image:caption>\x08 &#8; &#x1F; \uFFFE</image:caption><loc>"), sitemap.URLSet, []sitemap.Entry{a, b}},
		"control in a URL":   {strings.Replace(two, "/a<", "/\x01a&#2;<", 1), sitemap.URLSet, []sitemap.Entry{a, b}},
		"bad byte":           {strings.ReplaceAll(two, "<loc>", "<image:caption>Caf\xe9</image:caption><loc>"), sitemap.URLSet, []sitemap.Entry{a, b}},
		"unknown charset":    {strings.Replace(two, "UTF-8", "utf8mb4", 1), sitemap.URLSet, []sitemap.Entry{a, b}},
		"gzip":               {zip(two), sitemap.URLSet, []sitemap.Entry{a, b}},
		"gzip twice":         {zip(zip(two)), sitemap.URLSet, []sitemap.Entry{a, b}},
		"latin 1":            {"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>https://example.com/caf\xe9</loc></url></urlset>", sitemap.URLSet, []sitemap.Entry{{Loc: "https://example.com/caf%C3%A9"}}},
		"namespace missing":  {strings.Replace(two, ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`, "", 1), sitemap.URLSet, []sitemap.Entry{a, b}},
		"namespace wrong":    {strings.Replace(two, "www.sitemaps.org", "www.google.com", 1), sitemap.URLSet, []sitemap.Entry{a, b}},
		"namespace prefix":   {"<s:urlset xmlns:s='x'><s:url><s:loc>https://example.com/a</s:loc><s:lastmod>2026-01-02</s:lastmod></s:url></s:urlset>", sitemap.URLSet, []sitemap.Entry{a}},
		"capitals":           {"<URLSET><URL><LOC>https://example.com/a</LOC><LastMod>2026-01-02</LastMod></URL></URLSET>", sitemap.URLSet, []sitemap.Entry{a}},
		"CDATA":              {"<urlset><url><loc><![CDATA[https://example.com/b?x=1&y=2]]></loc></url></urlset>", sitemap.URLSet, []sitemap.Entry{b}},
		"bare ampersand":     {"<urlset><url><loc>https://example.com/b?x=1&y=2</loc></url></urlset>", sitemap.URLSet, []sitemap.Entry{b}},
		"text after the end": {two + "<script>track()</script> & more", sitemap.URLSet, []sitemap.Entry{a, b}},
		"comments":           {strings.ReplaceAll(two, "<url>", "<!-- <url><loc>https://example.com/no</loc></url> --><url>"), sitemap.URLSet, []sitemap.Entry{a, b}},
		"style sheet":        {strings.Replace(two, "<urlset", `<?xml-stylesheet type="text/xsl" href="s.xsl"?><urlset`, 1), sitemap.URLSet, []sitemap.Entry{a, b}},
		"relative": {"<urlset><url><loc>/a</loc><lastmod>2026-01-02</lastmod></url><url><loc>//example.com/b?x=1&amp;y=2</loc></url><url><loc>c</loc></url></urlset>",
			sitemap.URLSet, []sitemap.Entry{a, b, {Loc: "https://example.com/maps/c"}}},
		"images and videos": {`<urlset><url><image:image><image:loc>https://example.com/i.png</image:loc><image:title>No</image:title></image:image>
			<video:video><video:title>No</video:title><video:publication_date>2020-01-01</video:publication_date></video:video>
			<image:loc>https://example.com/stray.png</image:loc><xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/a"/>
			<loc>https://example.com/a</loc><lastmod>2026-01-02</lastmod></url></urlset>`, sitemap.URLSet, []sitemap.Entry{a}},
		"news": {`<urlset><url><loc>https://example.com/n</loc><news:news><news:publication><news:name>N</news:name></news:publication>
			<news:publication_date>2026-01-02T03:04:05+01:00</news:publication_date><news:title>A &amp; B</news:title></news:news></url></urlset>`,
			sitemap.URLSet, []sitemap.Entry{{Loc: "https://example.com/n", Title: "A & B", Published: at("2026-01-02T02:04:05Z")}}},
		"index": {"<sitemapindex><sitemap><loc>https://example.com/a</loc><lastmod>2026-01-02</lastmod></sitemap><sitemap><loc>two.xml.gz</loc></sitemap></sitemapindex>",
			sitemap.Index, []sitemap.Entry{{Child: true, Loc: a.Loc, LastMod: a.LastMod}, {Child: true, Loc: "https://example.com/maps/two.xml.gz"}}},
		"text":             {"\nhttps://example.com/b?x=1&y=2\r\n\n# a note\nhttps://example.com/c\n", sitemap.Text, []sitemap.Entry{b, {Loc: "https://example.com/c"}}},
		"empty urlset":     {"<urlset></urlset>", sitemap.URLSet, nil},
		"unknown entity":   {`<!DOCTYPE urlset [<!ENTITY l "ha"><!ENTITY m "&l;&l;">]><urlset><url><loc>https://example.com/&m;</loc></url></urlset>`, sitemap.URLSet, []sitemap.Entry{{Loc: "https://example.com/&m;"}}},
		"unusable skipped": {"<urlset><url><loc>mailto:a@example.com</loc></url><url></url><url><loc>https://example.com/a</loc><lastmod>2026-01-02</lastmod></url></urlset>", sitemap.URLSet, []sitemap.Entry{a}},
	} {
		t.Run(name, func(t *testing.T) {
			got, sum, err := read(t, tc.doc, sitemap.Options{})
			if err != nil || sum.Partial != nil || sum.Kind != tc.kind {
				t.Errorf("kind %v, partial %v, error %v; want %v whole", sum.Kind, sum.Partial, err, tc.kind)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotASitemap is the reader's half of S-E5: anything that is not a sitemap is an error,
// never a sitemap without pages.
func TestNotASitemap(t *testing.T) {
	for name, tc := range map[string]struct {
		doc  string
		want error
	}{
		"HTML":              {"<!DOCTYPE html><html><body><a href=x>Sorry</a></body></html>", sitemap.ErrHTML},
		"HTML, old":         {"\xef\xbb\xbf\n<!doctype HTML PUBLIC \"-//W3C\"><html></html>", sitemap.ErrHTML},
		"HTML, bare":        {"<!-- c --><HTML><p>&nbsp;", sitemap.ErrHTML},
		"HTML, compressed":  {zip("<html>"), sitemap.ErrHTML},
		"nothing":           {"", sitemap.ErrEmpty},
		"blanks":            {" \n\t ", sitemap.ErrEmpty},
		"mark alone":        {"\xef\xbb\xbf", sitemap.ErrEmpty},
		"declaration alone": {"<?xml version='1.0'?>", sitemap.ErrEmpty},
		"other XML":         {"<svg></svg>", sitemap.ErrFormat},
		"JSON":              {`{"error":"not found"}`, sitemap.ErrFormat},
		"text":              {"404 page not found", sitemap.ErrFormat},
		"text with an h":    {"how did you get here?", sitemap.ErrFormat},
		"no usable URL":     {"<urlset><url><loc>javascript:void(0)</loc></url></urlset>", sitemap.ErrFormat},
		"broken gzip":       {"\x1f\x8b\x08\x00", fetch.ErrEncoding},
		"cut in the first":  {"<urlset><url><loc>https://exam", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := read(t, tc.doc, sitemap.Options{})
			if !errors.Is(err, tc.want) || len(got) != 0 {
				t.Errorf("Read = %d entries, %v; want none, %v", len(got), err, tc.want)
			}
		})
	}
}

func TestPartial(t *testing.T) {
	many := "<urlset>" + strings.Repeat("<url><loc>https://example.com/a</loc></url>", 10)
	for name, tc := range map[string]struct {
		doc  string
		opt  sitemap.Options
		want error
		n    int
	}{
		"cut off":         {many, sitemap.Options{}, io.ErrUnexpectedEOF, 10},
		"cut in a tag":    {many + "<url><lo", sitemap.Options{}, nil, 10},
		"gzip cut off":    {zip(many + strings.Repeat(many[8:], 5000))[:300], sitemap.Options{}, io.ErrUnexpectedEOF, 10},
		"too many":        {many + "</urlset>", sitemap.Options{MaxEntries: 9}, sitemap.ErrLimit, 9},
		"too long":        {many + "</urlset>", sitemap.Options{MaxBytes: 200}, sitemap.ErrLimit, 4},
		"endless text":    {many + "<url><loc>" + strings.Repeat("x", 200<<10), sitemap.Options{}, sitemap.ErrLimit, 10},
		"endless comment": {many + "<!--" + strings.Repeat("<>", 100<<10), sitemap.Options{}, sitemap.ErrLimit, 10},
		"deep":            {many + strings.Repeat("<x>", 100), sitemap.Options{}, sitemap.ErrLimit, 10},
		"endless line":    {"https://example.com/a\n" + strings.Repeat("x", 200<<10), sitemap.Options{}, sitemap.ErrLimit, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, sum, err := read(t, tc.doc, tc.opt)
			if err != nil || sum.Partial == nil || tc.want != nil && !errors.Is(sum.Partial, tc.want) {
				t.Errorf("Read: partial %v, error %v; want partial %v", sum.Partial, err, tc.want)
			}
			if len(got) < tc.n || sum.Entries != len(got) {
				t.Errorf("%d entries, summary says %d, want %d", len(got), sum.Entries, tc.n)
			}
		})
	}
}

func TestBadDatesAreLeftOut(t *testing.T) {
	got, sum, err := read(t, "<urlset><url><loc>/a</loc><lastmod>yesterday</lastmod></url></urlset>", sitemap.Options{})
	if err != nil || len(got) != 1 || !got[0].LastMod.IsZero() {
		t.Errorf("%+v, %+v, %v", got, sum, err)
	}
}
