package cachez

import (
	"cmp"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// counted is the numbers of a namespace or tenant: since the start, and since an earlier view.
type counted struct{ all, recent cache.SpaceStats }

// space is a namespace: the sum of its tenants.
type space struct {
	counted
	tenants []counted
}

// spacesOf returns the namespaces and their tenants, those with the most recent reads first.
func spacesOf(now, before *cache.Stats) (spaces []space) {
	type name struct{ namespace, tenant string }
	old := map[name]*cache.SpaceStats{}
	for i := range before.Spaces {
		s := &before.Spaces[i]
		old[name{s.Namespace, s.Tenant}] = s
	}
	for _, s := range now.Spaces { // sorted by namespace
		one := counted{s, s}
		if o := old[name{s.Namespace, s.Tenant}]; o != nil {
			add(&one.recent, o, -1)
		}
		if n := len(spaces); n == 0 || spaces[n-1].all.Namespace != s.Namespace {
			spaces = append(spaces, space{})
		}
		sp := &spaces[len(spaces)-1]
		sp.all.Namespace, sp.recent.Namespace = s.Namespace, s.Namespace
		add(&sp.all, &one.all, 1)
		add(&sp.recent, &one.recent, 1)
		if s != (cache.SpaceStats{Namespace: s.Namespace, Tenant: s.Tenant}) { // the default tenant is there from the start
			sp.tenants = append(sp.tenants, one)
		}
	}
	for _, sp := range spaces {
		slices.SortStableFunc(sp.tenants, byLoad)
	}
	slices.SortStableFunc(spaces, func(a, b space) int { return byLoad(a.counted, b.counted) })
	return spaces
}

func byLoad(a, b counted) int {
	return cmp.Or(cmp.Compare(readsOf(b.recent.Counts), readsOf(a.recent.Counts)), cmp.Compare(readsOf(b.all.Counts), readsOf(a.all.Counts)))
}

// row is the numbers of a namespace, of one of its tenants, or of a format of responses.
type row struct {
	Name     string   `json:"name"`
	Reads    float64  `json:"reads_per_second"`           // or requests
	Loads    *float64 `json:"loads_per_second,omitempty"` // not of responses
	Recent   *float64 `json:"recent_hit_ratio"`           // of the same span as the rates
	HitRatio *float64 `json:"hit_ratio"`                  // since the start
	Counts   numbers  `json:"counts"`                     // since the start
	Tenants  []row    `json:"tenants,omitempty"`          // of a namespace
	Failed   int64    `json:"-"`                          // recent loads
	Refused  string   `json:"-"`                          // recent cells of the remote tier, with the reasons
	Cells    string   `json:"-"`                          // those since the start
	Bar      bar      `json:"-"`                          // how the recent reads or requests were answered
	Keys     string   `json:"-"`                          // the prefix of its keys, if the page can list them
}

func (h *handler) rowOf(name string, n *counted, span time.Duration) row {
	r := n.recent.Reads
	return row{
		Name: name, Reads: rate(readsOf(n.recent.Counts), span), Loads: new(rate(n.recent.Loads.Calls, span)),
		Recent: hitsOf(n.recent.Counts), HitRatio: hitsOf(n.all.Counts), Counts: numbersOf(n.all.Counts),
		Failed: n.recent.Loads.Errors, Refused: cellsOf(n.recent.Cells), Cells: cellsOf(n.all.Cells),
		Bar: barOf(part{"local hits", r.LocalHits}, part{"remote hits", r.RemoteHits}, part{"shared loads", r.Merged}, part{"misses", r.Misses}),
	}
}

func (h *handler) rowsOf(spaces []space, span time.Duration) []row {
	rows := []row{}
	for _, sp := range spaces {
		r := h.rowOf(sp.all.Namespace, &sp.counted, span)
		for i := range sp.tenants {
			n := &sp.tenants[i]
			t := h.rowOf(n.all.Tenant, n, span)
			t.Bar = nil // many tenants, and their bars say little
			if h.Index != nil {
				t.Keys = n.all.Tenant + ":" + sp.all.Namespace + ":"
			}
			r.Tenants = append(r.Tenants, t)
		}
		rows = append(rows, r)
	}
	return rows
}

// cellsOf returns the number of refused cells and the reasons: "4: corrupt 3, foreign 1".
func cellsOf(c cache.CellCounts) string {
	var sum int64
	all := numbersOf(c)
	for _, n := range all {
		sum += n.Value.(int64) //nolint:forcetypeassert // all its fields are counters
	}
	if sum == 0 {
		return ""
	}
	return grouped(sum) + ": " + all.String()
}

// readsOf returns the reads that got a value.
func readsOf(n cache.Counts) int64 {
	return n.Reads.LocalHits + n.Reads.RemoteHits + n.Reads.Misses + n.Reads.Merged
}

// hitsOf returns the share of reads that a tier answered.
func hitsOf(n cache.Counts) *float64 { return ratio(n.Reads.LocalHits+n.Reads.RemoteHits, readsOf(n)) }

func requestsOf(n httpcache.Counts) int64 { return n.Hits + n.Stale + n.Misses + n.Coalesced }

// servedOf returns the share of requests that a stored page answered.
func servedOf(n httpcache.Counts) *float64 { return ratio(n.Hits+n.Stale, requestsOf(n)) }

func ratio(hits, all int64) *float64 {
	if all == 0 {
		return nil
	}
	return new(float64(hits) / float64(all))
}

// rate is a number per second.
func rate(n int64, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(n) / span.Seconds()
}
