package ops

import (
	"context"
	"sync"
	"time"
)

// The charts show an hour.
const (
	sampleEvery = 10 * time.Second
	sampleCount = int(time.Hour/sampleEvery) + 1 // intervals lie between samples
)

// maxSeries bounds the series of a sample, whatever the caches make up.
const maxSeries = 64

// tally is how many look-ups there were so far, and how many of them were hits.
type tally struct{ hits, all int64 }

// sample is what the counters said at a moment.
type sample struct {
	at      time.Time
	n       int64            // 0 for the first, then one more
	ratios  map[string]tally // by series
	queries int64
}

// sampler keeps the latest samples.
type sampler struct {
	mu   sync.Mutex // protects the rest
	kept []sample   // the oldest first
	n    int64
}

func (s *sampler) add(x sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.n = s.n
	s.n++
	if len(s.kept) == sampleCount {
		copy(s.kept, s.kept[1:])
		s.kept = s.kept[:sampleCount-1]
	}
	s.kept = append(s.kept, x)
}

// all returns the samples, the oldest first. What is in them must not be changed.
func (s *sampler) all() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sample(nil), s.kept...)
}

// Run reads the counters every ten seconds, for the charts, until ctx ends.
func (h *Handler) Run(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		h.samples.add(h.sample())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sample reads the counters.
func (h *Handler) sample() sample {
	x := sample{at: h.cfg.Now(), ratios: map[string]tally{}}
	if h.cfg.Queries != nil {
		x.queries = h.cfg.Queries()
	}
	c := h.cfg.Caches
	if c == nil {
		return x
	}
	objects, responses := objectTallies(c.Objects.Stats()), responseTallies(c.Responses.Stats())
	for _, name := range objects.names() {
		x.count(allObjects, objectSeries+name, objects[name])
	}
	for _, name := range responses.names() {
		x.count(allResponses, responseSeries+name, responses[name])
	}
	return x
}

// The names of series. Types and formats come after the prefixes.
const (
	allObjects     = "objects"
	allResponses   = "responses"
	objectSeries   = "objects/"
	responseSeries = "responses/"
)

// count adds what a series has counted to it and to the series of all of its kind.
func (x *sample) count(all, series string, t tally) {
	for _, name := range []string{all, series} {
		sum, ok := x.ratios[name]
		if !ok && len(x.ratios) >= maxSeries {
			continue
		}
		x.ratios[name] = tally{sum.hits + t.hits, sum.all + t.all}
	}
}
