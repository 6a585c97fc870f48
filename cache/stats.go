package cache

import (
	"cmp"
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
type Counts struct {
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
	for _, c := range t.snapshot()[1:] {
		n := c.counts()
		s.Spaces = append(s.Spaces, SpaceStats{Namespace: c.namespace, Tenant: c.tenant, Counts: n})
		s.Total.add(n)
	}
	slices.SortFunc(s.Spaces, func(a, b SpaceStats) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
	a := t.all
	s.Remote = RemoteStats{
		GetErrors: a.get(remoteErrGet), ClaimErrors: a.get(remoteErrClaim),
		FillErrors: a.get(remoteErrFill), UnlinkErrors: a.get(remoteErrUnlink),
	}
	if t.remote != nil {
		s.Remote.Breaker = t.remote.breaker.String()
	}
	if m, ok := t.local.(tier.Meter); ok {
		s.Local.Bytes, s.Local.Entries = m.Usage()
	}
	s.Kinds = InvalidationStats{
		Keys: a.get(invalidatedKeys), Prefixes: a.get(invalidatedPrefixes), Tags: a.get(invalidatedTags),
	}
	s.Fences = t.fences.Stats()
	if t.follower != nil {
		s.Log = t.follower.Stats()
	}
	return s
}

// fields pairs each number with its counter.
func (n *Counts) fields() []struct {
	to *int64
	s  stat
} {
	return []struct {
		to *int64
		s  stat
	}{
		{&n.RemoteHits, hitsRemote}, {&n.Misses, misses}, {&n.Merged, merges},
		{&n.Negatives, negatives}, {&n.Loads, loads}, {&n.LoadErrors, loadFailed}, {&n.LoadPanics, loadPanics},
		{&n.Reloads, reloads}, {&n.Overtaken, overtaken},
		{&n.StaleRevalidating, staleRevalidate}, {&n.StaleOnError, staleError}, {&n.StaleOnTimeout, staleTimeout},
		{&n.Refreshes, refreshOK}, {&n.RefreshesAdopted, refreshAdopted}, {&n.RefreshErrors, refreshFailed},
		{&n.RefreshesSkipped, refreshSkipped}, {&n.RefreshesElse, refreshElsewhere},
		{&n.Fills, fillStored}, {&n.FillsLost, fillLost}, {&n.FillErrors, fillFailed},
		{&n.FillsTooLarge, fillTooLarge}, {&n.FillsUnencodable, fillUnencodable}, {&n.FillsBadTags, fillTags},
		{&n.FillsNotAdmitted, fillNotAdmitted}, {&n.FillsNotWanted, fillNoStore},
		{&n.FillsUnregistered, fillUnregistered},
		{&n.CellsCorrupt, cellCorrupt}, {&n.CellsForeign, cellForeign}, {&n.CellsRefused, cellRefused},
		{&n.Evictions, evictions},
	}
}

func (c *counters) counts() (n Counts) {
	n.LocalHits = c.hitsLocal()
	for _, f := range n.fields() {
		*f.to = c.get(f.s)
	}
	return n
}

func (n *Counts) add(m Counts) {
	n.LocalHits += m.LocalHits
	mine, more := n.fields(), m.fields()
	for i := range mine {
		*mine[i].to += *more[i].to
	}
}
