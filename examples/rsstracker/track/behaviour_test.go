package track_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

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
