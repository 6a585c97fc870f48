package track_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

const month = 30 * 24 * time.Hour

// TestLeaseOfAWrongClock: the lease of a run that was killed with a fast clock stops no later run.
func TestLeaseOfAWrongClock(t *testing.T) {
	r := started(t, 2)
	r.web.add("/new", r.now)
	r.listAll()
	right := r.now
	r.now = r.now.Add(month)
	r.dieAt("process", 1)
	r.now = right
	wantList(t, "published before", r.published())
	want(t, "outcome", r.run().Outcome, state.OK)
	wantList(t, "published", r.published(), "/new")
}

// TestLiveLeaseIsRenewedByTheRightClock sets the clock back during a run. The next step
// renews the lease with the right time.
func TestLiveLeaseIsRenewedByTheRightClock(t *testing.T) {
	r := started(t, 2)
	right := r.now
	r.now = r.now.Add(month)
	r.at = func(at string) {
		if r.now = right; at == "render" {
			if _, err := r.tracker().Run(t.Context(), r.site); !errors.Is(err, state.ErrLeased) {
				t.Errorf("a second run: %v, want ErrLeased", err)
			}
		}
	}
	r.run()
}

// TestRetriesOfAWrongClock: a page that failed while the clock was ahead is retried as soon
// as the clock is right, and the database is checked again.
func TestRetriesOfAWrongClock(t *testing.T) {
	r := started(t, 2)
	r.site.Updates = true
	p := r.web.add("/bad", r.now)
	p.fail = &fetch.StatusError{Code: 503}
	r.listAll()
	right := r.now
	r.now = r.now.Add(month)
	want(t, "failed", r.run().Failed, 1)
	r.now, p.fail = right, nil
	want(t, "published", r.run().Published, 1)
	site, err := r.store().Site(t.Context(), r.site.Name)
	if err != nil || site.LastCleanup.After(r.now) {
		t.Errorf("the database was checked at %v, and now is %v; %v", site.LastCleanup, r.now, err)
	}

	// The same for a page whose lastmod changed without its content while the clock was ahead.
	p.lastMod = r.now
	r.listAll()
	right, r.now = r.now, r.now.Add(month)
	want(t, "unchanged", r.run().Unchanged, 1)
	r.now = right
	p.lastMod, p.text = r.now.Add(time.Minute), "changed"
	r.listAll()
	want(t, "updated", r.run().Updated, 1)
}

// TestFailedFirstRunPublishesNothing: without a baseline there is no feed. An empty one
// would tell readers that the site has no pages.
func TestFailedFirstRunPublishesNothing(t *testing.T) {
	r := newRig(t)
	r.web.add("/a", epoch)
	r.listAll()
	r.web.fail["/sitemap.xml"] = errDown
	for range 2 {
		rep := r.run()
		want(t, "outcome", rep.Outcome, state.Failed)
		want(t, "feed written", rep.FeedWritten, false)
		for _, f := range []string{"rss.xml", "window.json"} {
			want(t, f, r.file(f), "")
		}
	}
	clear(r.web.fail)
	want(t, "published", r.run().Published, 1)
	want(t, "there is a feed", r.file("rss.xml") != "", true)
}
