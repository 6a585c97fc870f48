package track_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// any returns a random page that ok accepts, or nil.
func (m *model) any(ok func(*fate) bool) *fate {
	all := m.sorted()
	all = slices.DeleteFunc(all, func(f *fate) bool { return !ok(f) })
	if len(all) == 0 {
		return nil
	}
	return all[m.rand.IntN(len(all))]
}

// sorted returns all pages, in the order of their creation.
func (m *model) sorted() []*fate {
	return slices.SortedFunc(maps.Values(m.pages), func(a, b *fate) int { return cmp.Compare(a.born, b.born) })
}

func listed(f *fate) bool { return f.in != "" }

// sitemap returns a random sitemap.
func (m *model) sitemap() string {
	var all []string
	for c := range m.child {
		all = append(all, c)
	}
	slices.Sort(all)
	return all[m.rand.IntN(len(all))]
}

func (m *model) birth() { m.birthIn(m.sitemap()) }

func (m *model) birthIn(in string) {
	if n := 0; m.any(func(f *fate) bool { n += len(f.in); return listed(f) }) != nil && n > 60*6 {
		m.unlist()
	}
	m.born++
	f := &fate{path: fmt.Sprintf("/p%d", m.born), born: m.born}
	m.pages[f.path] = f
	m.web.add(f.path, m.now.Add(-time.Duration(m.rand.IntN(100))*time.Hour))
	m.put(f, in)
	m.note("born %s in %s", f.path, in)
}

// turnSitemaps adds a sitemap to the index, and removes one when there are many.
func (m *model) turnSitemaps() {
	if len(m.child) >= 5 {
		at := m.sitemap()
		for _, f := range m.pages {
			if f.in == at {
				m.remove(f)
			}
		}
		delete(m.child, at)
		delete(m.web.files, at)
		m.note("no more %s", at)
	}
	name := fmt.Sprintf("/%d.xml", m.born)
	m.child[name] = nil
	m.note("sitemap %s", name)
	m.birthIn(name)
}

func (m *model) put(f *fate, in string) {
	f.in = in
	m.child[in] = append(m.child[in], f.path)
}

// unlist removes a page from its sitemap.
func (m *model) unlist() {
	if f := m.any(listed); f != nil {
		m.child[f.in] = slices.DeleteFunc(m.child[f.in], func(p string) bool { return p == f.path })
		m.remove(f)
		m.note("unlist %s", f.path)
	}
}

// remove removes a page from the site. If it was put back after an earlier removal, and no
// run has seen it since, it was away all the time.
func (m *model) remove(f *fate) {
	if f.in = ""; f.out.IsZero() {
		f.out = m.now
	}
}

// relist puts a page back into any sitemap, unless its tombstone, which lasts three years,
// may be deleted before the next run.
func (m *model) relist() {
	if f := m.any(func(f *fate) bool { return !listed(f) && m.now.Sub(f.out) < 2*365*24*time.Hour }); f != nil {
		m.put(f, m.sitemap())
		m.note("relist %s in %s", f.path, f.in)
	}
}

// change changes the lastmod of a page, with or without its text. Every other time it takes
// one of the newest pages, because they matter most.
func (m *model) change(really bool) {
	youngest := m.born
	if m.rand.IntN(2) == 0 {
		youngest = 3
	}
	f := m.any(func(f *fate) bool { return listed(f) && f.born > m.born-youngest })
	if f == nil {
		return
	}
	p := m.web.posts[f.path]
	if p.lastMod = p.lastMod.Add(time.Minute); p.lastMod.Before(m.now) {
		p.lastMod = m.now
	}
	f.changed, f.dead = true, f.dead && p.fail != nil
	if really {
		p.text = fmt.Sprintf("text %d", m.rand.Uint64())
	}
	m.note("change %s, really %v", f.path, really)
}

var errMissing error = &fetch.StatusError{Code: 404}

func (m *model) breakPage() {
	if f := m.any(listed); f != nil {
		err := []error{errDown, errMissing, &fetch.Error{Kind: fetch.ErrTimeout}}[m.rand.IntN(3)]
		f.failed, f.dead = true, f.dead || errors.Is(err, errMissing)
		m.web.posts[f.path].fail = err
		m.note("break %s: %v", f.path, err)
	}
}

func (m *model) repairPage() {
	if f := m.any(func(f *fate) bool { return m.web.posts[f.path].fail != nil }); f != nil {
		m.web.posts[f.path].fail = nil
		m.note("repair %s", f.path)
	}
}

// breakSitemap makes a sitemap unreadable in one of several ways. publishSite applies the damage.
func (m *model) breakSitemap() {
	at := m.sitemap()
	if m.rand.IntN(4) == 0 {
		at = "/sitemap.xml"
	}
	m.web.fail[at] = []error{errDown, errHTML, errCut}[m.rand.IntN(3)]
	m.note("break %s: %v", at, m.web.fail[at])
}

var (
	errHTML = errors.New("HTML")
	errCut  = errors.New("cut")
)

// publishSite writes the current sitemaps.
func (m *model) publishSite() {
	var children []string
	for c, paths := range m.child {
		m.web.list(c, paths...)
		children = append(children, c)
	}
	slices.Sort(children)
	m.web.index("/sitemap.xml", time.Time{}, children...)
}

// damaged applies, for one run, the damage that is not a connection error.
func (m *model) damaged(run func()) {
	kept := map[string]error{}
	for at, err := range m.web.fail {
		kept[at] = err
		switch {
		case errors.Is(err, errHTML):
			m.web.files[at] = "<html>"
			delete(m.web.fail, at)
		case errors.Is(err, errCut):
			m.web.files[at] = m.web.files[at][:len(m.web.files[at])/2]
			delete(m.web.fail, at)
		}
	}
	run()
	maps.Copy(m.web.fail, kept)
}
