package cache

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Stats are the numbers of a set of tiers since they were opened. They are the
// same that the OpenTelemetry instruments report.
type Stats struct {
	Total  Counts            // over all namespaces
	Spaces []SpaceStats      // by namespace and tenant, in their order
	Remote RemoteStats       // the remote tier
	Local  LocalStats        // the local tier
	Kinds  InvalidationStats // what Invalidate, Delete, DeleteAll and Set were asked for

	// Fences are what this process remembers of invalidations. Forgotten and HoldsWidened
	// say what it costs that it cannot remember all of them.
	Fences invalidate.FenceStats

	// Log is about the log of invalidations; zero without one.
	Log invalidate.FollowerStats
}

// SpaceStats are the numbers of one namespace and tenant. Tenants beyond
// TiersConfig.MaxTenants are counted together as "other".
type SpaceStats struct {
	Namespace, Tenant string
	Counts
}

// Counts are numbers of events. Every read that did not fail before it began
// is one of LocalHits, RemoteHits, Misses and Merged; the others overlap them.
type Counts struct { // behind LocalHits, in the order of type stat
	LocalHits  int64 // answered by this process, stale answers included
	RemoteHits int64 // answered by the remote tier
	Misses     int64 // went to the loader
	Merged     int64 // waited for another read's fetch or load

	Negatives  int64 // answered with a remembered absence or error
	Loads      int64 // loader calls, refreshes included
	LoadErrors int64 // of these, how many panicked or returned an error but ErrNotFound
	LoadPanics int64 // of these again, how many panicked
	Reloads    int64 // loads repeated because an invalidation overtook them
	Overtaken  int64 // loads given up after that, answered but not stored

	StaleRevalidating int64 // stale values served while a refresh ran
	StaleOnError      int64 // in place of a failed load
	StaleOnTimeout    int64 // in place of a slow load

	Refreshes        int64 // background refreshes that loaded
	RefreshesAdopted int64 // found a newer value in the remote tier
	RefreshErrors    int64 // failed
	RefreshesSkipped int64 // not started: MaxRefreshes were running
	RefreshesElse    int64 // found running in another process

	Fills             int64 // stored in the remote tier
	FillsLost         int64 // refused: the claim was lost, to an invalidation perhaps
	FillErrors        int64 // the remote tier failed
	FillsTooLarge     int64 // not stored: over MaxValueBytes
	FillsUnencodable  int64 // not stored in the remote tier: the codec failed
	FillsBadTags      int64 // not stored: over 64 tags, or one that could not be invalidated
	FillsNotAdmitted  int64 // not stored: loaded faster than Admit.MinLoad
	FillsNotWanted    int64 // not stored: NoStore, or the remote tier holds the key
	FillsUnregistered int64 // not stored in this process: the registry was full

	CellsCorrupt int64 // remote values that could not be read
	CellsForeign int64 // remote values of another key or schema
	CellsRefused int64 // remote values older than an invalidation

	Evictions int64 // entries pushed out of the local tier
}

// RemoteStats are about the calls to the remote tier.
type RemoteStats struct {
	GetErrors, ClaimErrors, FillErrors, UnlinkErrors int64
	Breaker                                          string // "closed", "half-open", "open"; empty without a remote tier
}

// LocalStats are about the local tier; zero when it is no tier.Meter.
type LocalStats struct{ Bytes, Entries int64 }

// InvalidationStats count invalidations by the kind of their scope.
type InvalidationStats struct{ Keys, Prefixes, Tags int64 }

// Stats returns the numbers so far. They are read one by one while others
// count, so two of them may disagree by what happened in between.
func (t *Tiers) Stats() Stats {
	var s Stats
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.counts))
	t.mu.Unlock()
	total := reflect.ValueOf(&s.Total).Elem()
	for _, c := range all {
		n := c.counts()
		s.Spaces = append(s.Spaces, SpaceStats{Namespace: c.space.Namespace, Tenant: c.space.Tenant, Counts: n})
		for i, f := range reflect.ValueOf(n).Fields() {
			sum := total.FieldByIndex(i.Index)
			sum.SetInt(sum.Int() + f.Int())
		}
	}
	slices.SortFunc(s.Spaces, func(a, b SpaceStats) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
	n := func(c stat) int64 { return t.all.n[c].Load() }
	s.Kinds = InvalidationStats{Keys: n(invalidatedKeys), Prefixes: n(invalidatedPrefixes), Tags: n(invalidatedTags)}
	s.Remote = RemoteStats{
		GetErrors: n(remoteErrGet), ClaimErrors: n(remoteErrClaim), FillErrors: n(remoteErrFill), UnlinkErrors: n(remoteErrUnlink),
	}
	if t.remote != nil {
		s.Remote.Breaker = t.remote.Breaker()
	}
	if m, ok := t.local.(tier.Meter); ok {
		s.Local.Bytes, s.Local.Entries = m.Usage()
	}
	s.Fences = t.fences.Stats()
	if t.follower != nil {
		s.Log = t.follower.Stats()
	}
	return s
}
