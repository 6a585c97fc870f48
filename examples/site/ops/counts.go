package ops

import (
	"maps"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// absence is what the namespaces of absences begin with; see package objects.
const absence = "no-"

// tallies are how a kind of caches does, by type of objects or format of responses.
type tallies map[string]tally

// names returns them in order.
func (t tallies) names() []string { return slices.Sorted(maps.Keys(t)) }

// objectTallies counts the look-ups of each type. That of what there is and that of what
// there is not are one look-up to the caller: a guess that is in neither is one miss,
// though both have counted it.
func objectTallies(present, absent cache.Stats) tallies {
	all := tallies{}
	add := func(name string, hits, others int64) {
		t := all[name]
		all[name] = tally{t.hits + hits, t.all + hits + others}
	}
	for _, s := range present.Spaces {
		add(s.Namespace, s.LocalHits+s.RemoteHits, s.Misses+s.Merged)
	}
	for _, s := range absent.Spaces {
		add(strings.TrimPrefix(s.Namespace, absence), s.LocalHits+s.RemoteHits, s.Merged)
	}
	return all
}

// responseTallies counts the requests of each format.
func responseTallies(s httpcache.Stats) tallies {
	all := tallies{}
	for name, n := range s.Formats {
		hits := n.Hits + n.Stale
		all[name] = tally{hits, hits + n.Misses + n.Coalesced}
	}
	return all
}
