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

// model is a site at which anything may happen, a tracker that may die at any point,
// and a reader who polls the feed. What should have been published follows from what
// the site listed and from nothing that the tracker says.
type model struct {
	*rig
	ctx   context.Context //nolint:containedctx // that of the test, which nothing waits for: a million steps are a third faster
	rand  *rand.Rand
	born  int
	pages map[string]*fate // of every page there ever was
	child map[string][]string
	seen  map[string]entry // by the reader, by guid
	inNow map[string]bool  // in the feed at the last poll
	feed  string           // at the last poll
	dead  time.Time        // until when a run that died has the lease
	trace []string         // the last steps
}

// fate is what the oracle knows of a page.
type fate struct {
	path    string
	born    int       // its number
	in      string    // the sitemap that lists it, "" if none does
	out     time.Time // since when none may have, as far as the tracker knows; zero: it is listed
	old     bool      // it was there at the baseline: only a change may publish it
	failed  bool      // at some time: then it may be late
	dead    bool      // so that it may have been given up, and has not changed since
	changed bool      // ever: an old page may be published then
}

// entry is what a reader remembers of an item.
type entry struct{ guid, link, date string }

// TestModel runs the random model. With -steps=1000000 it takes one to two hours on a
// quiet machine; -seed repeats one.
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

// step does one thing.
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

// whole makes a run that nobody disturbs, and holds it against the oracle.
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

// crash makes a run that dies at a random point.
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

// poll is the reader: it must never see an item change its identity, nor one come
// back that had left.
func (m *model) poll() {
	text := m.file("rss.xml")
	if text == m.feed { // also while there is none
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

// quiesce repairs the site and lets the tracker come to rest. Then every page that is
// listed and new must have been published, and say what it says now.
func (m *model) quiesce() {
	clear(m.web.fail)
	for p := range m.web.posts {
		m.web.posts[p].fail = nil
	}
	m.publishSite()
	for range 20 { // what waits for its turn, for its retry, or to be looked at again
		m.now = m.now.AddDate(0, 0, 5)
		m.whole()
	}
	for _, f := range m.sorted() { // what was given up is stamped, a few at a time
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
	for _, f := range m.sorted() { // the dice are thrown in an order that -seed repeats
		p := f.path
		if listed(f) && !f.old && !m.has(f) {
			m.t.Errorf("%s was never published", p)
		}
		if !listed(f) && !m.inNow[home+p] && m.rand.IntN(4) > 0 { // most are never heard of again, or a million steps would not end
			delete(m.pages, p)
			delete(m.web.posts, p)
		}
	}
	m.note("quiet")
}
