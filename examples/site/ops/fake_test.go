package ops_test

import (
	"context"
	"iter"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// fake are caches that say what a test wants them to.
type fake struct {
	mu              sync.Mutex // protects the numbers
	present, absent cache.Stats
	tiers           cache.Stats
	responses       httpcache.Stats
	queries         int64

	events        pipeline.Stats
	recent        []pipeline.Record
	objectIndex   *index.Index
	responseIndex *index.Index
}

func newFake() *fake {
	return &fake{
		responses:     httpcache.Stats{Formats: map[string]httpcache.Counts{}},
		objectIndex:   index.New(index.Config{}),
		responseIndex: index.New(index.Config{}),
	}
}

func (f *fake) config() ops.Config {
	return ops.Config{
		Caches: &ops.Caches{
			Objects: fakeObjects{f}, Responses: fakeResponses{f}, Tiers: fakeTiers{f}, Index: f.responseIndex, Changes: fakeChanges{f},
			Budgets: ops.Budgets{Objects: 1 << 20},
		},
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

func (f fakeObjects) Index() *index.Index { return f.objectIndex }

// stored is an entry of an index that no cache has.
type stored struct {
	key  string
	tags []string
}

func (s *stored) Key() string { return s.key }

func (s *stored) Tags() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for _, tag := range s.tags {
			if !yield(invalidate.Tag(cache.DefaultTenant, tag).Hash(), cache.DefaultTenant+":"+tag) {
				return
			}
		}
	}
}

func (*stored) Alive() bool { return true }

type fakeTiers struct{ *fake }

func (f fakeTiers) Stats() cache.Stats { return f.tiers }

func (fakeTiers) Invalidate(context.Context, ...invalidate.Scope) error { return nil }

type fakeChanges struct{ *fake }

func (f fakeChanges) Stats() pipeline.Stats { return f.events }

func (f fakeChanges) Recent() []pipeline.Record { return f.recent }

func (fakeChanges) Entities(context.Context, ...content.Entity) error { return nil }

func (fakeChanges) Everything(context.Context) error { return nil }

type fakeResponses struct{ *fake }

func (f fakeResponses) Stats() httpcache.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.responses
}

func (fakeResponses) KeyOf(r *http.Request) (full string, ok bool) {
	return "default:responses:" + r.URL.Path, true
}

func (fakeResponses) Under(_ bool, _, path string) invalidate.Scope {
	return invalidate.Prefix("default", "responses:"+path)
}

func (fakeResponses) Purge(context.Context, *http.Request) error { return nil }

func (fakeResponses) PurgePath(context.Context, string) error { return nil }

func (fakeResponses) Expire(context.Context, *http.Request) error { return nil }
