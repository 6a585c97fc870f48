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
