package measure

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
)

// Stat is the number of one counter.
type Stat int

// The stats.
const (
	HitsLocal Stat = iota // counted in stripes; see Counters.Hit
	HitsRemote
	Misses
	Merges
	Negatives
	Loads
	LoadFailed
	LoadPanics
	Reloads
	Overtaken
	LoadRefused
	FlightRefused
	StaleRevalidate
	StaleError
	StaleTimeout
	RefreshOK
	RefreshAdopted
	RefreshFailed
	RefreshSkipped
	RefreshElsewhere
	RefreshDeclined
	FillStored
	FillLost
	FillFailed
	FillTooLarge
	FillUnencodable
	FillTags
	FillNotAdmitted
	FillReplicaLag
	FillNoStore
	FillManyTags
	CellCorrupt
	CellForeign
	CellUnauthentic
	CellUntagged
	CellRefused
	Evictions
	EvictedBytes
	InvalidatedKeys // in the order of invalidate.Kind
	InvalidatedPrefixes
	InvalidatedTags
	InvalidatedAll
	ScopesExpired
	RemoteErrGet // in the order of remote.Op
	RemoteErrClaim
	RemoteErrFill
	RemoteErrRemove
	AuditsSame
	AuditsEnded
	AuditsStale
	AuditsFailed
	AuditsSkipped
	NumStats
)

// Numbers are the values of counters, by [Stat].
type Numbers [NumStats]int64

// Add adds other numbers.
func (n *Numbers) Add(more *Numbers) {
	for s := range n {
		n[s] += more[s]
	}
}

// Reason says why a stale value was served.
type Reason uint8

// The reasons. The zero Reason means that the value was fresh.
const (
	NotStale     Reason = iota
	Revalidating        // within Stale, while a refresh runs
	FailedLoad          // within StaleIfError, after a failed load
	SoftTimeout         // the load takes longer than SoftTimeout
)

// forAbsence stands for a remembered absence or error among the reasons of stripe. It takes the
// place of SoftTimeout, which no local hit has.
const forAbsence = SoftTimeout

// stripes is the number of cache lines that a local-hit counter is spread over.
const (
	stripeBits = 4
	stripes    = 1 << stripeBits
)

// Counters holds the counters of one namespace and tenant, and the options of their spans and
// measurements. The zero Counters belongs to no namespace.
type Counters struct {
	Space    key.Space
	Far      *remote.Tier // the remote tier, which counts the calls here; nil without one
	span     []trace.SpanStartOption
	local    [stripes]stripe
	n        [NumStats]atomic.Int64
	measures func() *measures // made at first use: many tenants are never measured
}

// Of returns counters for a space.
func Of(s key.Space) *Counters {
	return &Counters{
		Space:    s,
		span:     []trace.SpanStartOption{trace.WithAttributes(spaceAttributes(s.Namespace, s.Tenant)...)},
		measures: sync.OnceValue(func() *measures { return newMeasures(s) }),
	}
}

// stripe counts local hits by reason, each hit once. It has the size of a cache line, so the
// counters of one reason in two stripes never share a line. Cores that count do not slow each
// other down.
type stripe struct {
	hits [4]atomic.Int64 // by Reason
	_    [32]byte
}

// Hit counts a local hit of a remembered absence or of a value. It returns the hit's number
// within the reason's count of this stripe.
func (c *Counters) Hit(negative bool, r Reason) int64 {
	if negative {
		r = forAbsence
	}
	return c.stripe().hits[r].Add(1)
}

// stripe chooses a stripe by the address of the caller's stack. That address differs between
// goroutines and costs nothing.
func (c *Counters) stripe() *stripe {
	var here byte
	return &c.local[uint64(uintptr(unsafe.Pointer(&here))>>11)*0x9e3779b97f4a7c15>>(64-stripeBits)]
}

// Inc adds one to a counter, and Add adds n.
func (c *Counters) Inc(s Stat) { c.n[s].Add(1) }

// Add adds n to a counter.
func (c *Counters) Add(s Stat, n int64) { c.n[s].Add(n) }

// Numbers returns the values so far. They are read one by one while other goroutines count.
func (c *Counters) Numbers() (n Numbers) {
	for s := range n {
		n[s] = c.n[s].Load()
	}
	for i := range c.local {
		for r := range c.local[i].hits {
			hits := c.local[i].hits[r].Load()
			n[HitsLocal] += hits
			switch Reason(r) {
			case Revalidating:
				n[StaleRevalidate] += hits
			case FailedLoad:
				n[StaleError] += hits
			case forAbsence:
				n[Negatives] += hits
			case NotStale:
			}
		}
	}
	return n
}

func spaceAttributes(namespace, tenant string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("cache.namespace", namespace), attribute.String("cache.tenant", tenant)}
}
