package track_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

var (
	steps = flag.Int("steps", modelSteps, "steps of the random model")
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random model")
)

// model is a site with random changes, a tracker that may be killed at any point, and a
// reader that polls the feed. The expected items follow only from what the site listed, not
// from what the tracker reports.
type model struct {
	*rig
	ctx   context.Context //nolint:containedctx // cannot be cancelled: a million steps are a third faster
	rand  *rand.Rand
	born  int
	pages map[string]*fate // every page that ever existed
	child map[string][]string
	seen  map[string]entry // by the reader, by guid
	inNow map[string]bool  // in the feed at the last poll
	feed  string           // at the last poll
	dead  time.Time        // end of the lease of a killed run
	trace []string         // the last steps
}

// fate is the oracle's state of a page.
type fate struct {
	path    string
	born    int       // its number
	in      string    // the sitemap that lists it; "" if none does
	out     time.Time // since when the tracker may know that it is not listed; zero: it is listed
	old     bool      // part of the baseline: only a change may publish it
	failed  bool      // at least once: then it may be late
	dead    bool      // may have been given up, and has not changed since
	changed bool      // at least once: then an old page may be published
}

// entry is a reader's copy of an item.
type entry struct{ guid, link, date string }

// TestModel runs the random model. -steps=1000000 takes one to two hours. -seed repeats a run.
func TestModel(t *testing.T) {
	t.Logf("-seed=%d -steps=%d", *seed, *steps)
	m := &model{rig: newRig(t), ctx: context.WithoutCancel(t.Context()), rand: rand.New(rand.NewPCG(*seed, 0)), pages: map[string]*fate{}, child: map[string][]string{}, seen: map[string]entry{}}
	m.site.Baseline, m.site.Updates, m.site.MaxPages, m.site.Window, m.site.CleanupDays = 3, true, 6, 50, 90
	m.child["/a.xml"], m.child["/b.xml"] = nil, nil
	for range 12 {
		m.birth()
	}
	m.publishSite()
	m.run()
	m.poll()
	for _, f := range m.pages {
		f.old = !m.inNow[home+f.path]
	}
	for n := range *steps {
		m.step()
		if n%400 == 399 || n == *steps-1 {
			m.quiesce()
		}
		if t.Failed() {
			t.Fatalf("step %d, after %q", n, m.trace)
		}
		if n%100_000 == 99_999 {
			t.Logf("%d steps", n+1)
		}
	}
	t.Logf("%d pages were born, the reader saw %d items", m.born, len(m.seen))
}

func (m *model) note(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
	if len(m.trace) > 40 {
		m.trace = m.trace[1:]
	}
}

// step makes one random change or run.
func (m *model) step() {
	switch n := m.rand.IntN(100); {
	case n < 12:
		m.birth()
	case n < 20:
		m.unlist()
	case n < 25:
		m.relist()
	case n < 31:
		m.change(true)
	case n < 35:
		m.change(false)
	case n < 42:
		m.breakPage()
	case n < 47:
		m.repairPage()
	case n < 53:
		m.breakSitemap()
	case n < 60:
		clear(m.web.fail)
		m.note("sitemaps are repaired")
	case n < 62:
		m.turnSitemaps()
	case n < 72:
		m.pass()
	case n < 86:
		m.whole()
	default:
		m.crash()
	}
	m.publishSite()
}

// pass lets time pass: minutes, days, or a step back.
func (m *model) pass() {
	d := []time.Duration{time.Minute, 20 * time.Minute, 5 * time.Hour, 26 * time.Hour, 35 * 24 * time.Hour, -3 * time.Minute}[m.rand.IntN(6)]
	if m.now = m.now.Add(d); m.now.Before(m.dead) {
		m.now = m.dead
	}
	m.note("%v pass", d)
}

// whole makes an undisturbed run, and compares the result with the oracle.
func (m *model) whole() {
	m.damaged(func() {
		m.now = m.now.Add(10 * time.Minute)
		rep, err := m.tracker().Run(m.ctx, m.site)
		if err != nil {
			m.t.Fatal(err)
		}
		m.note("run: %+v", rep)
		m.poll()
		if rep.Outcome != state.OK || rep.Waiting > 0 {
			return
		}
		for _, f := range m.pages {
			if listed(f) {
				f.out = time.Time{}
			}
			if listed(f) && !f.old && !f.failed && !m.has(f) {
				m.t.Errorf("%s is listed and was not published", f.path)
			}
		}
	})
}

// crash makes a run that is killed at a random point.
func (m *model) crash() {
	n := m.rand.IntN(40)
	m.at = func(string) {
		if n--; n < 0 {
			panic(died{})
		}
	}
	m.note("crash at point %d", n)
	m.damaged(func() {
		defer func() {
			if v := recover(); v != nil && v != (died{}) {
				panic(v)
			}
		}()
		if _, err := m.tracker().Run(m.ctx, m.site); err != nil {
			m.t.Error(err)
		}
	})
	m.at = nil
	m.now = m.now.Add(10 * time.Minute)
	m.dead = m.now
	m.poll()
}

func (m *model) has(f *fate) bool { _, ok := m.seen[home+f.path]; return ok }

// poll is the reader. An item must not change its identity, nor come back after it left the feed.
func (m *model) poll() {
	text := m.file("rss.xml")
	if text == m.feed { // also while there is no feed
		return
	}
	m.feed = text
	f, err := gofeed.NewParser().ParseString(text)
	if err != nil {
		m.t.Errorf("the feed is broken: %v", err)
		return
	}
	now := map[string]bool{}
	for _, i := range f.Items {
		e := entry{guid: i.GUID, link: i.Link, date: i.Published}
		old, known := m.seen[e.guid]
		switch {
		case now[e.guid]:
			m.t.Errorf("%s is in the feed twice", e.guid)
		case known && !m.inNow[e.guid]:
			m.t.Errorf("%s was published twice", e.guid)
		case known && old != e:
			m.t.Errorf("%+v has become %+v", old, e)
		}
		m.seen[e.guid], now[e.guid] = e, true
		if fate := m.pages[e.guid[len(home):]]; fate == nil || fate.old && !fate.changed {
			m.t.Errorf("%s was published and should not have been", e.guid)
		}
	}
	m.inNow = now
}

// quiesce repairs the site and lets the tracker settle. Then every new listed page must
// have been published, with its current text.
func (m *model) quiesce() {
	clear(m.web.fail)
	for p := range m.web.posts {
		m.web.posts[p].fail = nil
	}
	m.publishSite()
	for range 20 { // for pages that wait for their turn, a retry or another check
		m.now = m.now.AddDate(0, 0, 5)
		m.whole()
	}
	for _, f := range m.sorted() { // stamps pages that were given up, a few at a time
		if listed(f) && !f.old && !m.has(f) {
			m.web.posts[f.path].lastMod, f.dead = m.now, false
			m.publishSite()
			m.whole()
		}
	}
	site, err := m.store().Site(m.t.Context(), m.site.Name)
	if err != nil {
		m.t.Fatal(err)
	}
	window, err := m.store().Window(m.t.Context(), site.ID, m.site.Window)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, i := range window {
		p := i.GUID[len(home):]
		if f := m.pages[p]; listed(f) && !f.dead && i.Description != m.web.posts[p].text {
			m.t.Errorf("%s says %q, the page %q", p, i.Description, m.web.posts[p].text)
		}
	}
	for _, f := range m.sorted() { // the order of the random numbers must be the same for a seed
		p := f.path
		if listed(f) && !f.old && !m.has(f) {
			m.t.Errorf("%s was never published", p)
		}
		if !listed(f) && !m.inNow[home+p] && m.rand.IntN(4) > 0 { // most are never listed again, otherwise a million steps would not end
			delete(m.pages, p)
			delete(m.web.posts, p)
		}
	}
	m.note("quiet")
}
