package cache

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// stat is one counter.
type stat int

// The stats before invalidatedKeys are the fields of Counts after LocalHits, in the same order.
const (
	hitsRemote stat = iota
	misses
	merges
	negatives
	loads
	loadFailed
	loadPanics
	reloads
	overtaken
	loadRefused
	flightRefused
	staleRevalidate
	staleError
	staleTimeout
	refreshOK
	refreshAdopted
	refreshFailed
	refreshSkipped
	refreshElsewhere
	fillStored
	fillLost
	fillFailed
	fillTooLarge
	fillUnencodable
	fillTags
	fillNotAdmitted
	fillNoStore
	fillManyTags
	cellCorrupt
	cellForeign
	cellRefused
	evictions
	evictedBytes
	invalidatedKeys // in the order of invalidate.Kind
	invalidatedPrefixes
	invalidatedTags
	invalidatedAll
	scopesExpired
	remoteErrGet // in the order of remote.Op
	remoteErrClaim
	remoteErrFill
	remoteErrUnlink
	invalidatedStrangers
	auditsSame // in the order of the fields of Audits
	auditsEnded
	auditsStale
	auditsFailed
	auditsSkipped
	numStats
)

// stripes is the number of cache lines that a local-hit counter is spread over.
const (
	stripeBits = 4
	stripes    = 1 << stripeBits
)

// counters holds the counters of one namespace and tenant, and the options of their spans and
// measurements.
type counters struct {
	space    key.Space
	far      *remote.Tier // the remote tier, which counts the calls here; nil without one
	span     []trace.SpanStartOption
	local    [stripes]stripe
	n        [numStats]atomic.Int64
	measures func() *measures // made at first use: many tenants are never measured
}

func newCounters(s key.Space) *counters {
	return &counters{
		space:    s,
		span:     []trace.SpanStartOption{trace.WithAttributes(spaceAttributes(s)...)},
		measures: sync.OnceValue(func() *measures { return newMeasures(s) }),
	}
}

// forAbsence stands for a remembered absence or error among the reasons of stripe. It takes the
// place of softTimeout, which no local hit has.
const forAbsence = softTimeout

// stripe counts local hits by reason, each hit once. It has the size of a cache line, so the
// counters of one reason in two stripes never share a line. Cores that count do not slow each
// other down.
type stripe struct {
	hits [4]atomic.Int64 // by staleReason
	_    [32]byte
}

// hit counts a local hit of a remembered absence or of a value. It returns the hit's number
// within the reason's count of this stripe.
func (c *counters) hit(negative bool, r staleReason) int64 {
	if negative {
		r = forAbsence
	}
	return c.stripe().hits[r].Add(1)
}

// stripe chooses a stripe by the address of the caller's stack. That address differs between
// goroutines and costs nothing.
func (c *counters) stripe() *stripe {
	var here byte
	return &c.local[uint64(uintptr(unsafe.Pointer(&here))>>11)*0x9e3779b97f4a7c15>>(64-stripeBits)]
}

// remote returns the failed calls to the remote tier.
func (c *counters) remote() RemoteStats {
	n := func(op remote.Op) int64 { return c.n[remoteErrGet+stat(op)].Load() }
	return RemoteStats{GetErrors: n(remote.Get), ClaimErrors: n(remote.Claim), FillErrors: n(remote.Fill), UnlinkErrors: n(remote.Unlink)}
}

func (c *counters) inc(s stat) { c.n[s].Add(1) }

func (c *counters) hits(r staleReason) (n int64) {
	for i := range c.local {
		n += c.local[i].hits[r].Load()
	}
	return n
}

func (c *counters) counts() (n Counts) {
	fields := reflect.ValueOf(&n).Elem()
	for s := range invalidatedKeys {
		fields.Field(1 + int(s)).SetInt(c.n[s].Load())
	}
	n.LocalHits = c.hits(notStale) + c.hits(revalidating) + c.hits(failedLoad) + c.hits(forAbsence)
	n.Negatives += c.hits(forAbsence)
	n.StaleRevalidating += c.hits(revalidating)
	n.StaleOnError += c.hits(failedLoad)
	return n
}

func spaceAttributes(s key.Space) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("cache.namespace", s.Namespace), attribute.String("cache.tenant", s.Tenant)}
}

// Stats are the counters and gauges of one Tiers since Open. The OpenTelemetry instruments
// report the same numbers.
type Stats struct {
	Total  Counts            // over all namespaces
	Spaces []SpaceStats      // by namespace and tenant, in their order
	Remote RemoteStats       // the remote tier
	Local  LocalStats        // the local tier
	Kinds  InvalidationStats // scopes given to Invalidate, Delete, DeleteAll, Set and Expire

	// Fences are the invalidations that this process remembers. Forgotten and HoldsWidened count
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
// and Merged. A read that ends with ErrMiss, for want of a loader, is none of them. The other
// fields overlap these.
type Counts struct { // after LocalHits, in the order of type stat
	LocalHits  int64 // answered by this process, stale answers included
	RemoteHits int64 // answered by the remote tier
	Misses     int64 // went to the loader
	Merged     int64 // waited for another read's fetch or load

	Negatives  int64 // answered with an absence, of now or remembered, or with a remembered error
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
	FillsNotWanted   int64 // not stored: NoStore, or the remote tier holds the key
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

// LocalStats is the size of the local tier. It is zero if the tier is no tier.Meter.
type LocalStats struct {
	Bytes, Entries int64 // as the tier counts them
}

// InvalidationStats counts the scopes of invalidations by kind, and the scopes that expired.
type InvalidationStats struct {
	Keys, Prefixes, Tags, All int64 // scopes of each kind; Tenant is a prefix
	Expired                   int64 // scopes of all kinds that were given to Expire

	// UnknownTenants counts scopes of tenants that no cache of this process has used. An 8 KB
	// set remembers the used tenants, so a few unknown ones may be missed. Another process may
	// use such a tenant. But a call with a missing or wrong tenant looks the same. Each such
	// tenant is logged once.
	UnknownTenants int64
}
