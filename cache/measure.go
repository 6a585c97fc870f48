package cache

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

// sampled is the number of local hits that one measured hit stands for, a power of two. Of as many
// hits, one is noted for the histogram. Tiers.notable has the bits of sampled-1, or none while spans
// are recorded: then every hit is noted.
const sampled = 1024

// chosen reports whether the hit with that number is the one of its block. A block has 2^n hits,
// whose numbers differ in the given n bits. The place in the block differs from block to block, as
// if by chance: a reader that goes through the same keys over and over would otherwise show the same
// keys each time.
func chosen(nth, bits int64) bool { return (nth^place(nth&^bits))&bits == 0 }

// place mixes the number of a block, like a hash.
func place(block int64) int64 {
	h := uint64(block+1) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return int64(h * 0x9e3779b97f4a7c15 >> 32)
}

// timing reports whether a noted hit is in the histogram. Of sampled hits, one of the noted ones is.
func timing(nth, bits int64) bool { return (nth^place(nth&^(sampled-1)))&(sampled-1)&^bits == 0 }

// note says what a local hit must report. 0: nothing. noted: an event. From timed on: the hit is
// in the sample, and the note minus timed is the time at which the hit read the clock.
type note int64

const (
	noted note = iota + 1
	timed
)

type ending uint8

const (
	endedLocal ending = iota
	endedRemote
	endedLoad
	endedStale
	endedNegative
	endedError
	numEndings
)

var endings = [numEndings]string{"local", "remote", "load", "stale", "negative", "error"}

type direction uint8

const (
	sizeIn direction = iota // from the remote tier to this process
	sizeOut
)

// measures holds the attributes of the measurements of one namespace and tenant. They are made
// once, because making them costs more than using them.
type measures struct {
	space  []metric.RecordOption
	remote [4][]metric.RecordOption             // by remote.Op
	size   [2][]metric.RecordOption             // by direction
	wait   [2][numEndings][]metric.RecordOption // of all calls, and of the sampled hits
	events [numEndings][]trace.EventOption
}

func newMeasures(s key.Space) *measures {
	base := spaceAttributes(s)
	with := func(more ...attribute.KeyValue) []metric.RecordOption {
		set := attribute.NewSet(append(slices.Clip(base), more...)...)
		return []metric.RecordOption{metric.WithAttributeSet(set)}
	}
	m := &measures{space: with()}
	for i, dir := range [...]string{sizeIn: "in", sizeOut: "out"} {
		m.size[i] = with(attribute.String("dir", dir))
	}
	for op := range m.remote {
		m.remote[op] = with(attribute.String("op", remote.Op(op).String()))
	}
	for i, name := range endings {
		outcome := attribute.String("outcome", name)
		m.wait[0][i] = with(outcome, attribute.Int("sampled", 1))
		m.wait[1][i] = with(outcome, attribute.Int("sampled", sampled))
		m.events[i] = []trace.EventOption{trace.WithAttributes(append(slices.Clip(base), outcome)...)}
	}
	return m
}

// told finishes a Get that is a noted hit: it reports the hit. A hit as of an earlier Moment is not
// audited.
//
//go:noinline
func (v *view) told(ctx context.Context, it *entry, n note, present bool) {
	t, end := v.t, endedLocal
	now := t.now()
	switch {
	case it.err != nil:
		end = endedNegative
	case now >= it.freshUntil():
		end = endedStale
	}
	if present {
		v.audit(ctx, it)
	}
	t.seen.event(ctx, v.counts, "cache.hit", end)
	if n >= timed {
		t.seen.waited(ctx, v.counts, now-int64(n-timed), end, true)
	}
}

// tell reports a read that was more than a plain hit and has waited since begun.
//
//go:noinline
func (a *ask) tell(ctx context.Context, begun int64, r *answer, err error) {
	src, end, event := r.src, endedLoad, "cache.hit"
	if src != Local && src != Remote {
		event = "cache.miss"
	}
	switch {
	case r.it != nil && r.it.err != nil:
		end = endedNegative
	case err != nil:
		end = endedError
	case r.stale:
		end = endedStale
	case src != 0:
		end = endedLocal + ending(src-Local)
	}
	a.j.t.seen.event(ctx, a.j.v.counts, event, end)
	if !a.quiet && a.j.t.seen.getTime.Enabled(ctx) {
		a.j.t.seen.waited(ctx, a.j.v.counts, a.j.t.now()-begun, end, a.sample)
	}
}

// waited records the wait of a caller. With ofSample it is a local hit of the sample.
func (o *telemetry) waited(ctx context.Context, c *counters, ns int64, end ending, ofSample bool) {
	if o.getTime.Enabled(ctx) {
		kind := 0
		if ofSample {
			kind = 1
		}
		o.getTime.Record(ctx, float64(max(ns, 0))/1e9, c.measures().wait[kind][end]...)
	}
}

// event adds the outcome of a read to the caller's span. It allocates nothing if no span is
// recorded.
func (o *telemetry) event(ctx context.Context, c *counters, name string, end ending) {
	if o.t.notable.Load() != 0 {
		return
	}
	if s := trace.SpanFromContext(ctx); s.IsRecording() {
		s.AddEvent(name, c.measures().events[end]...)
	}
}
