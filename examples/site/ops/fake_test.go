package ops_test

import (
	"sync"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// fake are caches that say what a test wants them to.
type fake struct {
	mu              sync.Mutex // protects the numbers
	present, absent cache.Stats
	responses       httpcache.Stats
	queries         int64

	events pipeline.Stats
	recent []pipeline.Record
}

func newFake() *fake {
	return &fake{responses: httpcache.Stats{Formats: map[string]httpcache.Counts{}}}
}

func (f *fake) config() ops.Config {
	return ops.Config{
		Caches: &ops.Caches{Objects: fakeObjects{f}, Responses: fakeResponses{f}, Changes: fakeChanges{f}},
		Queries: func() int64 {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.queries
		},
	}
}

// object counts look-ups of a type.
func (f *fake) object(name string, hits, misses int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.present.Spaces = []cache.SpaceStats{{Namespace: name, Counts: cache.Counts{LocalHits: hits, Misses: misses}}}
}

// format counts requests of a format, beside those of others.
func (f *fake) format(name string, n httpcache.Counts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	formats := map[string]httpcache.Counts{name: n}
	for other, n := range f.responses.Formats {
		if other != name {
			formats[other] = n
		}
	}
	f.responses.Formats = formats
}

// asked counts queries.
func (f *fake) asked(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = n
}

type fakeObjects struct{ *fake }

func (f fakeObjects) Stats() (present, absent cache.Stats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.present, f.absent
}

type fakeChanges struct{ *fake }

func (f fakeChanges) Stats() pipeline.Stats { return f.events }

func (f fakeChanges) Recent() []pipeline.Record { return f.recent }

type fakeResponses struct{ *fake }

func (f fakeResponses) Stats() httpcache.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.responses
}
