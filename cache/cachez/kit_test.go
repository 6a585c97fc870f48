package cachez_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachetest"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is in every value.
const secret = "what is cached"

const host = "shop.example"

// program has caches of all kinds and the page for them.
type program struct {
	t     *testing.T
	fleet *cachetest.Fleet
	tiers *cache.Tiers
	index *index.Index
	users cache.Cache[string, string]
	pages *httpcache.Cache
	site  http.Handler
	log   strings.Builder
	page  http.Handler
}

// newProgram returns a program. Each change edits the configuration of the page.
func newProgram(t *testing.T, change ...func(*cachez.Config)) *program {
	t.Helper()
	p := &program{t: t, index: index.New(index.Config{})}
	p.fleet = cachetest.OpenFleet(t, 1, func(c *cache.TiersConfig) {
		c.OnStored, c.OnRemoved, c.MaxTenants = p.index.Stored, p.index.Removed, 1000
	})
	p.tiers = p.fleet.Tiers[0]
	var err error
	p.users, err = cache.New(p.tiers, cache.Config[string, string]{
		Namespace: "users:v1",
		Policy:    policy.Patch{TTL: new(time.Minute), Jitter: new(0.0), Stale: new(time.Minute)},
		Load:      func(_ context.Context, id string) (string, error) { return secret + id, nil },
		Tags:      func(id, _ string) []string { return []string{"users", "initial:" + id[:1]} },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.pages, err = httpcache.New(httpcache.Config{Preset: httpcache.Pages, Tiers: p.tiers, Logger: slog.New(slog.DiscardHandler), Policy: policy.Patch{Stale: new(time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.pages.Close(context.WithoutCancel(t.Context())) })
	p.site = p.pages.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cache.Depend(r.Context(), "shop")
		_, _ = io.WriteString(w, secret+r.URL.Path)
	}))
	cfg := cachez.Config{
		Authorize: func(*http.Request) bool { return true },
		Index:     p.index, Pages: p.pages, Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	if p.page, err = cachez.Handler(p.tiers, cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

// read reads users: "ada" of the default tenant, "acme/ada" of tenant acme.
func (p *program) read(users ...string) {
	p.t.Helper()
	for _, u := range users {
		c := p.users
		tenant, id, ok := strings.Cut(u, "/")
		if !ok {
			id = tenant
		} else {
			c = c.Tenant(tenant)
		}
		if _, err := c.Get(p.t.Context(), id); err != nil {
			p.t.Fatal(err)
		}
	}
}

// visit requests pages of the site.
func (p *program) visit(targets ...string) {
	p.t.Helper()
	for _, target := range targets {
		r := httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, target, http.NoBody)
		if strings.HasPrefix(target, "/") {
			r.Host = host
		}
		r.RequestURI, r.URL.Scheme, r.URL.Host = r.URL.RequestURI(), "", ""
		w := httptest.NewRecorder()
		if p.site.ServeHTTP(w, r); !strings.Contains(w.Body.String(), secret) {
			p.t.Errorf("%s = %d: %s", target, w.Code, w.Body)
		}
	}
}

// keys returns the cached keys that may be served.
func (p *program) keys() (keys []string) {
	return found(p.t, p.get("?all=yes&format=json")).Keys
}

// call makes a request with pairs of header names and values.
func (p *program) call(method, target, body string, header ...string) *httptest.ResponseRecorder {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, "/caches", strings.NewReader(body))
	r.URL.RawQuery = strings.TrimPrefix(target, "?") // even if it is invalid
	r.Host = host
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.page.ServeHTTP(w, r)
	return w
}

func (p *program) get(target string) *httptest.ResponseRecorder {
	p.t.Helper()
	return p.call(http.MethodGet, target, "")
}

// post sends a form, such as "do=purge&all=yes", and accepts JSON.
func (p *program) post(form string) *httptest.ResponseRecorder {
	p.t.Helper()
	return p.call(http.MethodPost, "?format=json", form)
}

// answer is the JSON of the page.
type answer struct {
	Title, Error string
	Found        *finding
	Done         *outcome
}

type finding struct {
	By, Value, Tenant string
	Entry             *struct {
		Key, State string
		Age        *float64 `json:"age_seconds"`
		Tags       []struct{ Tenant, Name string }
		More       int `json:"more_tags"`
	}
	Keys []string
	More int
}

type outcome struct {
	Do, By, Value string
	Entries       *int
	Pending       int
}

func read(t *testing.T, w *httptest.ResponseRecorder) (a answer) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return a
}

func found(t *testing.T, w *httptest.ResponseRecorder) *finding {
	t.Helper()
	a := read(t, w)
	if a.Found == nil {
		t.Fatalf("%d %s: nothing is found", w.Code, w.Body)
	}
	return a.Found
}

// ask looks up a field.
func (p *program) ask(field, value string) *finding {
	p.t.Helper()
	return found(p.t, p.get("?format=json&"+url.Values{field: {value}}.Encode()))
}

// element is a tag of a page with its attributes.
type element struct {
	name  string
	attrs map[string]string
}

// elements returns the tags and the text of a page.
func elements(t *testing.T, page string) (all []element, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, text
		}
		if err != nil {
			t.Fatalf("%v in the page:\n%s", err, page)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{x.Name.Local, map[string]string{}}
			for _, a := range x.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			text += string(x)
		}
	}
}
