package cache

import (
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/key"
)

// stat is one thing that is counted.
type stat int

// The first stats are counted on a local hit, in stripes; see counters.hit.
const (
	hitsRemote stat = iota
	misses
	merges
	loads
	loadFailed
	loadPanics
	negatives
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
	fillUnregistered
	cellCorrupt
	cellForeign
	cellRefused
	evictions
	invalidatedKeys // in the order of invalidate.Kind
	invalidatedPrefixes
	invalidatedTags
	remoteErrGet // in the order of remoteOp
	remoteErrClaim
	remoteErrFill
	remoteErrUnlink
	numStats
)

// stripes is how many lines a hot counter is spread over.
const (
	stripeBits = 4
	stripes    = 1 << stripeBits
)

// counters are the numbers of one namespace and tenant.
type counters struct {
	namespace, tenant string
	span              []trace.SpanStartOption
	metric            []metric.RecordOption
	local             [stripes]stripe
	n                 [numStats]atomic.Int64
}

// stripe has a cache line to itself: counting on one core must not slow down
// another. A local hit is counted once, as what it is.
type stripe struct {
	hits      [softTimeout]atomic.Int64 // by staleReason; no hit waits for a timeout
	negatives atomic.Int64
	_         [32]byte
}

// hit counts a local hit: of a remembered absence, or of a value.
func (c *counters) hit(negative bool, r staleReason) {
	if s := c.stripe(); negative {
		s.negatives.Add(1)
	} else {
		s.hits[r].Add(1)
	}
}

// stripe is drawn by the address of the caller's stack, which differs between
// goroutines and costs nothing to know.
func (c *counters) stripe() *stripe {
	var here byte
	return &c.local[uint64(uintptr(unsafe.Pointer(&here))>>11)*0x9e3779b97f4a7c15>>(64-stripeBits)]
}

func (c *counters) inc(s stat) { c.n[s].Add(1) }

func (c *counters) get(s stat) int64 {
	n := c.n[s].Load()
	if s == negatives {
		n += c.striped(func(l *stripe) *atomic.Int64 { return &l.negatives })
	}
	if s == staleRevalidate || s == staleError {
		n += c.hits(revalidating + staleReason(s-staleRevalidate))
	}
	return n
}

// hits returns the local hits of values that were served for one reason.
func (c *counters) hits(r staleReason) int64 {
	return c.striped(func(l *stripe) *atomic.Int64 { return &l.hits[r] })
}

func (c *counters) hitsLocal() int64 {
	n := c.striped(func(l *stripe) *atomic.Int64 { return &l.negatives })
	for r := range softTimeout {
		n += c.hits(r)
	}
	return n
}

func (c *counters) striped(of func(*stripe) *atomic.Int64) (n int64) {
	for i := range c.local {
		n += of(&c.local[i]).Load()
	}
	return n
}

type countsKey struct{ namespace, tenant string }

// otherTenant is whom tenants beyond the cap are counted under.
const otherTenant = "other"

// countersOf returns the counters of a space; those of "other" when the
// namespace has too many tenants.
func (t *Tiers) countersOf(s key.Space) *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := countsKey{s.Namespace, s.Tenant}
	if c := t.counts[k]; c != nil {
		return c
	}
	if len(t.counts) >= t.cfg.MaxTenants {
		k.tenant = otherTenant
		if c := t.counts[k]; c != nil {
			return c
		}
	}
	c := newCounters(k.namespace, k.tenant)
	t.counts[k] = c
	return c
}

// snapshot returns all counters; those without a namespace come first.
func (t *Tiers) snapshot() []*counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []*counters{t.all}
	for _, c := range t.counts {
		all = append(all, c)
	}
	return all
}

// countStale counts a stale value served, and how far past its time it was.
func (t *Tiers) countStale(c *counters, r staleReason, over int64) {
	if r == notStale {
		return
	}
	c.inc(staleRevalidate + stat(r-revalidating))
	t.seen.staleness(over)
}
