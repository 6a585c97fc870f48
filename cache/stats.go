package cache

import (
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Stats are the counters and gauges of one Tiers since Open. The OpenTelemetry instruments
// report the same numbers.
type Stats struct {
	Total  Counts            // over all namespaces
	Spaces []SpaceStats      // by namespace and tenant, in their order
	Remote RemoteStats       // the remote tier
	Local  tier.LocalStats   // the local tier
	Kinds  InvalidationStats // scopes given to Invalidate, Delete, DeleteAll, Set and Expire

	// Fences are the invalidations that this process remembers. Forgotten counts
	// what the limits of that memory cost.
	Fences invalidate.FenceStats

	// Audits are the comparisons of hits with the source, over all namespaces.
	Audits Audits

	// Log is about the log of invalidations; zero without one.
	Log invalidate.LogStats
}

// SpaceStats are the numbers of one namespace and tenant. Tenants beyond
// TiersConfig.MaxTenants are counted together as "other".
type SpaceStats struct {
	Namespace, Tenant string // the tenant may be "other"
	Counts
	Audits Audits      // its hits that were compared with the source
	Remote RemoteStats // its failed calls to the remote tier; Breaker is empty
}

// Counts are numbers of events.
type Counts struct {
	Reads     ReadCounts     // keys that were read
	Loads     LoadCounts     // calls of loaders
	Refreshes RefreshCounts  // loads in the background
	Fills     FillCounts     // loaded values
	Cells     CellCounts     // unusable values of the remote tier
	Evictions EvictionCounts // by the local tier
}

// ReadCounts are about keys that were read. A read that gets a value is one of LocalHits,
// RemoteHits, Misses and Merged. A read that ends with ErrMiss, because there is no loader, is
// none of them. The other fields overlap these.
type ReadCounts struct {
	LocalHits  int64 // answered by this process, stale answers included
	RemoteHits int64 // answered by the remote tier
	Misses     int64 // went to the loader
	Merged     int64 // waited for another read's fetch or load

	Negatives         int64 // answered with an absence, new or remembered, or with a remembered error
	StaleRevalidating int64 // stale values served while a refresh ran
	StaleOnError      int64 // stale values served in place of a failed load
	StaleOnTimeout    int64 // stale values served in place of a slow load
	Refused           int64 // keys that a read or refresh could not fetch or load, because of MaxFlights
}

// LoadCounts are about calls of loaders.
type LoadCounts struct {
	Calls     int64 // loader calls, refreshes and audits included
	Errors    int64 // loads that panicked or failed; not ErrNotFound, ErrNotModified or ErrDeclined
	Panics    int64 // loads that panicked; Errors includes them
	Repeated  int64 // loads repeated because an invalidation overtook them
	Overtaken int64 // overtaken loads that were not repeated: answered but not stored
	Refused   int64 // loads that got no turn within their LoadTimeout, because of MaxLoads
}

// RefreshCounts are about refreshes in the background.
type RefreshCounts struct {
	Loaded    int64 // refreshes that loaded
	Adopted   int64 // refreshes that found a newer value in the remote tier
	Errors    int64 // refreshes that failed
	Skipped   int64 // not started: MaxRefreshes of the policy or the Tiers were running
	Elsewhere int64 // refreshes that were running in another process
	Declined  int64 // refreshes whose loader returned ErrDeclined
}

// FillCounts are about loaded values, and whether they were stored.
type FillCounts struct {
	Stored      int64 // values stored in the remote tier
	Lost        int64 // values refused: the claim was lost, perhaps to an invalidation
	Errors      int64 // values not stored remotely: the remote tier failed
	TooLarge    int64 // not stored: over MaxValueBytes
	Unencodable int64 // not stored in the remote tier: the codec failed
	BadTags     int64 // not stored: a tag is not valid, so nothing could invalidate it
	NotAdmitted int64 // not stored: loaded faster than MinLoad
	ReplicaLag  int64 // not stored: the load began less than ReplicaLag after an invalidation
	NotWanted   int64 // not stored: NoStore, an expired part, or the remote tier holds the key
	ManyTags    int64 // values with over 256 tags, which the invalidation of any tag covers
}

// CellCounts are about values of the remote tier that a read could not use.
type CellCounts struct {
	Corrupt     int64 // could not be decoded
	Foreign     int64 // of another key or schema
	Untagged    int64 // without a tag that Config.Tags gives the value here
	Unauthentic int64 // without the tag of a Secret of this process
	Invalidated int64 // older than an invalidation
}

// EvictionCounts are about entries that the local tier evicted.
type EvictionCounts struct {
	Entries int64 // pushed out of the local tier
	Bytes   int64 // their memory, as the local tier counts it
}

// RemoteStats counts failed calls to the remote tier and shows its breaker.
type RemoteStats struct {
	GetErrors, ClaimErrors, FillErrors, RemoveErrors int64 // failed calls, by method of tier.Remote

	Breaker string // "closed", "half-open", "open"; empty without a remote tier
}

// InvalidationStats counts the scopes of invalidations by kind, and the scopes that expired.
type InvalidationStats struct {
	Keys, Prefixes, Tags, All int64 // scopes of each kind; Tenant is a prefix
	Expired                   int64 // scopes of all kinds that were given to Expire
}

// Stats returns the numbers so far. It reads them one by one while other goroutines count, so they
// are not one consistent snapshot.
func (t *Tiers) Stats() Stats {
	n := t.core.Numbers()
	all, rest := n.Total, &n.Rest
	all.Add(rest)
	s := Stats{
		Total: countsOf(&n.Total), Audits: auditsOf(&n.Total),
		Remote: remoteStatsOf(&all), Kinds: InvalidationStats{
			Keys: rest[measure.InvalidatedKeys], Prefixes: rest[measure.InvalidatedPrefixes], Tags: rest[measure.InvalidatedTags],
			All: rest[measure.InvalidatedAll], Expired: rest[measure.ScopesExpired],
		},
		Local:  n.Local,
		Fences: n.Fences, Log: n.Log,
	}
	s.Remote.Breaker = n.Breaker
	for i := range n.Spaces {
		c := &n.Spaces[i]
		s.Spaces = append(s.Spaces, SpaceStats{
			c.Namespace, c.Tenant, countsOf(&c.Numbers), auditsOf(&c.Numbers),
			remoteStatsOf(&c.Numbers),
		})
	}
	return s
}

func countsOf(n *measure.Numbers) Counts {
	return Counts{
		Reads: ReadCounts{
			LocalHits: n[measure.HitsLocal], RemoteHits: n[measure.HitsRemote], Misses: n[measure.Misses], Merged: n[measure.Merges],
			Negatives: n[measure.Negatives], Refused: n[measure.FlightRefused],
			StaleRevalidating: n[measure.StaleRevalidate], StaleOnError: n[measure.StaleError], StaleOnTimeout: n[measure.StaleTimeout],
		},
		Loads: LoadCounts{
			Calls: n[measure.Loads], Errors: n[measure.LoadFailed], Panics: n[measure.LoadPanics],
			Repeated: n[measure.Reloads], Overtaken: n[measure.Overtaken], Refused: n[measure.LoadRefused],
		},
		Refreshes: RefreshCounts{
			Loaded: n[measure.RefreshOK], Adopted: n[measure.RefreshAdopted], Errors: n[measure.RefreshFailed],
			Skipped: n[measure.RefreshSkipped], Elsewhere: n[measure.RefreshElsewhere], Declined: n[measure.RefreshDeclined],
		},
		Fills: FillCounts{
			Stored: n[measure.FillStored], Lost: n[measure.FillLost], Errors: n[measure.FillFailed],
			TooLarge: n[measure.FillTooLarge], Unencodable: n[measure.FillUnencodable], BadTags: n[measure.FillTags],
			NotAdmitted: n[measure.FillNotAdmitted], ReplicaLag: n[measure.FillReplicaLag], NotWanted: n[measure.FillNoStore], ManyTags: n[measure.FillManyTags],
		},
		Cells:     CellCounts{Corrupt: n[measure.CellCorrupt], Foreign: n[measure.CellForeign], Untagged: n[measure.CellUntagged], Unauthentic: n[measure.CellUnauthentic], Invalidated: n[measure.CellRefused]},
		Evictions: EvictionCounts{Entries: n[measure.Evictions], Bytes: n[measure.EvictedBytes]},
	}
}

func auditsOf(n *measure.Numbers) Audits {
	return Audits{
		Same: n[measure.AuditsSame], Ended: n[measure.AuditsEnded], Stale: n[measure.AuditsStale],
		Failed: n[measure.AuditsFailed], Skipped: n[measure.AuditsSkipped],
	}
}

func remoteStatsOf(n *measure.Numbers) RemoteStats {
	return RemoteStats{
		GetErrors: n[measure.RemoteErrGet], ClaimErrors: n[measure.RemoteErrClaim],
		FillErrors: n[measure.RemoteErrFill], RemoveErrors: n[measure.RemoteErrRemove],
	}
}
