package track_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// listedPagesAreNeverForgotten is the first half of S-E3.
func listedPagesAreNeverForgotten(t *testing.T) {
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

// forgottenPagesLeaveATombstone is the second half.
func forgottenPagesLeaveATombstone(t *testing.T) {
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
