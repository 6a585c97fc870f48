package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// ErrPromise means that a figure which was promised was not reached.
var ErrPromise = errors.New("demo: a promise was not kept")

// act is one run and what happens before it.
type act struct {
	what    string
	happen  func(w *world) error
	dies    string // the point at which the process is killed
	measure bool   // by how much full mode would have done
	check   func(w *world, r track.Report) error
}

// last is the sitemap that grows.
const last = "/sitemap-5.xml"

// acts are the ten runs.
var acts = []act{
	{what: "first run: 500 pages are recorded", happen: begin,
		check: expect("10 published, 490 old", func(r track.Report) bool { return r.Published == 10 && r.Silent == 490 })},
	{what: "1 % new", happen: grow(5), measure: true,
		check: expect("5 published", func(r track.Report) bool { return r.Published == 5 && r.PageFetches == 5 })},
	{what: "nothing new", happen: grow(0), check: nothing},
	{what: "1 % new, one rewritten, one stamped", happen: rewrite, measure: true,
		check: expect("5 published, 1 updated, 1 unchanged", func(r track.Report) bool { return r.Published == 5 && r.Updated == 1 && r.Unchanged == 1 })},
	{what: "breaks: a sitemap down, one is HTML, pages 503 and 404", happen: breakDown,
		check: expect("1 published, 2 failed, none gone", func(r track.Report) bool {
			return r.Published == 1 && r.Failed == 2 && r.Gone == 0 && len(r.Faults) == 2
		})},
	{what: "recovers", happen: repair,
		check: expect("2 pending, 2 published", func(r track.Report) bool { return r.Pending == 2 && r.Published == 2 && r.Back == 0 && r.New == 0 })},
	{what: "1 % new, and the process is killed", happen: grow(5), dies: "publish"},
	{what: "goes on; a build has stamped all pages", happen: stamp,
		check: expect("5 published, 518 stamps ignored, no page fetched", func(r track.Report) bool { return r.Published == 5 && r.Churned == 518 && r.PageFetches == 0 })},
	{what: "the database is destroyed", happen: destroy,
		check: expect("28 items taken over, none published, no feed changed", func(r track.Report) bool {
			return r.Rebuilt && r.Restored == 28 && r.Published == 0 && r.FeedsWritten == 0
		})},
	{what: "1 % new", happen: grow(5), measure: true,
		check: expect("5 published", func(r track.Report) bool { return r.Published == 5 && r.New == 5 })},
}

// expect checks a report.
func expect(what string, ok func(track.Report) bool) func(*world, track.Report) error {
	return func(_ *world, r track.Report) error {
		if !ok(r) {
			return fmt.Errorf("%w: expected %s; the report is %+v", ErrPromise, what, r)
		}
		return nil
	}
}

// nothing is the promise for a run without news: no page is fetched, no file written.
func nothing(_ *world, r track.Report) error {
	if r.PageFetches != 0 || r.FeedsWritten != 0 || r.SitemapFetches != 1 {
		return fmt.Errorf("%w: with nothing new, %d pages and %d sitemaps were fetched, %d feeds written", ErrPromise, r.PageFetches, r.SitemapFetches, r.FeedsWritten)
	}
	return nil
}

func begin(w *world) error {
	for i := range 5 {
		w.site.add(100, fmt.Sprintf("/sitemap-%d.xml", i+1), w.now.AddDate(0, 0, 7*(i-6)))
	}
	return nil
}

func grow(n int) func(*world) error {
	return func(w *world) error {
		w.site.add(n, last, w.now.Add(-time.Hour))
		return nil
	}
}

// rewrite changes a post that was published, and the date alone of another.
func rewrite(w *world) error {
	w.site.do(func() {
		rewritten, stamped := w.site.posts[501], w.site.posts[502]
		rewritten.text = "All of it is new. " + rewritten.text
		rewritten.modified, stamped.modified = w.now.Add(-time.Hour), w.now.Add(-time.Hour)
	})
	return grow(5)(w)
}

func breakDown(w *world) error {
	w.site.add(3, last, w.now.Add(-time.Hour))
	w.site.do(func() {
		n := len(w.site.posts)
		w.site.posts[n-1].status, w.site.posts[n-2].status = http.StatusServiceUnavailable, http.StatusNotFound
		w.site.posts[0].modified = w.now.Add(-time.Hour) // so that their sitemaps are asked for
		w.site.posts[100].modified = w.now.Add(-time.Hour)
		w.site.broken["/sitemap-1.xml"] = func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "down", http.StatusServiceUnavailable) }
		w.site.broken["/sitemap-2.xml"] = func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(rw, "<!doctype html><title>Sorry</title>")
		}
	})
	return nil
}

func repair(w *world) error {
	w.site.do(func() {
		clear(w.site.broken)
		for _, p := range w.site.posts {
			p.status = 0
		}
	})
	return nil
}

// stamp is a build of the site that dates every page anew.
func stamp(w *world) error {
	w.site.do(func() {
		for _, p := range w.site.posts {
			p.modified = w.now.Add(-time.Minute)
		}
	})
	return nil
}

// destroy overwrites the database.
func destroy(w *world) error {
	if err := w.keeper.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "rss_incremental.db"), []byte(strings.Repeat("no database ", 1000)), 0o600)
}

// story plays the acts.
func (w *world) story(ctx context.Context) error {
	w.printf("%-3s %-54s %5s %7s %7s %7s %6s %7s %5s %9s\n", "run", "", "new", "changed", "pending", "skipped", "failed", "fetches", "saved", "published")
	var sum comparison
	for i, a := range acts {
		w.now = w.now.Add(2 * time.Hour)
		if err := a.happen(w); err != nil {
			return err
		}
		var cost comparison
		if a.measure {
			if err := w.full(ctx, &cost.full); err != nil {
				return err
			}
		}
		began := time.Now()
		w.site.cost()
		r, dead, err := w.run(ctx, a.dies)
		if err != nil {
			return err
		}
		cost.incremental.add(w.site, time.Since(began))
		if dead {
			w.printf("%-3d %-54s killed before it published\n", i+1, a.what)
			continue
		}
		w.printf("%-3d %-54s %5d %7d %7d %7d %6d %7d %5d %9d\n", i+1, a.what, r.New, r.Changed, r.Pending, r.Skipped, r.Failed, r.Fetches(), r.Saved, r.Published)
		if err := a.check(w, r); err != nil {
			return err
		}
		if a.measure {
			sum.add(cost)
		}
	}
	if err := w.everything(); err != nil {
		return err
	}
	if err := sum.print(w); err != nil {
		return err
	}
	w.printf("\nThe feed: %s\n", filepath.Join(track.Folder(w.dir, "demo"), feed.RSS.File()))
	return nil
}

// full makes a run of full mode beside the other one, with a cache that knows
// nothing, and adds up what it cost.
func (w *world) full(ctx context.Context, c *cost) error {
	n, err := w.newNetwork()
	if err != nil {
		return err
	}
	began := time.Now()
	w.site.cost()
	_, err = w.tracker(n, filepath.Join(w.dir, "full")).Full(ctx, w.tracked())
	c.add(w.site, time.Since(began))
	return errors.Join(err, n.close())
}

// everything checks what has come of it all: every post that is new is in the feed,
// once, in all three formats, and none of the old ones but the first ten.
func (w *world) everything() error {
	for format, link := range map[feed.Format]string{feed.RSS: "<link>%s</link>", feed.Atom: `<link href="%s" rel="alternate">`, feed.JSON: `"url": "%s"`} {
		b, err := os.ReadFile(filepath.Join(track.Folder(w.dir, "demo"), format.File()))
		if err != nil {
			return err
		}
		for i, p := range w.site.posts {
			want := 0
			if i >= 490 { // the newest ten of the first run, and all since
				want = 1
			}
			if n := bytes.Count(b, fmt.Appendf(nil, link, w.site.url+p.path)); n != want {
				return fmt.Errorf("%w: %s has %s %d times, want %d", ErrPromise, format.File(), p.path, n, want)
			}
		}
	}
	return nil
}
