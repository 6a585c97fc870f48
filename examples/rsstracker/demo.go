package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/config"
)

const old = 200

var errPromise = errors.New("a run did not have the expected figures")

type demoCmd struct{}

type act struct {
	what    string
	happen  func(d *demo)
	want    figures
	because string // the call of the library behind it
}

// figures are the printed numbers of a run. reader is the status for a reader with the last feed.
type figures struct{ added, changed, failed, requests, notModified, published, reader int }

var acts = []act{
	{"first run: 200 posts, 10 are published", func(d *demo) { d.add(old, d.now.AddDate(0, -1, 0)) },
		figures{10, 0, 0, 14, 0, 10, 200}, "cache.Cache.Fetch loads a page once; httpcache stores the feed"},
	{"1 % new", grow, figures{2, 0, 0, 5, 2, 2, 200}, "sqltier kept the validators: 304; httpcache.PurgeTags drops the old feed"},
	{"nothing new", func(*demo) {}, figures{0, 0, 0, 3, 3, 0, 304}, "cache.ErrNotModified renews what sqltier has; httpcache answers 304"},
	{"one post rewritten, one only stamped", rewrite, figures{0, 2, 0, 5, 2, 0, 200}, "cache.MaxAge(0) does not take the cached page"},
	{"a sitemap is HTML, new posts are 503 and 404", breakDown, figures{2, 0, 2, 5, 1, 0, 304},
		"cache.ErrNotFound keeps the 404 for its NegativeTTL, and no 503"},
	{"recovers, but the 404 is still remembered", repair, figures{0, 0, 1, 4, 2, 1, 200}, "cache.Cache.Fetch answers with the negative entry"},
	{"the database is destroyed", destroy, figures{0, 0, 0, 3, 3, 0, 304}, "tier/sqltier is another file: still 304"},
	{"1 % new", grow, figures{2, 0, 0, 5, 2, 2, 200}, "as in run 2"},
}

func grow(d *demo) { d.add(2, d.now.Add(-time.Hour)) }

func rewrite(d *demo) {
	rewritten, stamped := d.posts[old], d.posts[old+1]
	rewritten.text += "And more."
	rewritten.modified, stamped.modified = d.now.Add(-time.Hour), d.now.Add(-time.Hour)
}

func breakDown(d *demo) {
	grow(d)
	n := len(d.posts)
	d.posts[n-1].status, d.posts[n-2].status, d.broken = http.StatusServiceUnavailable, http.StatusNotFound, true
}

func repair(d *demo) {
	d.posts[len(d.posts)-1].status, d.broken = http.StatusOK, false
}

func destroy(d *demo) {
	_ = os.WriteFile(filepath.Join(d.dir, "rss.db"), []byte(strings.Repeat("no database ", 1000)), 0o600) // the run reports the damage
}

// Run plays the acts, two hours apart on a simulated clock. Each act opens and closes the
// program, as a process started by cron does.
func (*demoCmd) Run(p *program) (err error) {
	d := &demo{now: time.Date(2026, time.March, 1, 6, 0, 0, 0, time.UTC)}
	if d.dir, err = os.MkdirTemp("", "rsstracker-"); err != nil {
		return err
	}
	defer os.RemoveAll(d.dir) //nolint:errcheck // the system clears temporary folders too
	site := httptest.NewServer(d)
	defer site.Close()
	d.url = site.URL
	fmt.Fprintf(p.out, "%-3s %-45s %3s %7s %6s %8s %4s %9s %6s   %s\n", "run", "", "new", "changed", "failed", "requests", "304s", "published", "reader",
		"by the call")
	var got figures
	// The second tier counts ages in seconds.
	for i, a := range acts {
		time.Sleep(1100 * time.Millisecond)
		d.mu.Lock()
		d.now = d.now.Add(2 * time.Hour)
		a.happen(d)
		d.mu.Unlock()
		if got, err = d.once(p, true); err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%-3d %-45s %3d %7d %6d %8d %4d %9d %6d   %s\n",
			i+1, a.what, got.added, got.changed, got.failed, got.requests, got.notModified, got.published, got.reader, a.because)
		if got != a.want {
			return fmt.Errorf("%w: run %d: want %+v", errPromise, i+1, a.want)
		}
	}
	full, err := d.once(p, false)
	if err != nil {
		return err
	}
	less := 100 - 100*got.requests/full.requests
	fmt.Fprintf(p.out, "\nFull mode, with nothing cached: %d requests. Run %d: %d, or %d %% less.\n", full.requests, len(acts), got.requests, less)
	if less < 70 {
		return fmt.Errorf("%w: full mode: want 70 %% fewer requests, as the source document says", errPromise)
	}
	return nil
}

type demo struct {
	dir, url string
	etag     string // of the feed that the reader has

	mu       sync.Mutex // protects everything below
	now      time.Time
	posts    []*post
	broken   bool // the sitemap of the old posts answers with an HTML page
	requests int
}

type post struct {
	text     string
	modified time.Time
	status   int
}

func (d *demo) add(n int, at time.Time) {
	for range n {
		text := strings.Repeat(fmt.Sprintf("Post %d has much to say. ", len(d.posts)), 100)
		d.posts = append(d.posts, &post{text, at, http.StatusOK})
		at = at.Add(time.Second) // no two dates are equal, so the order is known
	}
}

func (d *demo) once(p *program, incremental bool) (f figures, err error) {
	file, err := config.Parse(fmt.Appendf(nil, `{database: %[1]q, cache: %[2]q, output: %[3]q, public_url: "https://feeds.example.org", host_delay: 1ns,
		allow_private: true, sites: {demo: {home: %[4]q, updates: true, retries: 0, channel_config: {title: What is new}}}}`,
		filepath.Join(d.dir, "rss.db"), filepath.Join(d.dir, fmt.Sprintf("incremental-%t.cache", incremental)), d.dir, d.url))
	if err != nil {
		return f, err
	}
	quiet := slog.New(slog.DiscardHandler)
	a := &app{file: file, now: func() time.Time { return d.now }}
	defer func() { err = errors.Join(err, a.shut(p)) }()
	if err := a.open(p, quiet); err != nil {
		return f, err
	}
	d.requests = 0
	r, err := a.attempt(p, "demo", incremental, quiet)
	return figures{r.New, r.Changed, r.Failed, d.requests, r.NotModified, r.Published, d.read(a.server)}, err
}

// read requests the feed as a reader who has the feed of the run before.
func (d *demo) read(h http.Handler) (status int) {
	r, w := httptest.NewRequest(http.MethodGet, "/demo/rss.xml", http.NoBody), httptest.NewRecorder()
	r.Header.Set("If-None-Match", d.etag)
	h.ServeHTTP(w, r)
	d.etag = w.Header().Get("ETag")
	return w.Code
}

func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests++
	w.Header().Set("Date", d.now.Format(http.TimeFormat))
	var text string
	switch path := r.URL.Path; {
	case path == "/robots.txt":
		text = "Sitemap: " + d.url + "/sitemap.xml\n"
	case path == "/sitemap.xml":
		text = fmt.Sprintf("<sitemapindex><sitemap><loc>%s/old.xml</loc></sitemap><sitemap><loc>%[1]s/new.xml</loc></sitemap></sitemapindex>", d.url)
	case path == "/old.xml" && d.broken:
		text = "<!doctype html><title>Sorry</title>"
	case path == "/old.xml":
		text = d.list(0, old)
	case path == "/new.xml":
		text = d.list(old, len(d.posts))
	default:
		n := 0
		_, _ = fmt.Sscanf(path, "/posts/%d", &n)
		if p := d.posts[n]; p.status != http.StatusOK {
			w.WriteHeader(p.status)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		text = fmt.Sprintf("<title>Post %d</title><article>%s</article>", n, d.posts[n].text)
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%08x"`, crc32.ChecksumIEEE([]byte(text))))
	http.ServeContent(w, r, "sitemap.xml", time.Time{}, strings.NewReader(text))
}

func (d *demo) list(from, to int) string {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "<url><loc>%s/posts/%d</loc><lastmod>%s</lastmod></url>\n", d.url, i, d.posts[i].modified.Format(time.RFC3339))
	}
	return b.String() + "</urlset>\n"
}
