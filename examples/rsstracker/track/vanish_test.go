package track_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// TestListedPagesAreNeverForgotten is the first half of S-E3.
func TestListedPagesAreNeverForgotten(t *testing.T) {
	r := started(t, 100)
	r.now = r.now.AddDate(0, 6, 0)
	rep := r.run()
	want(t, "forgotten", rep.Pruned, 0)
	want(t, "done", r.stats().Pages.Done, 100)
	r.now = r.now.AddDate(0, 6, 0)
	rep = r.run()
	want(t, "new", rep.New, 0)
	want(t, "published", rep.Published, 0)
}

// TestForgottenPagesLeaveATombstone is the second half.
func TestForgottenPagesLeaveATombstone(t *testing.T) {
	r := started(t, 5)
	r.web.list("/sitemap.xml", "/0", "/1", "/2", "/3")
	want(t, "gone", r.run().Gone, 1)
	r.now = r.now.AddDate(0, 0, 29)
	want(t, "forgotten after 29 days", r.run().Pruned, 0)
	r.now = r.now.AddDate(0, 0, 2)
	want(t, "forgotten after 31 days", r.run().Pruned, 1)
	want(t, "tombstones", r.stats().Tombstones, 1)
	r.listAll()
	rep := r.run()
	want(t, "new", rep.New, 0)
	want(t, "silent", rep.Silent, 1)
	want(t, "tombstones after it is back", r.stats().Tombstones, 0)
	wantList(t, "published", r.published())
}

// TestChangeOfAForgottenPage: a published page was gone for so long that its row was
// deleted. When it comes back, its tombstone shows whether it has changed.
func TestChangeOfAForgottenPage(t *testing.T) {
	r := started(t, 3)
	r.site.Updates = true
	p := r.web.add("/new", r.now)
	r.listAll()
	r.run()
	away := func() {
		r.web.list("/sitemap.xml", "/0", "/1", "/2")
		r.run()
		r.now = r.now.AddDate(0, 0, 31)
		want(t, "forgotten", r.run().Pruned, 1)
		r.web.pages()
	}
	away()
	r.listAll()
	want(t, "silent", r.run().Silent, 1)
	wantList(t, "fetched of one that did not change", r.web.pages())
	away()
	p.lastMod, p.text = r.now, "changed while it was away"
	r.listAll()
	want(t, "updated", r.run().Updated, 1)
	want(t, "text", r.window()[0].Description, p.text)
	p.lastMod, p.text = r.now, "changed since"
	r.listAll()
	want(t, "updated", r.run().Updated, 1)
	want(t, "text", r.window()[0].Description, p.text)

	p.lastMod, p.text, p.fail = r.now, "never fetched", errDown // gone before it was repaired
	r.listAll()
	want(t, "failed", r.run().Failed, 1)
	away()
	p.fail = nil
	r.listAll()
	want(t, "updated", r.run().Updated, 1)
	want(t, "text", r.window()[0].Description, p.text)
	wantList(t, "published", r.published(), "/new")
}

// TestChangeOfAForgottenOldPage: the content hash of an unpublished page outlives its row too.
func TestChangeOfAForgottenOldPage(t *testing.T) {
	r := started(t, 3)
	r.site.Updates = true
	p := r.web.posts["/2"]
	p.lastMod = r.now
	r.listAll()
	want(t, "learned", r.run().Learned, 1)
	r.web.list("/sitemap.xml", "/0", "/1")
	r.run()
	r.now = r.now.AddDate(0, 0, 31)
	want(t, "forgotten", r.run().Pruned, 1)
	p.lastMod, p.text = r.now, "changed while it was away"
	r.listAll()
	want(t, "published", r.run().Published, 1)
	want(t, "text", r.window()[0].Description, p.text)
}

// TestBackIsNotNew is S-E4.
func TestBackIsNotNew(t *testing.T) {
	r := started(t, 3)
	r.web.add("/new", r.now)
	r.listAll()
	r.run()
	for range 3 {
		r.web.list("/sitemap.xml", "/0", "/1")
		want(t, "gone", r.run().Gone, 2)
		r.listAll()
		rep := r.run()
		want(t, "back", rep.Back, 2)
		want(t, "new", rep.New, 0)
		want(t, "gone in the state", r.stats().Pages.Gone, 0)
		want(t, "run after that, back", r.run().Back, 0)
	}
	wantList(t, "published", r.published(), "/new")
}

// TestFaultsMakeNothingVanish is S-E5.
func TestFaultsMakeNothingVanish(t *testing.T) {
	for name, breakIt := range map[string]func(w *web){
		"down":               func(w *web) { w.fail["/b.xml"] = errDown },
		"not there":          func(w *web) { delete(w.files, "/b.xml") },
		"an HTML page":       func(w *web) { w.files["/b.xml"] = "<!doctype html><html>Sorry" },
		"empty":              func(w *web) { w.files["/b.xml"] = "" },
		"cut off":            func(w *web) { w.files["/b.xml"] = "<urlset><url><loc>https://example.com/b1</loc></url><url><lo" },
		"the index down":     func(w *web) { w.fail["/sitemap.xml"] = errDown },
		"the index HTML":     func(w *web) { w.files["/sitemap.xml"] = "<html>" },
		"a page moves to it": func(w *web) { w.fail["/b.xml"] = errDown; w.list("/a.xml") },
		"the index broken":   func(w *web) { w.files["/sitemap.xml"] = w.files["/sitemap.xml"][:120] },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.site.Baseline = 0
			index := func() {
				r.web.index("/sitemap.xml", time.Time{}, "/a.xml", "/b.xml")
				r.web.list("/b.xml", "/b1", "/b2")
			}
			for _, p := range []string{"/a1", "/b1", "/b2"} {
				r.web.add(p, epoch)
			}
			r.web.list("/a.xml", "/a1")
			index()
			r.run()
			breakIt(r.web)
			rep := r.run()
			want(t, "gone", rep.Gone, 0)
			if rep.Outcome == state.OK || len(rep.Faults) == 0 {
				t.Errorf("outcome %s, faults %q", rep.Outcome, rep.Faults)
			}
			clear(r.web.fail)
			r.web.list("/a.xml", "/a1")
			index()
			rep = r.run()
			want(t, "after the repair, new", rep.New, 0)
			want(t, "after the repair, back", rep.Back, 0)
			want(t, "outcome", rep.Outcome, state.OK)
			// The first complete run detects a page that is really gone.
			r.web.list("/b.xml", "/b1")
			want(t, "really gone", r.run().Gone, 1)
		})
	}
}

// TestPartialSitemapStillBringsNews: the readable part of a truncated sitemap counts.
func TestPartialSitemapStillBringsNews(t *testing.T) {
	r := started(t, 3)
	r.web.add("/new", r.now)
	r.web.files["/sitemap.xml"] = "<urlset><url><loc>https://example.com/new</loc></url><url><loc>https://exa"
	rep := r.run()
	want(t, "outcome", rep.Outcome, state.Partial)
	want(t, "gone", rep.Gone, 0)
	wantList(t, "published", r.published(), "/new")
}

// TestMassVanishGuard is the other half of S-E5: a complete sitemap that has shrunk.
func TestMassVanishGuard(t *testing.T) {
	r := started(t, 40)
	r.web.files["/sitemap.xml"] = "<urlset></urlset>"
	for i := range 2 {
		rep := r.run()
		want(t, fmt.Sprintf("run %d, guarded", i), rep.Guarded, 40)
		want(t, fmt.Sprintf("run %d, gone", i), rep.Gone, 0)
	}
	r.listAll()
	want(t, "after the repair, back", r.run().Back, 0)
	// The count starts again, and the third run accepts the loss.
	r.web.files["/sitemap.xml"] = "<urlset></urlset>"
	want(t, "guarded", r.run().Guarded, 40)
	want(t, "guarded", r.run().Guarded, 40)
	want(t, "gone", r.run().Gone, 40)
	r.listAll()
	rep := r.run()
	want(t, "back", rep.Back, 40)
	want(t, "published", rep.Published, 0)
}
