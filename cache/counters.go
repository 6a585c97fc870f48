package cache

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/meter"
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
	fillUnregistered
	cellCorrupt
	cellForeign
	cellRefused
	evictions
	invalidatedKeys // in the order of invalidate.Kind
	invalidatedPrefixes
	invalidatedTags
	remoteErrGet // in the order of remote.Op
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

// counters are the numbers of one namespace and tenant, with the options that
// their spans and measurements carry.
type counters struct {
	space  key.Space
	span   []trace.SpanStartOption
	metric []metric.RecordOption
	local  [stripes]stripe
	n      [numStats]atomic.Int64
}

func newCounters(s key.Space) *counters {
	return &counters{
		space:  s,
		span:   []trace.SpanStartOption{trace.WithAttributes(spaceAttributes(s)...)},
		metric: []metric.RecordOption{meter.Attr("cache.namespace", s.Namespace)},
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

// hit counts a local hit: of a remembered absence, or of a value.
func (c *counters) hit(negative bool, r staleReason) {
	if negative {
		r = forAbsence
	}
	c.stripe().hits[r].Add(1)
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
