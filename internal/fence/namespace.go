package fence

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"weak"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
)

// Namespace is what the entries of one tenant in one namespace share. It knows when all of them ended, and
// which prefixes end some of them. It lives as long as an entry or a cache holds it.
type Namespace struct {
	hard   atomic.Uint64          // tick of the last invalidation of all entries, or announced
	newest atomic.Uint64          // tick of the newest cut, or announced
	lost   atomic.Uint64          // the highest tick that left the list of cuts
	cuts   atomic.Pointer[[]cut]  // the newest last
	coming atomic.Pointer[string] // the text of the cut that is announced
	stem   string                 // "tenant:namespace:", with which all keys begin
	stems  []uint64               // the hashes of all its prefixes that end with a colon
	owner  Owner

	past stamp    // of hard; Fences.mu protects it and the next
	gone [2]stamp // the latest hard and the latest soft cut that left the list
}

// Owner finds the entries of a namespace by their keys.
type Owner interface {
	// EndKey ends the entry of the key with that id, if this process holds one: at once, or if fresh is not
	// [Forever], its freshness at that time. It may be called with locks held.
	EndKey(id string, fresh int64)

	// Spells reports whether EndKey finds entries. If not, each entry has a node for its own key.
	Spells() bool
}

// cut is a prefix that ends inside an id, or an Expire of a prefix that covers all entries. It is compared
// with the texts of keys.
type cut struct {
	stamp
	high invalidate.Position // of this cut and of all before it
	text string
	soft bool
}

func (c *cut) equals(o *cut) bool { return c.soft == o.soft && c.text == o.text }

// fewCuts is how long a list is at most in which a cut takes the place of an equal one before it: readers have
// the list, so that is a copy.
const fewCuts = 16

// mostCuts is how many different cuts a namespace remembers at least. An entry that is not read while so many come is
// lost.
var mostCuts = 4096

// Open returns the namespace of a tenant. Every call returns the same, as long as it is in use.
func (f *Fences) Open(tenant, name string, o Owner) *Namespace {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := place{strings.Clone(tenant), strings.Clone(name)}
	if n := f.open[at.tenant][at.name].Value(); n != nil {
		return n
	}
	n := &Namespace{stem: tenant + ":" + name + ":", owner: o, past: f.all[hard]}
	n.cuts.Store(new([]cut))
	expired := f.all[soft]
	for i := range len(n.stem) {
		if n.stem[i] == ':' {
			hash := xxhash.Sum64String(n.stem[:i+1])
			n.stems = append(n.stems, hash)
			// Here a prefix that ends inside the next segment counts as one of everything below the colon.
			n.past, expired = n.past.later(f.last(ofStem, hash, hard)), expired.later(f.last(ofStem, hash, soft))
		}
	}
	n.hard.Store(n.past.tick)
	if expired.tick > 0 {
		n.add(cut{stamp: expired, soft: true})
	}
	if f.open[at.tenant] == nil {
		f.open[at.tenant] = map[string]weak.Pointer[Namespace]{}
	}
	f.open[at.tenant][at.name] = weak.Make(n)
	runtime.AddCleanup(n, f.forget, at)
	f.opened.Add(1)
	return n
}

// place says where a namespace is in Fences.open.
type place struct{ tenant, name string }

// forget removes a namespace that nothing holds any more.
func (f *Fences) forget(at place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of := f.open[at.tenant]; of[at.name].Value() == nil { // otherwise it was opened again
		if delete(of, at.name); len(of) == 0 {
			delete(f.open, at.tenant)
			f.shrink()
		}
	}
}

// shrink moves the tenants into a smaller map when most have left: a map never gives back memory.
func (f *Fences) shrink() {
	if f.left++; f.left < 1000+2*len(f.open) {
		return
	}
	few := make(map[string]map[string]weak.Pointer[Namespace], len(f.open))
	maps.Copy(few, f.open)
	f.open, f.left = few, 0
}

// shorten returns a copy of a full list: of the cuts that are equal it has the last one, and of the others the
// newest mostCuts.
func (n *Namespace) shorten(list []cut) []cut {
	type name struct {
		text string
		soft bool
	}
	last := make(map[name]*cut, mostCuts)
	kept := make([]cut, 0, len(list)) // the newest first
	for _, c := range slices.Backward(list) {
		if same := last[name{c.text, c.soft}]; same != nil {
			same.stamp = same.later(c.stamp)
			continue
		}
		kept = append(kept, c)
		last[name{c.text, c.soft}] = &kept[len(kept)-1]
	}
	if len(kept) > mostCuts {
		// All that leave count: ticks and times rise along the list, positions do not.
		for _, c := range kept[mostCuts:] {
			n.gone[kindOf(c.soft)] = n.gone[kindOf(c.soft)].later(c.stamp)
		}
		n.lost.Store(kept[mostCuts].tick)
		kept = kept[:mostCuts]
	}
	short := make([]cut, 0, 2*mostCuts)
	for _, c := range slices.Backward(kept) {
		short = push(short, c)
	}
	return short
}

// push appends a cut to a list.
func push(list []cut, c cut) []cut {
	c.high = c.pos
	if len(list) > 0 {
		c.high = max(c.high, list[len(list)-1].high)
	}
	return append(list, c)
}

// announceCut tells the entries of a cut that is about to take its tick. Fences.mu is held.
func (n *Namespace) announceCut(text string) {
	n.coming.Store(&text)
	n.newest.Store(announced)
}

// add appends a cut. Fences.mu is held.
func (n *Namespace) add(c cut) {
	list := *n.cuts.Load()
	if last := len(list) - 1; last >= 0 && last < fewCuts && list[last].equals(&c) {
		c.stamp = c.later(list[last].stamp) // the later of two stands for both
		list = list[:last:last]
	}
	if len(list) == 2*mostCuts {
		list = n.shorten(list)
	}
	list = push(list, c) // behind what readers have of the array
	n.cuts.Store(&list)
	n.newest.Store(c.tick)
}

// Quiet reports whether nothing of the namespace came after the ticks of an entry: no invalidation of all
// entries after mark, and no cut after seen. It is what a hit asks.
func (n *Namespace) Quiet(mark, seen uint64) bool {
	return n.hard.Load() <= mark && n.newest.Load() <= seen
}

// compare looks for cuts after the tick seen that cover a key. fresh is when the newest Expire among them
// was applied, or [Forever]. lost says that some of them are forgotten, which counts as covered.
func (n *Namespace) compare(key func() string, seen uint64) (fresh int64, covered, lost bool) {
	newest := n.newest.Load()
	if newest <= seen {
		return Forever, false, false
	}
	text := key()
	if text == "" || newest == announced && strings.HasPrefix(text, *n.coming.Load()) {
		return Forever, true, false
	}
	list := *n.cuts.Load() // after newest: it has at least these
	if n.lost.Load() > seen {
		return Forever, true, true
	}
	fresh = Forever
	for i := len(list) - 1; i >= 0 && list[i].tick > seen; i-- {
		switch c := &list[i]; {
		case !strings.HasPrefix(text, c.text):
		case !c.soft:
			return Forever, true, false
		case fresh == Forever:
			fresh = c.at
		}
	}
	return fresh, false, false
}
