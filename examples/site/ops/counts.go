package ops

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// objectCount is how a type of objects does, whether there are such objects or not.
type objectCount struct {
	Type      string `json:"type"`
	Hits      int64  `json:"hits"`      // absences that were remembered included
	Negatives int64  `json:"negatives"` // those
	Misses    int64  `json:"misses"`
	Merged    int64  `json:"merged"` // waited for another's miss
	Loads     int64  `json:"loads"`
	Evictions int64  `json:"evictions"`
}

// absence is what the namespaces of absences begin with; see package objects.
const absence = "no-"

// objectCounts returns the numbers of each type, by name. That of what there is
// and that of what there is not are one look-up to who asks: a guess that is in
// neither is one miss, though both have counted it.
func objectCounts(present, absent cache.Stats) []objectCount {
	types := map[string]*objectCount{}
	of := func(name string) *objectCount {
		if types[name] == nil {
			types[name] = &objectCount{Type: name}
		}
		return types[name]
	}
	for _, s := range present.Spaces {
		o := of(s.Namespace)
		o.Hits += s.LocalHits + s.RemoteHits
		o.Misses += s.Misses
		o.Merged += s.Merged
		o.Loads += s.Loads
		o.Evictions += s.Evictions
	}
	for _, s := range absent.Spaces {
		o := of(strings.TrimPrefix(s.Namespace, absence))
		o.Hits += s.LocalHits + s.RemoteHits
		o.Negatives += s.Negatives
		o.Merged += s.Merged
		o.Evictions += s.Evictions
	}
	all := make([]objectCount, 0, len(types))
	for _, name := range slices.Sorted(maps.Keys(types)) {
		all = append(all, *types[name])
	}
	return all
}

// formatCount is how a format of responses does.
type formatCount struct {
	Format      string `json:"format"`
	Hits        int64  `json:"hits"`
	Stale       int64  `json:"stale"`
	Misses      int64  `json:"misses"`
	Coalesced   int64  `json:"coalesced"`
	NotModified int64  `json:"not_modified"`
	Stored      int64  `json:"stored"`
	Bytes       int64  `json:"bytes"`
}

// formatCounts returns the numbers of each format, by name.
func formatCounts(s httpcache.Stats) []formatCount {
	all := make([]formatCount, 0, len(s.Formats))
	for _, name := range slices.Sorted(maps.Keys(s.Formats)) {
		n := s.Formats[name]
		all = append(all, formatCount{name, n.Hits, n.Stale, n.Misses, n.Coalesced, n.NotModified, n.Stored, n.Bytes})
	}
	return all
}

// named is a number and what it counts.
type named struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// byNumber returns the numbers of a map, the largest first.
func byNumber(m map[string]int64) []named {
	all := make([]named, 0, len(m))
	for name, n := range m {
		all = append(all, named{name, n})
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	return all
}
