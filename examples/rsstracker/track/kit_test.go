package track_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

const home = "https://example.com"

var epoch = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// post is a page of the invented site.
type post struct {
	path    string
	lastMod time.Time
	text    string
	fail    error // the error of a fetch
}

// web is the invented site, with the requests it received.
type web struct {
	files  map[string]string // sitemaps by path; "" if only fail has an entry
	fail   map[string]error  // of sitemaps and pages, by path
	posts  map[string]*post
	robots []string
	blind  error // the error of robots.txt

	sent  map[string]string // sitemaps that the client has
	asked []string          // requested paths, in order
	page  track.PageRequest // the last one
}

var errDown = &fetch.StatusError{Code: 503}

func newWeb() *web {
	return &web{sent: map[string]string{}, files: map[string]string{}, fail: map[string]error{}, posts: map[string]*post{}}
}

// add adds a post to the site.
func (w *web) add(path string, lastMod time.Time) *post {
	p := &post{path: path, lastMod: lastMod, text: "text of " + path}
	w.posts[path] = p
	return p
}

// list writes a sitemap of the existing posts.
func (w *web) list(at string, paths ...string) {
	var b strings.Builder
	b.WriteString("<urlset>")
	for _, p := range paths {
		fmt.Fprintf(&b, "<url><loc>%s%s</loc>", home, p)
		if q := w.posts[p]; q != nil && !q.lastMod.IsZero() {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", q.lastMod.Format(time.RFC3339Nano))
		}
		b.WriteString("</url>")
	}
	w.files[at] = b.String() + "</urlset>"
}

// index writes an index.
func (w *web) index(at string, lastMod time.Time, children ...string) {
	var b strings.Builder
	b.WriteString("<sitemapindex>")
	for _, c := range children {
		fmt.Fprintf(&b, "<sitemap><loc>%s%s</loc>", home, c)
		if !lastMod.IsZero() {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", lastMod.Format(time.RFC3339))
		}
		b.WriteString("</sitemap>")
	}
	w.files[at] = b.String() + "</sitemapindex>"
}

func (w *web) path(url string) (string, error) {
	path := url[strings.Index(url, "example.com")+len("example.com"):]
	w.asked = append(w.asked, path)
	return path, w.fail[path]
}

// Sitemap implements track.Source.
func (w *web) Sitemap(_ context.Context, url string) (fetch.Response, error) {
	path, err := w.path(url)
	body, ok := w.files[path]
	if err == nil && !ok {
		err = &fetch.StatusError{Code: 404}
	}
	if err != nil {
		return fetch.Response{}, err
	}
	same := w.sent[path] == body
	w.sent[path] = body
	return fetch.Response{URL: url, Body: []byte(body), NotModified: same}, nil
}

// Discover implements track.Source.
func (w *web) Discover(context.Context, string) ([]string, error) { return w.robots, w.blind }

// Page implements track.Source.
func (w *web) Page(_ context.Context, r track.PageRequest) (track.Page, error) {
	w.page = r
	path, err := w.path(r.URL)
	p := w.posts[path]
	switch {
	case err != nil:
	case p == nil:
		err = &fetch.StatusError{Code: 404}
	case p.fail != nil:
		err = p.fail
	default:
		return track.Page{Meta: page.Meta{Title: "Title of " + path, Description: p.text, Hash: p.text}}, nil
	}
	return track.Page{}, err
}

// pages returns the paths of the pages, without sitemaps, that were requested since the last call.
func (w *web) pages() (all []string) {
	for _, p := range w.asked {
		if !strings.Contains(p, ".xml") {
			all = append(all, p)
		}
	}
	w.asked = nil
	return all
}

// rig is a tracker on the invented site, with a clock that a test sets.
type rig struct {
	t      *testing.T
	web    *web
	site   config.Site
	dir    string
	now    time.Time
	every  time.Duration // between two runs
	keeper *state.Keeper
	at     func(string)
	log    *slog.Logger
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, web: newWeb(), dir: t.TempDir(), now: epoch, every: time.Hour, log: slog.New(slog.DiscardHandler)}
	r.site = config.Default()
	r.site.Name, r.site.SitemapURL, r.site.CleanupDays = "example", home+"/sitemap.xml", 1
	r.site.Channel = feed.Channel{Title: "Example", Description: "What is new", Link: home, Base: "https://feeds.example.org/example"}
	r.moveTo(r.dir)
	return r
}

// moveTo continues with the state in another folder.
func (r *rig) moveTo(dir string) {
	r.dir = dir
	r.keeper = r.newKeeper()
	r.t.Cleanup(func() {
		if err := r.keeper.Close(); err != nil {
			r.t.Error(err)
		}
	})
}

func (r *rig) database() string { return filepath.Join(r.dir, "rss.db") }

func (r *rig) newKeeper() *state.Keeper {
	return state.NewKeeper(r.database(), sqlite.Off, func() time.Time { return r.now }, r.log)
}

func (r *rig) tracker() *track.Tracker {
	return track.New(track.Config{
		Keeper: r.keeper, Source: r.web, Dir: r.dir, Now: func() time.Time { return r.now }, Log: r.log, Lease: 5 * time.Minute, At: r.at,
	})
}

// run makes one run, an interval after the last.
func (r *rig) run() track.Report {
	r.t.Helper()
	r.now = r.now.Add(r.every)
	rep, err := r.tracker().Run(r.t.Context(), r.site)
	if err != nil {
		r.t.Fatal(err)
	}
	return rep
}

// store returns the database.
func (r *rig) store() *state.Store {
	r.t.Helper()
	s, err := r.keeper.Store(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// stats returns the statistics of the site.
func (r *rig) stats() state.Stats {
	r.t.Helper()
	all, err := r.store().Stats(r.t.Context(), r.now, r.site.Name)
	if err != nil {
		r.t.Fatal(err)
	}
	return all[0]
}

// window returns the items of the feed, newest first.
func (r *rig) window() []feed.Item {
	r.t.Helper()
	site, err := r.store().Site(r.t.Context(), r.site.Name)
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := r.store().Window(r.t.Context(), site.ID, 1_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// published returns the paths of the items, in the order of publication.
func (r *rig) published() []string {
	r.t.Helper()
	all := []string{}
	for _, i := range slices.Backward(r.window()) {
		all = append(all, strings.TrimPrefix(sitemap.Identity(i.GUID), "example.com"))
	}
	return all
}

// file returns a file of the site's folder.
func (r *rig) file(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(track.Folder(r.dir, r.site.Name), name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(b)
}

// started is a rig whose site has a baseline of the posts /0 to /n-1, none of them published.
func started(t *testing.T, n int) *rig {
	t.Helper()
	r := newRig(t)
	r.site.Baseline = 0
	for i := range n {
		r.web.add(fmt.Sprintf("/%d", i), epoch.Add(-time.Duration(i+1)*time.Hour))
	}
	r.listAll()
	if rep := r.run(); rep.Silent != n || rep.Published != 0 || rep.Outcome != state.OK {
		t.Fatalf("baseline of %d: %+v", n, rep)
	}
	r.web.pages()
	return r
}

// listAll lists all posts.
func (r *rig) listAll() {
	var all []string
	for p := range r.web.posts {
		all = append(all, p)
	}
	slices.Sort(all)
	r.web.list("/sitemap.xml", all...)
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func wantList(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
