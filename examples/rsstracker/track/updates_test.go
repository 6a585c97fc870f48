package track_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// TestUpdates is S-E6: with lastmod stored, changes are detected, and the content decides.
func TestUpdates(t *testing.T) {
	r := started(t, 10)
	r.site.Updates = true
	p := r.web.add("/new", r.now)
	r.listAll()
	r.run()
	first := r.window()[0]
	want(t, "request", r.web.page, track.PageRequest{URL: home + "/new", LastMod: p.lastMod})

	p.lastMod, p.text = r.now.Add(time.Minute), "better"
	r.listAll()
	rep := r.run()
	want(t, "request", r.web.page, track.PageRequest{URL: home + "/new", LastMod: p.lastMod, Fresh: true})
	want(t, "changed", rep.Changed, 1)
	want(t, "updated", rep.Updated, 1)
	want(t, "published", rep.Published, 0)
	now := r.window()[0]
	want(t, "text", now.Description, "better")
	want(t, "guid", now.GUID, first.GUID)
	want(t, "date", now.Date, first.Date)
	want(t, "published at", now.Published, first.Published)
	want(t, "updated at", now.Updated, r.now)

	p.lastMod = r.now.Add(time.Minute) // only the date changes
	r.listAll()
	before := r.file("rss.xml")
	rep = r.run()
	want(t, "unchanged", rep.Unchanged, 1)
	want(t, "updated", rep.Updated, 0)
	want(t, "the feed", r.file("rss.xml"), before)
}

// TestChangeAfterACrash ends a run at each of its points. The page of that run, new or
// changed, changes again before the next run. The feed ends with the last text, even if the
// text before it had been fetched but not published.
func TestChangeAfterACrash(t *testing.T) {
	begun := func(t *testing.T) (*rig, *post) {
		r := started(t, 1)
		r.site.Updates = true
		p := r.web.add("/new", r.now)
		r.listAll()
		return r, p
	}
	change := func(r *rig, p *post, text string) {
		p.lastMod, p.text = r.now.Add(time.Second), text
		r.listAll()
	}
	var all []string
	r, _ := begun(t)
	r.at = func(at string) { all = append(all, at) }
	r.run()
	seen := map[string]int{}
	for _, at := range all {
		seen[at]++
		n := seen[at]
		t.Run(fmt.Sprintf("%s %d", at, n), func(t *testing.T) {
			t.Parallel()
			r, p := begun(t)
			r.dieAt(at, n)
			for _, text := range []string{"second", "third"} {
				change(r, p, text)
				r.run()
				r.run()
				wantList(t, "published", r.published(), "/new")
				want(t, "text", r.window()[0].Description, text)
			}
			change(r, p, "fourth")
			r.dieAt(at, n)
			change(r, p, "fifth")
			r.run()
			r.run()
			wantList(t, "published", r.published(), "/new")
			want(t, "text", r.window()[0].Description, "fifth")
		})
	}
}

// TestUpdatesAreOptIn: without the option, dates are recorded, but no page is fetched again.
func TestUpdatesAreOptIn(t *testing.T) {
	r := started(t, 3)
	r.web.posts["/0"].lastMod = r.now
	r.listAll()
	rep := r.run()
	want(t, "page fetches", rep.PageFetches, 0)
	r.site.Updates = true
	want(t, "page fetches once it is on", r.run().PageFetches, 0)
}

// TestOldPagesAreLearnedFirst: the content of an old page is unknown before its first new
// lastmod, and most of these do not change the content.
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

// TestChurnGuard: a build with new lastmods for all pages publishes nothing, and costs no fetch.
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
	for i := range 20 { // a fifth: so few that the changes may be real
		r.web.posts[fmt.Sprintf("/%d", i)].lastMod = r.now
	}
	r.listAll()
	want(t, "changed", r.run().Changed, 20)
}

// TestStampedPagesAreLookedAtRarely: a page whose lastmod changes at every build costs less
// and less, and its real change is still detected.
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

// TestFutureDates: a constant future date is not a change at each run.
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
