package cache

import (
	"reflect"

	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/invalidate"
)

// Stats are the counters and gauges of one Tiers since Open. The OpenTelemetry instruments
// report the same numbers.
type Stats struct {
	Total  Counts            // over all namespaces
	Spaces []SpaceStats      // by namespace and tenant, in their order
	Remote RemoteStats       // the remote tier
	Local  LocalStats        // the local tier
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

// Counts are numbers of events. A read that gets a value is one of LocalHits, RemoteHits, Misses
// and Merged. A read that ends with ErrMiss, because there is no loader, is none of them. The other
// fields overlap these.
type Counts struct { // in the order of measure.Stat
	LocalHits  int64 // answered by this process, stale answers included
	RemoteHits int64 // answered by the remote tier
	Misses     int64 // went to the loader
	Merged     int64 // waited for another read's fetch or load

	Negatives  int64 // answered with an absence, new or remembered, or with a remembered error
	Loads      int64 // loader calls, refreshes and audits included
	LoadErrors int64 // loads that panicked or failed; not ErrNotFound or ErrNotModified
	LoadPanics int64 // loads that panicked; LoadErrors includes them
	Reloads    int64 // loads repeated because an invalidation overtook them
	Overtaken  int64 // overtaken loads that were not repeated: answered but not stored

	LoadsRefused   int64 // loads that got no turn within their LoadTimeout, because of MaxLoads
	FlightsRefused int64 // keys that a read or refresh could not fetch or load, because of MaxFlights

	StaleRevalidating int64 // stale values served while a refresh ran
	StaleOnError      int64 // stale values served in place of a failed load
	StaleOnTimeout    int64 // stale values served in place of a slow load

	Refreshes        int64 // background refreshes that loaded
	RefreshesAdopted int64 // refreshes that found a newer value in the remote tier
	RefreshErrors    int64 // refreshes that failed
	RefreshesSkipped int64 // not started: MaxRefreshes of the policy or the Tiers were running
	RefreshesElse    int64 // refreshes that were running in another process

	Fills            int64 // values stored in the remote tier
	FillsLost        int64 // values refused: the claim was lost, perhaps to an invalidation
	FillErrors       int64 // values not stored remotely: the remote tier failed
	FillsTooLarge    int64 // not stored: over MaxValueBytes
	FillsUnencodable int64 // not stored in the remote tier: the codec failed
	FillsBadTags     int64 // not stored: a tag is not valid, so nothing could invalidate it
	FillsNotAdmitted int64 // not stored: loaded faster than MinLoad
	FillsNotWanted   int64 // not stored: NoStore
	FillsManyTags    int64 // values with over 256 tags, which the invalidation of any tag covers

	CellsCorrupt int64 // remote values that could not be decoded
	CellsForeign int64 // remote values of another key or schema
	CellsRefused int64 // remote values older than an invalidation

	Evictions    int64 // entries pushed out of the local tier
	EvictedBytes int64 // their memory, as the local tier counts it
}

// RemoteStats counts failed calls to the remote tier and shows its breaker.
type RemoteStats struct {
	GetErrors, ClaimErrors, FillErrors, UnlinkErrors int64 // failed calls, by method of tier.Remote

	Breaker string // "closed", "half-open", "open"; empty without a remote tier
}

// LocalStats is the size of the local tier. Numbers that the tier does not know are zero.
type LocalStats struct {
	Bytes, Entries int64 // as the tier counts them; see tier.Meter
	Used, MaxBytes int64 // what the entries take from its budget, and the budget; see tier.Budgeter
}

// InvalidationStats counts the scopes of invalidations by kind, and the scopes that expired.
type InvalidationStats struct {
	Keys, Prefixes, Tags, All int64 // scopes of each kind; Tenant is a prefix
	Expired                   int64 // scopes of all kinds that were given to Expire

	// UnknownTenants counts scopes of tenants that no cache of this process has used. An 8 KB
	// set remembers the used tenants, so a few unknown ones may be missed. Such a tenant may be one
	// of another process, or a mistake in the call. Each such tenant is logged once.
	UnknownTenants int64
}

// Stats returns the numbers so far. It reads them one by one while other goroutines count, so they
// are not one consistent snapshot.
func (t *Tiers) Stats() Stats {
	n := t.core.Numbers()
	all, rest := n.Total, &n.Rest
	all.Add(rest)
	s := Stats{
		Total: fieldsOf[Counts](n.Total[:]), Audits: fieldsOf[Audits](n.Total[measure.AuditsSame:]),
		Remote: fieldsOf[RemoteStats](all[measure.RemoteErrGet:]), Kinds: fieldsOf[InvalidationStats](rest[measure.InvalidatedKeys:]),
		Local:  LocalStats{Bytes: n.Bytes, Entries: n.Entries, Used: n.Used, MaxBytes: n.MaxBytes},
		Fences: n.Fences, Log: n.Log,
	}
	s.Remote.Breaker = n.Breaker
	for i := range n.Spaces {
		c := &n.Spaces[i]
		s.Spaces = append(s.Spaces, SpaceStats{
			c.Namespace, c.Tenant, fieldsOf[Counts](c.Numbers[:]), fieldsOf[Audits](c.Numbers[measure.AuditsSame:]),
			fieldsOf[RemoteStats](c.Numbers[measure.RemoteErrGet:]),
		})
	}
	return s
}

// fieldsOf returns a struct whose numbers are those of n, in the order of measure.Stat.
func fieldsOf[T any](n []int64) (to T) {
	fields := reflect.ValueOf(&to).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.CanInt() {
			f.SetInt(n[i])
		}
	}
	return to
}
