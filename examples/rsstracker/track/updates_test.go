package track_test

import (
	"fmt"
	"testing"
	"time"
)

// TestUpdates is S-E6: with lastmod kept, changes are seen; the content decides.
func TestUpdates(t *testing.T) {
	r := started(t, 10)
	r.site.Updates = true
	p := r.web.add("/new", r.now)
	r.listAll()
	r.run()
	first := r.window()[0]
	r.web.pages()

	p.lastMod, p.text = r.now.Add(time.Minute), "better"
	r.listAll()
	rep := r.run()
	want(t, "changed", rep.Changed, 1)
	want(t, "updated", rep.Updated, 1)
	want(t, "published", rep.Published, 0)
	now := r.window()[0]
	want(t, "text", now.Description, "better")
	want(t, "guid", now.GUID, first.GUID)
	want(t, "date", now.Date, first.Date)
	want(t, "published at", now.PublishedAt, first.PublishedAt)
	want(t, "updated at", now.UpdatedAt, r.now)

	p.lastMod = r.now.Add(time.Minute) // a stamp and nothing else
	r.listAll()
	before := r.file("atom.xml")
	rep = r.run()
	want(t, "unchanged", rep.Unchanged, 1)
	want(t, "updated", rep.Updated, 0)
	want(t, "the feed", r.file("atom.xml"), before)
}

// TestUpdatesAreOptIn: without the option, dates are recorded and nothing is fetched.
func TestUpdatesAreOptIn(t *testing.T) {
	r := started(t, 3)
	r.web.posts["/0"].lastMod = r.now
	r.listAll()
	rep := r.run()
	want(t, "page fetches", rep.PageFetches, 0)
	r.site.Updates = true
	want(t, "page fetches once it is on", r.run().PageFetches, 0)
}

// TestOldPagesAreLearnedFirst: nothing is known of what an old page was before its
// first change, and most such changes are none.
func TestOldPagesAreLearnedFirst(t *testing.T) {
	r := started(t, 3)
	r.site.Updates = true
	p := r.web.posts["/1"]
	p.lastMod = r.now
	r.listAll()
	rep := r.run()
	want(t, "learned", rep.Learned, 1)
	wantList(t, "published", r.published())
	p.lastMod, p.text = r.now, "really new"
	r.listAll()
	want(t, "published", r.run().Published, 1)
	wantList(t, "published", r.published(), "/1")
}

// TestChurnGuard: a build that stamps all pages is no news, and costs no fetch.
func TestChurnGuard(t *testing.T) {
	r := started(t, 100)
	r.site.Updates = true
	for range 3 {
		for _, p := range r.web.posts {
			p.lastMod = r.now
		}
		r.listAll()
		rep := r.run()
		want(t, "churned", rep.Churned, 100)
		want(t, "page fetches", rep.PageFetches, 0)
	}
	for i := range 20 { // a fifth, and so few that they may be real
		r.web.posts[fmt.Sprintf("/%d", i)].lastMod = r.now
	}
	r.listAll()
	want(t, "changed", r.run().Changed, 20)
}

// TestStampedPagesAreLookedAtRarely: a page that is stamped at every build costs less
// and less, and its real change is seen in the end.
func TestStampedPagesAreLookedAtRarely(t *testing.T) {
	r := started(t, 3)
	r.site.Updates = true
	p := r.web.add("/stamped", r.now)
	r.listAll()
	r.run()
	r.web.pages()
	r.every = 4 * time.Hour
	for range 10 {
		p.lastMod = r.now.Add(time.Minute)
		r.listAll()
		r.run()
	}
	if n := len(r.web.pages()); n < 3 || n > 6 {
		t.Errorf("%d fetches in 40 hours, want about log2", n)
	}
	p.text, p.lastMod = "at last", r.now.Add(time.Minute)
	r.listAll()
	for range 12 {
		r.run()
	}
	want(t, "text", r.window()[0].Description, "at last")
}

// TestFutureDates: a date in the future that stays is no change, run after run.
func TestFutureDates(t *testing.T) {
	r := started(t, 3)
	r.site.Updates = true
	r.web.add("/event", epoch.AddDate(5, 0, 0))
	r.listAll()
	want(t, "published", r.run().Published, 1)
	for range 3 {
		rep := r.run()
		want(t, "changed", rep.Changed, 0)
		want(t, "page fetches", rep.PageFetches, 0)
	}
}
