package measure

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
)

// The wait of a caller and the outcome of its read are recorded in a histogram, and as an event
// of the caller's span. The histogram has one local hit in 1,024, with that number as an
// attribute. The sample needs no second reading of the clock before the hit: its time begins at
// the hit's own reading, after the look-up of the key.

// Sampled is the number of local hits that one measured hit stands for, a power of two. One of
// Sampled hits is noted for the histogram. [Telemetry.Notable] has the bits of Sampled-1, or none
// while spans are recorded: then every hit is noted.
const Sampled = 1024

// Chosen reports whether the hit with that number is the one of its block. A block has 2^n hits,
// whose numbers differ in the given n bits. The place in the block differs from block to block, as
// if by chance: a reader that goes through the same keys over and over would otherwise show the same
// keys each time.
func Chosen(nth, bits int64) bool { return (nth^place(nth&^bits))&bits == 0 }

// place mixes the number of a block, like a hash.
func place(block int64) int64 {
	h := uint64(block+1) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return int64(h * 0x9e3779b97f4a7c15 >> 32)
}

// Timing reports whether a noted hit is in the histogram. It is true for one of Sampled hits.
func Timing(nth, bits int64) bool { return (nth^place(nth&^(Sampled-1)))&(Sampled-1)&^bits == 0 }

// Ending is the outcome of a read.
type Ending uint8

// The outcomes of reads.
const (
	EndedLocal Ending = iota
	EndedRemote
	EndedLoad
	EndedStale
	EndedNegative
	EndedError
	numEndings
)

var endings = [numEndings]string{"local", "remote", "load", "stale", "negative", "error"}

// Direction is the way of a value between this process and the remote tier.
type Direction uint8

// The directions of values.
const (
	SizeIn Direction = iota // from the remote tier to this process
	SizeOut
)

// measures holds the attributes of the measurements of one namespace and tenant. They are made
// once, because making them costs more than using them.
type measures struct {
	space  []metric.RecordOption
	remote [4][]metric.RecordOption             // by remote.Op
	size   [2][]metric.RecordOption             // by Direction
	wait   [2][numEndings][]metric.RecordOption // of all calls, and of the sampled hits
	events [numEndings][]trace.EventOption
}

func newMeasures(s key.Space) *measures {
	base := spaceAttributes(s.Namespace, s.Tenant)
	with := func(more ...attribute.KeyValue) []metric.RecordOption {
		set := attribute.NewSet(append(slices.Clip(base), more...)...)
		return []metric.RecordOption{metric.WithAttributeSet(set)}
	}
	m := &measures{space: with()}
	for i, dir := range [...]string{SizeIn: "in", SizeOut: "out"} {
		m.size[i] = with(attribute.String("dir", dir))
	}
	for op := range m.remote {
		m.remote[op] = with(attribute.String("op", remote.Op(op).String()))
	}
	for i, name := range endings {
		outcome := attribute.String("outcome", name)
		m.wait[0][i] = with(outcome, attribute.Int("sampled", 1))
		m.wait[1][i] = with(outcome, attribute.Int("sampled", Sampled))
		m.events[i] = []trace.EventOption{trace.WithAttributes(append(slices.Clip(base), outcome)...)}
	}
	return m
}

// Waits reports whether the waits of callers are recorded.
func (o *Telemetry) Waits(ctx context.Context) bool { return o.getTime.Enabled(ctx) }

// Waited records the wait of a caller. If ofSample is true, it is a local hit of the sample.
func (o *Telemetry) Waited(ctx context.Context, c *Counters, ns int64, end Ending, ofSample bool) {
	if o.getTime.Enabled(ctx) {
		kind := 0
		if ofSample {
			kind = 1
		}
		o.getTime.Record(ctx, float64(max(ns, 0))/1e9, c.measures().wait[kind][end]...)
	}
}

// Event adds the outcome of a read to the caller's span. It allocates nothing if no span is
// recorded.
func (o *Telemetry) Event(ctx context.Context, c *Counters, name string, end Ending) {
	if o.Notable.Load() != 0 {
		return
	}
	if s := trace.SpanFromContext(ctx); s.IsRecording() {
		s.AddEvent(name, c.measures().events[end]...)
	}
}

// ValueSize records the encoded size of a value.
func (o *Telemetry) ValueSize(c *Counters, dir Direction, n int) {
	if ctx := context.Background(); o.valueBytes.Enabled(ctx) {
		o.valueBytes.Record(ctx, int64(n), c.measures().size[dir]...)
	}
}

// Staleness records how far past its freshness a served value was.
func (o *Telemetry) Staleness(c *Counters, ns int64) {
	if ctx := context.Background(); o.staleAge.Enabled(ctx) {
		o.staleAge.Record(ctx, float64(max(ns, 0))/1e9, c.measures().space...)
	}
}

// Stale counts a stale value that was served, and records how far past its freshness it was.
func (o *Telemetry) Stale(c *Counters, r Reason, over int64) {
	if r == NotStale {
		return
	}
	c.Inc(StaleRevalidate + Stat(r-Revalidating))
	o.Staleness(c, over)
}
