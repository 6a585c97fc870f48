package fetchers_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// mayAllocate is the most that is allocated for one body, garbage included. Unlike a sample of the
// heap, it does not depend on when the collector runs.
const mayAllocate = 128 << 20

// body is a piece repeated between two ends, up to the limit. It is generated while it is
// sent, because a heap that holds it is collected less often.
type body struct{ typ, head, piece, tail string }

func (b body) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	send := bufio.NewWriterSize(w, 32<<10)
	_, _ = send.WriteString(b.head)
	for range (limit - len(b.head) - len(b.tail)) / len(b.piece) {
		if _, err := send.WriteString(b.piece); err != nil {
			return
		}
	}
	_, _ = send.WriteString(b.tail)
	_ = send.Flush()
}

const (
	inRSS   = `<rss version="2.0"><channel><title>x</title>`
	outRSS  = `</channel></rss>`
	inAtom  = `<feed xmlns="http://www.w3.org/2005/Atom">`
	inReddy = `{"data":{"children":[`
)

// hostile are bodies within the limit, small on the wire, but large for a parser that builds a
// tree.
var hostile = map[string]body{
	"rss: items":               {"rss", inRSS, `<item/>`, outRSS},
	"rss: categories":          {"rss", inRSS + `<item>`, `<category/>`, `</item>` + outRSS},
	"rss: extensions":          {"rss", inRSS + `<item>`, `<a:b/>`, `</item>` + outRSS},
	"rss: extensions outside":  {"rss", inRSS, `<a:b/>`, outRSS},
	"rss: nested":              {"rss", inRSS + `<item>`, `<a:b>`, ``},
	"rss: attributes":          {"rss", inRSS + `<item><a:b `, `a="" `, `/></item>` + outRSS},
	"rss: text":                {"rss", inRSS + `<item><title>`, `a `, `</title></item>` + outRSS},
	"rss: texts":               {"rss", inRSS, `<item><description>` + strings.Repeat("&lt;p&gt;a b c ", 4000) + `</description></item>`, outRSS},
	"rss: CDATA":               {"rss", inRSS + `<item><description><![CDATA[`, `<p>a `, `]]></description></item>` + outRSS},
	"rss: entities":            {"rss", inRSS + `<item><title>`, `&amp;`, `</title></item>` + outRSS},
	"rss: noise":               {"rss", inRSS + `<item><title>`, noise(), ``},
	"rss: comment":             {"rss", inRSS + `<!--`, `x`, `-->` + outRSS},
	"rss: bytes of no charset": {"rss", inRSS + `<item><title>`, "\xff", `</title></item>` + outRSS},
	"atom: entries":            {"atom", inAtom, `<entry/>`, `</feed>`},
	"atom: links":              {"atom", inAtom + `<entry>`, `<link/>`, `</entry></feed>`},
	"atom: markup":             {"atom", inAtom + `<entry><content type="xhtml">`, `<b/>`, `</content></entry></feed>`},
	"hackernews: authors":      {"hackernews", `{"hits":[{"author":[`, `{},`, `{}]}]}`},
	"hackernews: text":         {"hackernews", `{"hits":[{"objectID":"1","story_text":"`, `a `, `"}]}`},
	"hackernews: beside":       {"hackernews", `{"x":[`, `{},`, `{}],"hits":[]}`},
	"hackernews: deep":         {"hackernews", `{"x":`, `[`, ``},
	"hackernews: names":        {"hackernews", `{`, `"":0,`, `"hits":[]}`},
	"hackernews: long name":    {"hackernews", `{"`, `x`, `":0,"hits":[]}`},
	"hackernews: hits":         {"hackernews", `{"hits":[`, `{},`, `{}]}`},
	"hackernews: numbers":      {"hackernews", `{"hits":[`, `0,`, `0]}`},
	"reddit: children":         {"reddit", inReddy, `{},`, `{}]}}`},
	"reddit: posts":            {"reddit", inReddy, `{"kind":"t3","data":{"name":"` + strings.Repeat("x", 25_000) + `","selftext":"` + strings.Repeat("y", 5_000) + `"}},`, `{}]}}`},
	"custom: items":            {"custom_api", `{"list":[`, `{"a":"x"},`, `{}]}`},
	"custom: deep":             {"custom_api", `{"list":[{"a":`, `[`, ``},
	"custom: all deep":         {"custom_api", `{"list":[` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + `]}`, ` `, ``},
	"website: paragraphs":      {"website", `<html><body>`, `<p>`, ``},
	"website: formatting":      {"website", `<html><body>` + strings.Repeat(`<b class=x><i>`, 1000), `<p>a`, ``},
	"website: attributes":      {"website", `<html><body><a `, `a `, `>`},
	"website: links":           {"website", `<html><head>`, `<link rel=alternate type=x href=y>`, ``},
	"website: text":            {"website", `<html><body>`, `a `, ``},
	"website: title":           {"website", `<html><title>`, `a `, ``},
	"website: script":          {"website", `<html><script>`, `a `, ``},
	"website: tables":          {"website", `<html><body>`, `<table><a>`, ``},
	"github: rows":             {"github_trending", `<html><body>`, `<article class=Box-row><h2><a href=/a/b>`, ``},
	// Just within the limits of the parser's input.
	"rss: extensions in one item":  {"rss", inRSS + `<item>` + strings.Repeat(`<a:b/>`, 19_900) + `</item>`, ` `, outRSS},
	"rss: attributes in one item":  {"rss", inRSS + `<item><a:b ` + strings.Repeat(`a="" `, 19_900) + `/></item>`, ` `, outRSS},
	"rss: extensions in all items": {"rss", inRSS, `<item><a:b>` + strings.Repeat(`<c:d x="y"/>`, 15) + `</a:b></item>`, outRSS},
	"rss: text in one item":        {"rss", inRSS + `<item><description>` + strings.Repeat(`&lt;p&gt;a `, 90_000) + `</description></item>`, ` `, outRSS},
	"rss: CDATA in one item":       {"rss", inRSS + `<item><description><![CDATA[` + strings.Repeat(`<p>a `, 200_000) + `]]></description></item>`, ` `, outRSS},
	"atom: markup in one entry":    {"atom", inAtom + `<entry><content type="xhtml">` + strings.Repeat(`<b>`+strings.Repeat("x", 190)+`</b>`, 9_900) + `</content></entry>`, ` `, `</feed>`},
	// Just within the part of an answer that is read.
	"hackernews: all hits":  {"hackernews", `{"hits":[` + strings.Repeat(`{},`, 1_390_000) + `{}]}`, ` `, ``},
	"hackernews: all names": {"hackernews", `{"hits":[{` + strings.Repeat(`"":0,`, 800_000) + `"":0}]}`, ` `, ``},
	"hackernews: one text":  {"hackernews", `{"hits":[{"objectID":"1","story_text":"` + strings.Repeat(`<p>a `, 800_000) + `"}]}`, ` `, ``},
	"hackernews: all deep":  {"hackernews", `{"hits":[` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + `]}`, ` `, ``},

	"github: text": {"github_trending", `<html><body><article class=Box-row><h2><a href=/a/b></h2><p>`, `a `, ``},
}

func noise() string {
	b := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return string(b)
}

// allocated returns the bytes that were allocated while f ran, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Any body within the limit is read in bounded memory, from the socket to the items.
func TestHostileBodies(t *testing.T) {
	for name, tt := range hostile {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tt)
			defer s.Close()
			tiers, err := cache.Open(cache.TiersConfig{})
			if err != nil {
				t.Fatal(err)
			}
			defer tiers.Close(t.Context())
			c, err := fetch.New(fetch.Config{Tiers: tiers, UserAgent: "TestBot/1.0", AllowPrivate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			f := fetchers.New(fetchers.Config{Client: c, HackerNews: s.URL, Reddit: s.URL, GitHub: s.URL})[tt.typ]
			config := json.RawMessage(`{"url":"` + s.URL + `","subreddit":"x","items":"list","fields":{"title":"a"}}`)
			var r fetchers.Result
			taken := allocated(func() { r, err = f.Fetch(t.Context(), fetchers.Source{Type: tt.typ, Config: config}) })
			if err != nil && !errors.Is(err, fetchers.ErrParse) {
				t.Errorf("Fetch = %v", err)
			}
			if taken > mayAllocate || len(r.Items) > fetchers.MaxItems || c.Stats().Wire > 15<<20 {
				t.Errorf("%d MiB were allocated for %d items, %d bytes read", taken>>20, len(r.Items), c.Stats().Wire)
			}
			t.Logf("%d MiB, %d items, %v", taken>>20, len(r.Items), err)
		})
	}
}
