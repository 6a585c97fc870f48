package track_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

func TestNoRetry(t *testing.T) {
	r := started(t, 1)
	r.site.RetryFailed = false
	r.web.add("/bad", r.now).fail = errDown
	r.listAll()
	r.run()
	r.now = r.now.Add(100 * time.Hour)
	want(t, "page fetches", r.run().PageFetches, 0)
}

// TestLateParts: when a part of the site that was down at the first run recovers, its pages
// are old. The pages of a sitemap that the index adds later are new.
func TestLateParts(t *testing.T) {
	r := newRig(t)
	r.site.Baseline = 1
	for _, p := range []string{"/a1", "/b1", "/b2", "/c1"} {
		r.web.add(p, epoch)
	}
	r.web.index("/sitemap.xml", time.Time{}, "/a.xml", "/b.xml")
	r.web.list("/a.xml", "/a1")
	r.web.list("/b.xml", "/b1", "/b2")
	r.web.fail["/b.xml"] = errDown
	r.run()
	wantList(t, "published", r.published(), "/a1")
	clear(r.web.fail)
	rep := r.run()
	want(t, "silent", rep.Silent, 2)
	want(t, "new", rep.New, 0)
	r.web.index("/sitemap.xml", time.Time{}, "/a.xml", "/b.xml", "/c.xml")
	r.web.list("/c.xml", "/c1")
	r.run()
	wantList(t, "published", r.published(), "/a1", "/c1")
}

// TestLatePartThatIsNotNamed: such a part stays old while the index that lists it cannot be read.
func TestLatePartThatIsNotNamed(t *testing.T) {
	r := newRig(t)
	r.site.Baseline, r.site.SitemapURL, r.site.Home = 0, "", home
	r.web.robots = []string{"/sitemap.xml", "/other.xml"}
	r.web.add("/b1", epoch)
	r.web.index("/sitemap.xml", time.Time{}, "/b.xml")
	r.web.list("/b.xml", "/b1")
	r.web.list("/other.xml", "/o1")
	r.web.fail["/b.xml"] = errDown
	r.run()
	r.web.fail["/sitemap.xml"] = errDown
	want(t, "outcome", r.run().Outcome, state.Partial)
	clear(r.web.fail)
	rep := r.run()
	want(t, "new", rep.New, 0)
	want(t, "silent", rep.Silent, 1)
}

// TestNotModifiedIsReadAllTheSame: a run had fetched the sitemap and was killed, so the
// next one gets a 304. It reads the cached body.
func TestNotModifiedIsReadAllTheSame(t *testing.T) {
	r := newRig(t)
	r.web.add("/a", epoch)
	r.listAll()
	r.dieAt("fetched", 1)
	rep := r.run()
	want(t, "not modified", rep.NotModified, 1)
	want(t, "published", rep.Published, 1)
}

// TestScope: pages that a wider filter adds are old. Newly excluded pages are gone at once.
func TestScope(t *testing.T) {
	r := newRig(t)
	r.site.Baseline = 0
	r.site.Include = []string{`/blog/`}
	r.site.Exclude = []string{`/draft`}
	for _, p := range []string{"/blog/a", "/blog/draft", "/docs/a", "/docs/b"} {
		r.web.add(p, epoch)
	}
	for i := range 20 {
		r.web.add(fmt.Sprintf("/blog/%d", i), epoch)
	}
	r.listAll()
	want(t, "silent", r.run().Silent, 21)
	r.site.Include = append(r.site.Include, `/docs/`)
	rep := r.run()
	want(t, "wider, new", rep.New, 0)
	want(t, "wider, silent", rep.Silent, 2)
	r.site.Include = r.site.Include[1:]
	want(t, "narrower, gone", r.run().Gone, 21)
	r.web.add("/docs/new", r.now)
	r.listAll()
	r.run()
	wantList(t, "published", r.published(), "/docs/new")
}

// TestMoveToHTTPS: pages with another scheme are the same pages.
func TestMoveToHTTPS(t *testing.T) {
	r := started(t, 3)
	r.web.add("/new", r.now)
	r.listAll()
	r.web.files["/sitemap.xml"] = strings.ReplaceAll(r.web.files["/sitemap.xml"], "https://", "http://")
	r.run()
	guid := r.window()[0].GUID
	r.web.add("/late", r.now).fail = errDown
	r.listAll()
	r.web.files["/sitemap.xml"] = strings.ReplaceAll(r.web.files["/sitemap.xml"], "https://example.com/late", "http://example.com/late")
	rep := r.run()
	want(t, "new", rep.New, 1)
	want(t, "gone", rep.Gone, 0)
	want(t, "guid", r.window()[0].GUID, guid)
	r.web.posts["/late"].fail = nil
	r.listAll()
	r.run()
	want(t, "guid of one that moved before it was published", r.window()[0].GUID, "http://example.com/late")
	want(t, "its URL", r.window()[0].URL, "https://example.com/late")
}

// TestDiscovery: sitemaps from robots.txt, and without it.
func TestDiscovery(t *testing.T) {
	for name, tc := range map[string]struct {
		robots []string
		blind  error
		files  []string
		want   []string // requested paths
		ok     state.Outcome
	}{
		"named":            {[]string{home + "/a.xml", "/b.xml"}, nil, []string{"/a.xml", "/b.xml"}, []string{"/a.xml", "/b.xml"}, state.OK},
		"usual":            {nil, nil, []string{"/sitemap.xml"}, []string{"/sitemap.xml", "/sitemap.xml"}, state.OK},
		"second usual":     {nil, nil, []string{"/sitemap_index.xml"}, []string{"/sitemap.xml", "/sitemap_index.xml", "/sitemap_index.xml"}, state.OK},
		"none":             {nil, nil, nil, []string{"/sitemap.xml", "/sitemap_index.xml", "/sitemap.txt", "/sitemap.xml"}, state.Failed},
		"cannot be read":   {nil, errDown, []string{"/sitemap.xml"}, nil, state.Failed},
		"named, not there": {[]string{home + "/a.xml"}, nil, nil, []string{"/a.xml"}, state.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.site.SitemapURL, r.site.Home = "", home
			r.web.robots, r.web.blind = tc.robots, tc.blind
			for _, f := range tc.files {
				r.web.list(f, "/x")
			}
			r.site.Baseline = 0
			rep := r.run()
			want(t, "outcome", rep.Outcome, tc.ok)
			want(t, "faults are told", len(rep.Faults) > 0, tc.ok != state.OK)
			wantList(t, "asked", r.web.asked, tc.want...)
		})
	}
}

// TestMaxPages: pages beyond the limit of one run wait, and none is lost.
func TestMaxPages(t *testing.T) {
	r := started(t, 3)
	r.site.MaxPages = 4
	var all []string
	for i := range 10 {
		p := fmt.Sprintf("/n%d", i)
		r.web.add(p, r.now.Add(-time.Duration(i)*time.Minute))
		all = append(all, p)
	}
	r.listAll()
	rep := r.run()
	want(t, "waiting", rep.Waiting, 6)
	wantList(t, "the newest first", r.published(), "/n3", "/n2", "/n1", "/n0")
	r.run()
	want(t, "waiting", r.run().Waiting, 0)
	got := r.published()
	slices.Sort(got)
	wantList(t, "published", got, all...)
}

// TestNoPages: without page fetches, titles come from the URL.
func TestNoPages(t *testing.T) {
	r := started(t, 1)
	r.site.FetchTitles = false
	r.web.add("/blog/the-new_one.html", r.now)
	r.listAll()
	want(t, "page fetches", r.run().PageFetches, 0)
	want(t, "title", r.window()[0].Title, "the new one")
}

// TestReset: after a reset, the next run is a first run.
func TestReset(t *testing.T) {
	r := started(t, 2)
	r.web.add("/new", r.now)
	r.listAll()
	want(t, "published", r.run().Published, 1)
	if err := r.tracker().Reset(t.Context(), r.site.Name); err != nil {
		t.Fatal(err)
	}
	r.site.Baseline = 3
	want(t, "run after the reset, published", r.run().Published, 3)
	if err := r.tracker().Reset(t.Context(), "nobody"); !errors.Is(err, state.ErrNoSite) {
		t.Errorf("reset of an unknown site: %v", err)
	}
}

// TestCancelled: a run whose context ends releases its lease, and its finished work stays.
func TestCancelled(t *testing.T) {
	r := started(t, 1)
	for i := range 4 {
		r.web.add(fmt.Sprintf("/n%d", i), r.now)
	}
	r.listAll()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r.at = func(at string) {
		if at == "page" {
			if n++; n == 3 {
				cancel()
			}
		}
	}
	if _, err := r.tracker().Run(ctx, r.site); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	r.at, r.every = nil, 0
	r.web.pages()
	rep := r.run() // at once, because the lease is free
	want(t, "published", rep.Published, 2)
	want(t, "published in all", len(r.published()), 4)
	want(t, "page fetches", rep.PageFetches, 2)
	want(t, "the run before", r.stats().Runs[1].Outcome, "failed")
}

// TestResetBeginsWithTheWindow: an interrupted reset must not leave the window without the
// rows. Otherwise the next run would restore the deleted items.
func TestResetBeginsWithTheWindow(t *testing.T) {
	r := started(t, 3)
	window := filepath.Join(track.Folder(r.dir, r.site.Name), "window.json")
	if err := os.Remove(window); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(window, "x"), 0o700); err != nil { // the folder cannot be removed
		t.Fatal(err)
	}
	if err := r.tracker().Reset(t.Context(), r.site.Name); err == nil {
		t.Fatal("a reset that could not remove the window")
	}
	if _, err := r.store().Site(t.Context(), r.site.Name); err != nil {
		t.Errorf("after a reset that ended halfway: %v", err)
	}
}
