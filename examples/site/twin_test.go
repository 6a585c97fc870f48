package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
)

// twins are two sites on one database. One has caches and receives the writes. The other
// has none, so its answers are right. Both must answer alike.
type twins struct {
	t             *testing.T
	store         *store.Store
	cached, plain *site
	now           atomic.Int64 // Unix milliseconds

	posts, pages  *shelf // for writers
	writes, fails int    // successful writes, and refused ones

	goodKey string     // an API key that is never revoked
	mu      sync.Mutex // protects the rest
	keys    []string   // existing and former API keys
	etags   map[string][]string
	reads   int
	hits    int
}

// newTwins returns twins on a small database, the cached one behind a link. End them with close.
func newTwins(t *testing.T, link linkOf) *twins {
	t.Helper()
	base, err := base()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "site.db")
	if err := os.WriteFile(path, base.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return twinsOn(t, path, base.key, link)
}

// twinsOn returns twins on a furnished database.
func twinsOn(t *testing.T, db, key string, link linkOf) *twins {
	t.Helper()
	w := &twins{t: t, goodKey: key, keys: []string{key}, posts: newShelf("post", 3), pages: newShelf("page", 2), etags: map[string][]string{}}
	w.now.Store(sitetest.Now().UnixMilli())
	var err error
	if w.store, err = store.Open(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	w.cached = w.site(w.store, siteConfig{link: link})
	w.plain = w.site(w.store, siteConfig{uncached: true})
	return w
}

// patience is how long tests wait for their log on a busy machine.
const patience = time.Minute

// patient is a log with a lease that is as long. The usual lease of 2 s lets a call of the log take
// half a second. A slower machine serves nothing from the caches, so its reads test nothing.
type patient struct{ invalidate.Log }

// Bound implements [invalidate.Log].
func (patient) Bound() time.Duration { return patience }

// linkOf returns the log that a layer follows instead of its own.
type linkOf func(layer string, own second) invalidate.Log

// patiently is a link to the layer's own log, with patience.
func patiently(_ string, own second) invalidate.Log {
	own.Log = patient{own.Log}
	return own
}

// site returns a site with the clock of the twins. The caller closes it.
func (w *twins) site(s *store.Store, cfg siteConfig) *site {
	w.t.Helper()
	cfg.adminKey, cfg.now, cfg.log, cfg.patience = "k", w.clock, slog.New(slog.DiscardHandler), patience
	site, err := newSite(s, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return site
}

func (w *twins) close() {
	ctx := context.Background()
	if err := errors.Join(w.cached.Close(ctx), w.plain.Close(ctx), w.store.Close()); err != nil {
		w.t.Error(err)
	}
}

func (w *twins) clock() time.Time { return time.UnixMilli(w.now.Load()).UTC() }

// prepared is the database at the start of twins.
type prepared struct {
	file []byte
	key  string // an API key
}

// base prepares it once, because copying it is much faster.
var base = sync.OnceValues(func() (b prepared, err error) {
	dir, err := os.MkdirTemp("", "twins")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, ctx := filepath.Join(dir, "site.db"), context.Background()
	s, err := store.Open(ctx, path)
	if err != nil {
		return b, err
	}
	b.key, err = furnish(ctx, s)
	if err := errors.Join(err, s.Close()); err != nil { // Close moves everything from the WAL to the file
		return b, err
	}
	b.file, err = os.ReadFile(path)
	return b, err
})

// furnish writes the initial content of twins, and returns an API key. Texts are short,
// because rendering long ones takes long and proves no more.
func furnish(ctx context.Context, s *store.Store) (key string, err error) {
	svc := service.New(s, service.Config{Now: sitetest.Now})
	errs := []error{
		svc.UpdateSettings(ctx, twinSettings(hosts[0], 2)),
		svc.UpdateNavigation(ctx, []content.NavItem{{Label: "Home", URL: "/"}}),
	}
	for _, slug := range pools["tag"][:3] {
		errs = append(errs, svc.CreateTag(ctx, content.Tag{Slug: slug, Name: strings.ToUpper(slug)}))
	}
	for _, slug := range pools["post"][:3] {
		_, err := svc.SavePost(ctx, 0, service.PostInput{
			Slug: slug, Title: "Title", Body: "*b*", Status: content.Published, Tags: []string{"go"},
		})
		errs = append(errs, err)
	}
	for _, slug := range pools["page"][:2] {
		_, err := svc.SavePage(ctx, 0, service.PageInput{Slug: slug, Title: "Page", Body: "b"})
		errs = append(errs, err)
	}
	_, key, err = svc.CreateAPIKey(ctx, service.KeyInput{Label: "L", Scopes: content.Scopes})
	return key, errors.Join(append(errs, err)...)
}

func twinSettings(host string, perPage int) content.Settings {
	return content.Settings{
		BaseURL: "http://" + host, Author: "A", PostsPerPage: perPage, FeedItems: 3,
		Title: "T",
	}
}

// response is everything in an answer that could distinguish the twins.
type response struct {
	Status int
	Header http.Header
	Body   string
}

func (w *twins) ask(s *site, q request) (r response, cacheStatus string) {
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, q.http())
	res := rec.Result()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Error(err)
	}
	r = response{res.StatusCode, res.Header, string(body)}
	cacheStatus = strings.Join(r.Header["Cache-Status"], ", ")
	for _, name := range []string{"Age", "Date", "Cache-Status"} {
		delete(r.Header, name)
	}
	return r, cacheStatus
}

// differ sends q to s and to the plain twin, and returns the difference of their answers;
// "" if there is none. No write may run meanwhile.
func (w *twins) differ(s *site, q request) string {
	got, cacheStatus := w.ask(s, q)
	want, _ := w.ask(w.plain, q)
	w.remember(q, want, strings.Contains(cacheStatus, hit))
	if got.Status == want.Status && got.Body == want.Body && maps.EqualFunc(got.Header, want.Header, equalLines) {
		return ""
	}
	return fmt.Sprintf("%v, %s (-plain +cached):\n%s", q, cacheStatus, cmp.Diff(want, got))
}

func equalLines(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// remember counts an answer, and stores its validator for later conditional requests.
func (w *twins) remember(q request, r response, isHit bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if isHit {
		w.hits++
	}
	if etag := r.Header.Get("ETag"); etag != "" && !slices.Contains(w.etags[q.target], etag) {
		old := w.etags[q.target]
		w.etags[q.target] = append(slices.Clone(old[max(0, len(old)-2):]), etag)
	}
}

// everywhere returns the first difference at any public URL.
func (w *twins) everywhere() string {
	for _, target := range targets() {
		if d := w.differ(w.cached, w.plainly(target)); d != "" {
			return d
		}
	}
	return ""
}

// call makes a call of the cached twin's admin API, or of its public API if the path says so.
func (w *twins) call(method, path string, body []byte) (status int, reply string) {
	header, key := "X-API-Key", w.goodKey
	if !strings.HasPrefix(path, publicAPI) {
		path, header, key = "/admin/api"+path, "Authorization", "Bearer k"
	}
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, bytes.NewReader(body))
	r.Header.Set(header, key)
	rec := httptest.NewRecorder()
	w.cached.ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}
