package cache

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// stat is one thing that is counted.
type stat int

// The stats before invalidatedKeys are fields of Counts, in its order, behind LocalHits.
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
	numStats
)

// stripes is how many lines a hot counter is spread over.
const (
	stripeBits = 4
	stripes    = 1 << stripeBits
)

// counters are the numbers of one namespace and tenant, with the options that
// their spans and measurements carry.
type counters struct {
	space    key.Space
	span     []trace.SpanStartOption
	local    [stripes]stripe
	n        [numStats]atomic.Int64
	measures func() *measures // made at their first use: many tenants are never measured
}

func newCounters(s key.Space) *counters {
	return &counters{
		space:    s,
		span:     []trace.SpanStartOption{trace.WithAttributes(spaceAttributes(s)...)},
		measures: sync.OnceValue(func() *measures { return newMeasures(s) }),
	}
}

// forAbsence stands for a remembered absence or error among the reasons of stripe.
// It takes the place of a reason that no local hit has: none waits for a timeout.
const forAbsence = softTimeout

// stripe counts local hits by their reason, each once. It has a cache line to
// itself: counting on one core must not slow down another.
type stripe struct {
	hits [4]atomic.Int64 // by staleReason
	_    [32]byte
}

// hit counts a local hit: of a remembered absence, or of a value. It returns which of its
// kind that is.
func (c *counters) hit(negative bool, r staleReason) int64 {
	if negative {
		r = forAbsence
	}
	return c.stripe().hits[r].Add(1)
}

// stripe is drawn by the address of the caller's stack, which differs between
// goroutines and costs nothing to know.
func (c *counters) stripe() *stripe {
	var here byte
	return &c.local[uint64(uintptr(unsafe.Pointer(&here))>>11)*0x9e3779b97f4a7c15>>(64-stripeBits)]
}

func (c *counters) inc(s stat) { c.n[s].Add(1) }

// hits returns the local hits of one reason.
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

// Stats are the numbers of a set of tiers since they were opened. They are the
// same that the OpenTelemetry instruments report.
type Stats struct {
	Total  Counts            // over all namespaces
	Spaces []SpaceStats      // by namespace and tenant, in their order
	Remote RemoteStats       // the remote tier
	Local  LocalStats        // the local tier
	Kinds  InvalidationStats // what Invalidate, Delete, DeleteAll, Set and Expire were asked for

	// Fences are what this process remembers of invalidations. Forgotten and HoldsWidened
	// say what it costs that it cannot remember all of them.
	Fences invalidate.FenceStats

	// Log is about the log of invalidations; zero without one.
	Log invalidate.LogStats
}

// SpaceStats are the numbers of one namespace and tenant. Tenants beyond
// TiersConfig.MaxTenants are counted together as "other".
type SpaceStats struct {
	Namespace, Tenant string // whose they are; the tenant may be "other"
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
	RefreshesSkipped int64 // not started: MaxRefreshes of the policy or of the Tiers were running
	RefreshesElse    int64 // found running in another process

	Fills            int64 // stored in the remote tier
	FillsLost        int64 // refused: the claim was lost, to an invalidation perhaps
	FillErrors       int64 // the remote tier failed
	FillsTooLarge    int64 // not stored: over MaxValueBytes
	FillsUnencodable int64 // not stored in the remote tier: the codec failed
	FillsBadTags     int64 // not stored: a tag that could not be invalidated
	FillsNotAdmitted int64 // not stored: loaded faster than MinLoad
	FillsNotWanted   int64 // not stored: NoStore, or the remote tier holds the key
	FillsManyTags    int64 // have over 256 tags, so that the invalidation of any tag covers them

	CellsCorrupt int64 // remote values that could not be read
	CellsForeign int64 // remote values of another key or schema
	CellsRefused int64 // remote values older than an invalidation

	Evictions    int64 // entries pushed out of the local tier
	EvictedBytes int64 // their memory, as the local tier counts it
}

// RemoteStats are about the calls to the remote tier.
type RemoteStats struct {
	GetErrors, ClaimErrors, FillErrors, UnlinkErrors int64 // calls that failed, by method of tier.Remote

	Breaker string // "closed", "half-open", "open"; empty without a remote tier
}

// LocalStats are about the local tier; zero when it is no tier.Meter.
type LocalStats struct {
	Bytes, Entries int64 // what it holds now, as the tier counts it
}

// InvalidationStats count invalidations by the kind of their scope, and the scopes that
// expired.
type InvalidationStats struct {
	Keys, Prefixes, Tags, All int64 // scopes of each kind; Tenant is a prefix
	Expired                   int64 // scopes of all kinds that Expire made stale

	// UnknownTenants counts those for a tenant that no cache of this process had been used
	// for, as far as 8 KB can tell. Another process may use it; but a call that names no
	// tenant, or the wrong one, looks the same. Each such tenant is logged once.
	UnknownTenants int64
}
