package track_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// died is the panic of a killed process.
type died struct{}

// dieAt ends the run at the n-th point of that name, as if the process was killed.
func (r *rig) dieAt(point string, n int) {
	r.t.Helper()
	r.at = func(at string) {
		if at == point {
			if n--; n == 0 {
				panic(died{})
			}
		}
	}
	defer func() {
		r.at = nil
		r.now = r.now.Add(10 * time.Minute) // after the lease of the killed run
		if v := recover(); v != (died{}) {
			r.t.Fatalf("the run did not die at %s: %v", point, v)
		}
	}()
	r.run()
}

// pendingSurvivesACrash is S-E1.
func pendingSurvivesACrash(t *testing.T) {
	r := started(t, 3)
	r.web.add("/new", r.now)
	r.listAll()
	r.dieAt("process", 1) // the page is recorded, and nothing else is done
	rep := r.run()
	want(t, "new", rep.New, 0)
	want(t, "pending", rep.Pending, 1)
	wantList(t, "published", r.published(), "/new")
	want(t, "the dead run is", r.stats().Runs[1].Outcome, "died")
}

// baselineRecordsAll is S-E2 and S-E9: the newest are selected after sorting.
func baselineRecordsAll(t *testing.T) {
	r := newRig(t)
	r.site.Baseline = 3
	for i := range 30 {
		r.web.add(fmt.Sprintf("/%02d", i), epoch.Add(-time.Duration(i*7%30)*time.Hour))
	}
	r.web.add("/undated", time.Time{})
	r.web.add("/future", epoch.AddDate(50, 0, 0))
	r.listAll()
	rep := r.run()
	want(t, "new", rep.New, 3)
	want(t, "silent", rep.Silent, 29)
	want(t, "page fetches", rep.PageFetches, 3)
	// A future date counts as now, so the page is first, and dated now. Multiples of 7
	// modulo 30 that are 0 and 1: posts 0 and 13.
	wantList(t, "published", r.published(), "/13", "/00", "/future")
	if date := r.window()[0].Date; date.After(r.now) {
		t.Errorf("a page of %v", date)
	}
	rep = r.run()
	want(t, "second run, new", rep.New, 0)
	want(t, "second run, fetches", rep.Fetches(), 1)
	want(t, "second run, published", rep.Published, 0)
}

// nothingNewFetchesNothing: without changes no page is fetched, and each sitemap is a 304.
func nothingNewFetchesNothing(t *testing.T) {
	r := newRig(t)
	r.web.add("/a", epoch)
	r.web.index("/sitemap.xml", epoch.Add(-time.Hour), "/one.xml", "/two.xml")
	r.web.list("/one.xml", "/a")
	r.web.list("/two.xml", "/b")
	r.web.add("/b", epoch)
	r.run()
	before := r.file("rss.xml")
	r.web.pages()
	rep := r.run()
	want(t, "page fetches", rep.PageFetches, 0)
	want(t, "sitemap fetches", rep.SitemapFetches, 3)
	want(t, "not modified", rep.NotModified, 3)
	want(t, "fetches saved", rep.Saved, 3+2-3)
	want(t, "feed written", rep.FeedWritten, false)
	want(t, "the feed", r.file("rss.xml"), before)
}

// windowSlides is S-E7: the feed has the last N items, not only those of the last run.
func windowSlides(t *testing.T) {
	r := started(t, 3)
	r.site.Window = 4
	for i := range 6 {
		r.web.add(fmt.Sprintf("/n%d", i), r.now)
		r.listAll()
		r.run()
		r.run() // no new items, and none leaves
		if n := strings.Count(r.file("rss.xml"), "<item>"); n != min(i+1, 4) {
			t.Errorf("after %d posts the feed has %d items", i+1, n)
		}
	}
	// A page that is found late has an old date, but is in the feed.
	r.web.add("/late", epoch.AddDate(-10, 0, 0))
	r.listAll()
	r.run()
	rss := r.file("rss.xml")
	if !strings.Contains(rss, "/late") || strings.Contains(rss, "/n2<") || !strings.Contains(rss, "/n3<") {
		t.Errorf("the window is\n%s", rss)
	}
}

// TestSitemapURLStays is S-E8.
func TestSitemapURLStays(t *testing.T) {
	r := started(t, 1)
	s := r.store()
	l, err := s.Begin(t.Context(), state.Start{Site: r.site.Name, TTL: time.Minute, Now: r.now})
	if err != nil || l.Site.SitemapURL != home+"/sitemap.xml" {
		t.Errorf("the URL is %q, %v", l.Site.SitemapURL, err)
	}
	if _, err := s.Begin(t.Context(), state.Start{Site: "other", TTL: time.Minute, Now: r.now}); !errors.Is(err, state.ErrNoSite) {
		t.Errorf("a site without a URL: %v", err)
	}
}

// failedPagesBackOff is S-E11.
func failedPagesBackOff(t *testing.T) {
	r := started(t, 3)
	r.every = 6 * time.Hour
	cases := map[string]struct {
		err         error
		least, most int // fetches in ten days
		givenUp     bool
	}{
		"/404":     {&fetch.StatusError{Code: 404}, 3, 3, true},
		"/503":     {errDown, 12, 20, false},
		"/410":     {&fetch.StatusError{Code: 410}, 1, 1, true},
		"/timeout": {&fetch.Error{Kind: fetch.ErrTimeout}, 12, 20, false},
		"/403":     {&fetch.StatusError{Code: 403}, 3, 3, true},
		"/later":   {&fetch.StatusError{Code: 429, RetryAfter: 72 * time.Hour}, 3, 4, false},
		"/robots":  {&fetch.Error{Kind: fetch.ErrRobots}, 3, 3, true},
		"/other":   {errors.New("something else"), 10, 10, true},
	}
	for path, c := range cases {
		r.web.add(path, r.now).fail = c.err
	}
	r.listAll()
	for range 40 {
		r.run()
	}
	fetches, givenUp := map[string]int{}, 0
	for _, p := range r.web.pages() {
		fetches[p]++
	}
	for path, c := range cases {
		if n := fetches[path]; n < c.least || n > c.most {
			t.Errorf("%s: %d fetches in ten days, want %d to %d", path, n, c.least, c.most)
		}
		if c.givenUp {
			givenUp++
		}
	}
	want(t, "given up", r.stats().Pages.GivenUp, givenUp)
	want(t, "failed", r.stats().Pages.Failed, len(cases))
	// They are repaired and get new dates, so they are published.
	for path := range cases {
		p := r.web.posts[path]
		p.fail, p.lastMod = nil, r.now
	}
	r.listAll()
	for range 10 {
		r.run()
	}
	want(t, "published", len(r.published()), len(cases))
}

// siteThatGoesDownCostsFewAttempts: when several pages in a row fail as if the site was
// down, the others stay pending, and do not count as failed.
func siteThatGoesDownCostsFewAttempts(t *testing.T) {
	r := started(t, 3)
	for i := range 20 {
		r.web.add(fmt.Sprintf("/n%02d", i), r.now).fail = errDown
	}
	r.listAll()
	rep := r.run()
	want(t, "failed", rep.Failed, 3)
	want(t, "waiting", rep.Waiting, 17)
	for _, p := range r.web.posts {
		p.fail = nil
	}
	rep = r.run()
	want(t, "pending", rep.Pending, 20)
	want(t, "published", rep.Published, 20)
}

// lease is S-E13.
func lease(t *testing.T) {
	r := started(t, 3)
	other := r.tracker()
	var second error
	r.web.add("/new", r.now)
	r.listAll()
	r.at = func(at string) {
		if at == "process" {
			r.at = nil
			_, second = other.Run(t.Context(), r.site)
		}
	}
	want(t, "published", r.run().Published, 1)
	if !errors.Is(second, state.ErrLeased) {
		t.Errorf("a second run: %v, want ErrLeased", second)
	}

	// A run that is so late that another one has started changes nothing more.
	r.web.add("/newer", r.now)
	r.listAll()
	r.at = func(at string) {
		if at == "got" {
			r.at = nil
			r.now = r.now.Add(10 * time.Minute)
			if _, err := other.Run(t.Context(), r.site); err != nil {
				t.Errorf("a run after the lease: %v", err)
			}
		}
	}
	r.now = r.now.Add(time.Hour)
	if _, err := r.tracker().Run(t.Context(), r.site); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("the late run: %v, want ErrLeaseLost", err)
	}
	wantList(t, "published", r.published(), "/new", "/newer")
}
