package ops_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// found is what a look-up answers to a program.
type found struct {
	Asked  string
	Key    string
	Bypass bool
	Cached bool
	Entry  *struct {
		Status int
		Age    int64 `json:"age_seconds"`
		Bytes  int64
		Type   string
	}
	Depends *names
	Keys    []struct {
		Layer string
		names
	}
	Error string
}

type names struct {
	Names []string
	More  int
}

func ask(t *testing.T, h http.Handler, name, value string) found {
	t.Helper()
	a := get(t, h, "/_cache/api/lookup?"+url.Values{name: {value}}.Encode())
	if a.status != http.StatusOK {
		t.Errorf("%s %s = %d %s", name, value, a.status, a.body)
	}
	return decode[found](t, a)
}

// Of a URL: its key, whether it is cached, how old and how long it is, and what it
// is made of.
func TestLookUpURL(t *testing.T) {
	b := newBlog(t)
	home, _ := b.visit("/")
	b.visit("/posts/the-cost-of-a-miss")
	b.visit("/api/v1/tags")
	for _, tt := range []struct {
		url            string
		bypass, cached bool
		bytes          int // 0: as many as there are
		depends        []string
	}{
		{"/", false, true, len(home), []string{"settings", "navigation", "posts:en", "tags:en", "months:en"}},
		{"http://" + host + "/", false, true, len(home), nil},
		{"http://" + strings.ToUpper(host) + "/?utm_source=x", false, true, len(home), nil},
		{"https://" + host + "/", false, false, 0, nil},
		{"http://other.example/", false, false, 0, nil},
		{"/?page=2", false, false, 0, nil},
		{"/posts/the-cost-of-a-miss", false, true, 0, []string{"post:1", "slug:the-cost-of-a-miss", "settings"}},
		{"/nothing", false, false, 0, nil},
		{"/api/v1/tags", false, true, 0, []string{"tags:en"}}, // and its age is behind an API key
		{"/a//b", true, false, 0, nil},
	} {
		t.Run(tt.url, func(t *testing.T) {
			f := ask(t, b.ops, "url", tt.url)
			if f.Bypass != tt.bypass || f.Cached != tt.cached || (f.Key == "") != tt.bypass {
				t.Errorf("it bypasses: %v, is cached: %v, as %q; want %v, %v", f.Bypass, f.Cached, f.Key, tt.bypass, tt.cached)
			}
			if told := f.Entry != nil; told != (tt.cached && !strings.HasPrefix(tt.url, "/api/")) {
				t.Errorf("age and size are told: %v", told)
			} else if told && (f.Entry.Status != http.StatusOK || f.Entry.Age != 0 || tt.bytes > 0 && f.Entry.Bytes != int64(tt.bytes)) {
				t.Errorf("it is %+v, want %d bytes", *f.Entry, tt.bytes)
			}
			for _, tag := range tt.depends {
				if f.Depends == nil || !slices.Contains(f.Depends.Names, tag) {
					t.Errorf("it depends on %v, want %s", f.Depends, tag)
				}
			}
			if f.Key == "" {
				return
			}
			if again := ask(t, b.ops, "key", f.Key); again.Cached != tt.cached {
				t.Errorf("of the key it is said to be cached: %v", again.Cached)
			}
		})
	}
	before := b.caches.Responses.Stats()
	ask(t, b.ops, "url", "/")
	after := b.caches.Responses.Stats()
	if after.Hits != before.Hits+1 || after.Bytes != before.Bytes {
		t.Errorf("a look-up is %d hits and %d bytes, want 1 and none", after.Hits-before.Hits, after.Bytes-before.Bytes)
	}
	// Who asks over HTTPS means the site over HTTPS.
	b.visit("https://" + host + "/zh/")
	if f := ask(t, b.ops, "url", "/zh/"); f.Cached {
		t.Errorf("over HTTP there is %s", f.Key)
	}
	a := get(t, b.ops, "https://"+host+"/_cache/api/lookup?url=/zh/")
	if f := decode[found](t, a); !f.Cached || f.Entry == nil {
		t.Errorf("over HTTPS there is not %s", f.Key)
	}
	// Looking at what is not there does not put it there.
	if _, hit := b.visit("/nothing"); hit {
		t.Error("a look-up has stored something")
	}
}

// A key's dependencies are those of its layer.
func TestLookUpKey(t *testing.T) {
	b := newBlog(t)
	b.visit("/posts/the-cost-of-a-miss")
	f := ask(t, b.ops, "key", "default:slugs:the-cost-of-a-miss")
	if want := []string{"post:1", "slug:the-cost-of-a-miss"}; !f.Cached || f.Depends == nil || !slices.Equal(f.Depends.Names, want) {
		t.Errorf("the object is %+v, want %v", f, want)
	}
	if f := ask(t, b.ops, "key", "default:slugs:another"); f.Cached || f.Depends != nil {
		t.Errorf("an object that is not there is %+v", f)
	}
}

// Of a tag: all that is made of it, in both layers. Of a prefix: all responses that
// a purge of it would reach.
func TestLookUpKeys(t *testing.T) {
	b := newBlog(t)
	for _, target := range visited {
		b.visit(target)
	}
	of := func(f found, layer string) (n int) {
		for _, l := range f.Keys {
			if l.Layer == layer {
				return len(l.Names)
			}
		}
		return -1
	}
	f := ask(t, b.ops, "tag", "post:1")
	if of(f, "responses") != 3 || of(f, "objects") != 2 {
		t.Errorf("of post:1 are made %+v, want 3 responses and 2 objects", f.Keys)
	}
	f = ask(t, b.ops, "prefix", "/p")
	if of(f, "responses") != 3 || len(f.Keys) != 1 {
		t.Errorf("below /p are %+v, want 3 responses", f.Keys)
	}
	d := look(t, b.ops, "/_cache/lookup?tag=post:1")
	var links []string
	for _, a := range d.all("a") {
		if to := attr(a, "href"); strings.HasPrefix(to, "/_cache/lookup?key=") {
			links = append(links, to)
		}
	}
	if len(links) != 5 {
		t.Errorf("there are links to %v, want 5 keys", links)
	}
	for _, to := range links { // each leads to what it says
		if d := look(t, b.ops, to); d.id("cached") != "yes" || !strings.Contains(d.id("depends"), "post:1") {
			t.Errorf("%s: cached: %q, depends on %q", to, d.id("cached"), d.id("depends"))
		}
	}
}

func TestLookUpRefusesBadInput(t *testing.T) {
	b := newBlog(t)
	for _, query := range []string{
		"", "?ulr=/", "?url=/&tag=a", "?url=/&x=y", "?url=", "?url=/&url=/", "?url=ftp://a/", "?url=/%25zz", "?tag=", "?tag=" + strings.Repeat("x", 257),
		"?key=a", "?key=default:posts:", "?prefix=", "?prefix=/?a", "?prefix=/" + strings.Repeat("x", 1500), "?url=/" + strings.Repeat("x", 3000),
	} {
		if a := get(t, b.ops, "/_cache/api/lookup"+query); a.status != http.StatusBadRequest || decode[found](t, a).Error == "" {
			t.Errorf("%.30s = %d %s", query, a.status, a.body)
		}
		// Without a question there are just the forms.
		want := http.StatusBadRequest
		if query == "" {
			want = http.StatusOK
		}
		if a := get(t, b.ops, "/_cache/lookup"+query); a.status != want || len(parse(t, a.body).all("form")) != 4 {
			t.Errorf("the page of %.30s = %d", query, a.status)
		}
	}
}

// Lists end, however much there is.
func TestListsAreBounded(t *testing.T) {
	f := newFake()
	for i := range 500 {
		f.responseIndex.Stored(&stored{"default:responses:/" + strconv.Itoa(i), []string{"t", "only" + strconv.Itoa(i)}})
	}
	var tags []string
	for i := range 300 {
		tags = append(tags, "t"+strconv.Itoa(i))
	}
	f.responseIndex.Stored(&stored{"default:responses:/many", tags})
	h := handler(t, f.config())
	for name, value := range map[string]string{"tag": "t", "prefix": "/"} {
		got := ask(t, h, name, value).Keys[0]
		total := 500
		if name == "prefix" {
			total = 2 * 501 // the fake has the same keys for http and https
		}
		if len(got.Names) != 200 || got.More != total-200 {
			t.Errorf("of the %s, %d keys are listed, and %d more", name, len(got.Names), got.More)
		}
	}
	d := look(t, h, "/_cache/lookup?tag=t")
	if n := len(d.all("li")) - 5; n != 200 || !strings.Contains(d.text, "and 300 more") {
		t.Errorf("the page lists %d keys", n)
	}
	if got := ask(t, h, "url", "/many").Depends; len(got.Names) != 200 || got.More != 100 {
		t.Errorf("%d tags are listed, and %d more", len(got.Names), got.More)
	}
}

// Whatever strangers and databases have put into names, it is text.
func TestNamesAreText(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img/src=x/onerror=alert(1)>`
	f := newFake()
	f.responseIndex.Stored(&stored{"default:responses:/" + evil, []string{evil, "javascript:alert(1)"}})
	f.objectIndex = f.responseIndex
	f.format(evil, counts(1, 1))
	f.object(evil, 1, 1)
	f.responses.Bypass, f.responses.Refused = map[string]int64{evil: 1}, map[string]int64{evil: 1}
	f.events.StageFailures = map[string]int64{evil: 1}
	f.recent = append(f.recent, record(evil))
	h := handler(t, f.config())
	h.Run(cancelled(t))
	shown := 0
	for _, target := range []string{
		"/_cache", "/_cache?done=" + url.QueryEscape(evil), "/_cache/lookup?tag=" + url.QueryEscape(evil),
		"/_cache/lookup?key=" + url.QueryEscape("default:responses:/"+evil), "/_cache/lookup?url=" + url.QueryEscape("/"+evil),
		"/_cache/lookup?prefix=" + url.QueryEscape("/"+evil), "/_cache/lookup?" + url.QueryEscape(evil) + "=1",
		"/_cache/lookup?tag=javascript:alert(1)",
	} {
		d := parse(t, get(t, h, target).body)
		harmless(t, target, d)
		if strings.Contains(textOf(d.root), evil) {
			shown++
		}
	}
	if shown < 4 {
		t.Errorf("the name is shown on %d pages, so this tests little", shown)
	}
	to := post(t, h, "/_cache/purge", url.Values{"tag": {evil}}).header.Get("Location")
	d := look(t, h, to)
	harmless(t, to, d)
	if !strings.Contains(d.id("done"), evil) {
		t.Errorf("of the purge the page says %q", d.id("done"))
	}
}

// harmless checks that a page has no script, and nothing that could be one.
func harmless(t *testing.T, target string, d *document) {
	t.Helper()
	for n := range d.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" || n.Data == "img" || n.Data == "style" || n.Data == "iframe" {
			t.Errorf("%s has <%s>", target, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Val, "javascript:") && a.Key == "href" {
				t.Errorf("%s has %s=%q", target, a.Key, a.Val)
			}
		}
	}
}

// No value is shown anywhere: no text of a page, no secret of a key.
func TestValuesAreNotShown(t *testing.T) {
	b := newBlog(t)
	for _, target := range visited {
		b.visit(target)
	}
	b.ops.Run(cancelled(t))
	_, secret, _ := strings.Cut(sitetest.APIKey, "_")
	for _, target := range []string{
		"/_cache", "/_cache/api/stats", "/metrics", "/_cache/lookup?url=/posts/the-cost-of-a-miss", "/_cache/api/lookup?url=/posts/the-cost-of-a-miss",
		"/_cache/lookup?prefix=/", "/_cache/lookup?tag=key:testkey0", "/_cache/lookup?key=default:keys:testkey0", "/_cache/api/lookup?tag=settings",
	} {
		a := get(t, b.ops, target)
		if a.status != http.StatusOK {
			t.Errorf("%s = %d", target, a.status)
		}
		for _, value := range []string{secret, "The cost of a miss", "<article", adminKey} {
			if strings.Contains(a.body, value) {
				t.Errorf("%s shows %q", target, value)
			}
		}
	}
	if body, _ := b.visit("/posts/the-cost-of-a-miss"); !strings.Contains(body, "The cost of a miss") || !strings.Contains(body, "<article") {
		t.Error("the post does not have the texts that are looked for")
	}
}
