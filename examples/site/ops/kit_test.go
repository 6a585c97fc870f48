package ops_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/objects"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/examples/site/web"
	"github.com/twofold-go/twofold/invalidate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const adminKey = "the key of the operator"

var quiet = slog.New(slog.DiscardHandler)

// blog is a small site with both layers, and the operator's handler.
type blog struct {
	t       *testing.T
	ops     http.Handler
	site    http.Handler
	store   *store.Store
	objects content.Reader
	index   *index.Index
	purged  []invalidate.Scope // through the pages of the layers
}

// newBlog assembles a blog, as the program does.
func newBlog(t *testing.T) *blog {
	t.Helper()
	b := &blog{t: t, store: sitetest.Seeded(t), index: index.New(index.Config{})}
	ended := func(end func(context.Context) error) {
		t.Cleanup(func() {
			if err := end(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	open := func(cfg cache.TiersConfig) *cache.Tiers {
		cfg.Logger = quiet
		tiers, err := cache.Open(cfg)
		must(err)
		ended(tiers.Close)
		return tiers
	}
	ofObjects := index.New(index.Config{})
	present := open(cache.TiersConfig{OnStored: ofObjects.Stored, OnRemoved: ofObjects.Removed})
	absent := open(cache.TiersConfig{OnStored: func(cache.Entry) {}})
	b.objects, err = objects.New(b.store.Reader(), present, absent, 10)
	must(err)
	tiers := open(cache.TiersConfig{OnStored: b.index.Stored, OnRemoved: b.index.Removed})
	responses, err := httpcache.New(httpcache.Config{
		Namespace: "responses:v1", Preset: httpcache.Pages,
		Tiers: tiers, Logger: quiet, Statuses: []int{http.StatusOK, http.StatusFound},
		Query: func(string) ([]string, bool) { return []string{"page"}, true },
	})
	must(err)
	ended(responses.Close)
	b.site = web.New(web.Config{Reader: b.objects, Log: quiet, Wrap: func(h http.Handler) http.Handler { return responses.Handler(h) }})
	metrics := prometheus.NewRegistry()
	must(metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "blog_layers", Help: "Layers of cache."},
		func() float64 { return 3 })))
	b.ops = handler(t, ops.Config{
		Metrics: metrics, Queries: b.store.Queries, Responses: responses,
		Layers: []ops.Layer{
			{Name: "responses", Tiers: tiers, Index: b.index, Pages: responses},
			{Name: "objects", Tiers: present, Index: ofObjects},
			{Name: "absences", Tiers: absent},
		},
		Invalidate: func(ctx context.Context, scopes ...invalidate.Scope) error {
			b.purged = append(b.purged, scopes...)
			return errors.Join(present.Invalidate(ctx, scopes...), absent.Invalidate(ctx, scopes...), tiers.Invalidate(ctx, scopes...))
		},
	})
	return b
}

func handler(t *testing.T, cfg ops.Config) http.Handler {
	t.Helper()
	cfg.Key = adminKey
	if cfg.Metrics == nil {
		cfg.Metrics, cfg.Queries = prometheus.NewRegistry(), func() int64 { return 4321 }
	}
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	h, err := ops.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// host is the default host of requests.
const host = "blog.example"

// visit requests a path or a URL as a reader, and reports whether the cache answered.
func (b *blog) visit(target string) (body string, hit bool) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, target, http.NoBody)
	if strings.HasPrefix(target, "/") {
		r.Host = host
	}
	r.RequestURI = r.URL.RequestURI()
	r.URL.Host, r.URL.Scheme = "", ""
	r.Header.Set("X-API-Key", sitetest.APIKey)
	w := httptest.NewRecorder()
	b.site.ServeHTTP(w, r)
	return w.Body.String(), strings.Contains(w.Header().Get("Cache-Status"), ";hit")
}

type answer struct {
	status int
	header http.Header
	body   string
}

// call makes a request such as "GET /_cache". form may be nil. header is pairs of names and values.
func call(t *testing.T, h http.Handler, method, target string, form url.Values, header ...string) answer {
	t.Helper()
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(t.Context(), method, target, body)
	r.Host = host
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func get(t *testing.T, h http.Handler, target string) answer {
	t.Helper()
	return call(t, h, http.MethodGet, target, nil, "Authorization", "Bearer "+adminKey)
}

func post(t *testing.T, h http.Handler, target string, form url.Values) answer {
	t.Helper()
	return call(t, h, http.MethodPost, target, form, "Authorization", "Bearer "+adminKey)
}

// look requests a page and returns it parsed.
func look(t *testing.T, h http.Handler, target string) *document {
	t.Helper()
	a := get(t, h, target)
	if a.status != http.StatusOK {
		t.Fatalf("GET %s = %d: %s", target, a.status, a.body)
	}
	return parse(t, a.body)
}

type document struct {
	t    *testing.T
	text string
	root *html.Node
}

// parse parses a page as browsers do.
func parse(t *testing.T, text string) *document {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{t: t, text: text, root: root}
	return d
}

func (d *document) all(name string) (found []*html.Node) {
	for n := range d.root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, n)
		}
	}
	return found
}

// id returns the text of the element with an id; "" if there is none.
func (d *document) id(id string) string {
	for n := range d.root.Descendants() {
		if attr(n, "id") == id {
			return textOf(n)
		}
	}
	return ""
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}
