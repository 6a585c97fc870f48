package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

type profile struct {
	ID    int64
	Name  string
	Email string
	Score float64
}

func profileOf(id int64) profile {
	return profile{ID: id, Name: "Ada Lovelace", Email: "ada@example.org", Score: float64(id)}
}

var sink atomic.Int64

// BenchmarkLocalHit reads resident keys. internal/bench compares it with other libraries.
func BenchmarkLocalHit(b *testing.B) {
	tiers, err := cache.Open(cache.TiersConfig{})
	must(b, err)
	c, err := cache.New(tiers, cache.For("bench:v1", func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil }))
	must(b, err)
	const n = 1024
	ctx, sum := b.Context(), int64(0)
	for id := range int64(n) {
		_, _ = c.Get(ctx, id)
	}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		v, _ := c.Get(ctx, i%n)
		sum += v.ID
	}
	sink.Store(sum)
}

// BenchmarkLocalHitBesideALoad measures what one running load costs a hit of another key. While any
// load runs, a hit looks for a load in its context, because the hit could be a part of that load's
// value. The names tell how deeply the context is nested.
func BenchmarkLocalHitBesideALoad(b *testing.B) {
	for _, depth := range []int{0, 4, 16} {
		ctx := context.Background()
		for range depth {
			ctx = context.WithValue(ctx, new(int), 0)
		}
		for _, loads := range []int{0, 1} {
			b.Run(fmt.Sprintf("nested=%d/loads=%d", depth, loads), func(b *testing.B) {
				end, began := make(chan struct{}), make(chan struct{})
				tiers, err := cache.Open(cache.TiersConfig{})
				must(b, err)
				c, err := cache.New(tiers, cache.For("bench:v1", func(_ context.Context, id int64) (profile, error) {
					if id == 1 {
						close(began)
						<-end
					}
					return profileOf(id), nil
				}))
				must(b, err)
				_, _ = c.Get(b.Context(), 0)
				var loading sync.WaitGroup
				if loads == 1 {
					loading.Go(func() { _, _ = c.Get(b.Context(), 1) })
					<-began
				}
				b.ReportAllocs()
				for b.Loop() {
					v, _ := c.Get(ctx, 0)
					sink.Store(v.ID)
				}
				close(end)
				loading.Wait()
				must(b, tiers.Close(context.Background()))
			})
		}
	}
}

// allocates checks how often a call allocates. Under the race detector it allocates as well.
func allocates(t *testing.T, what string, most float64, call func()) {
	t.Helper()
	call()
	if n := testing.AllocsPerRun(1000, call); n > most && !race.Enabled {
		t.Errorf("%s allocates %v times, want at most %v", what, n, most)
	}
}

// A miss allocates little beside what its loader allocates: see scope.Scope. Without a remote tier and
// a log, a Set allocates its entry and the spelled key.
func TestAllocations(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int64, profile]{
		Load: func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil },
	})
	id := int64(0)
	allocates(t, "a miss", 8, func() { id++; get(t, c, id) }) // and sometimes a queue or a table grows
	allocates(t, "a Set", 2, func() { must(t, c.Set(t.Context(), 1, profileOf(1))) })
}

// A local hit allocates nothing, with a log or without one.
func TestLocalHitAllocatesNothing(t *testing.T) {
	t.Run("no log", func(t *testing.T) { allocatesNothing(t, nil) })
	t.Run("log", func(t *testing.T) { // a long bound, so that the lease is not renewed during the test
		allocatesNothing(t, logtest.NewMemory(logtest.MemoryConfig{Bound: time.Minute}))
	})
}

func allocatesNothing(t *testing.T, log invalidate.Log) {
	t.Helper()
	tiers := open(t, cache.TiersConfig{Log: log})
	must(t, tiers.Ready(t.Context()))
	load := func(_ context.Context, id int64) (profile, error) {
		if id < 0 {
			return profile{}, cache.ErrNotFound
		}
		return profileOf(id), nil
	}
	c := with(t, tiers, cache.For("n", load))
	s := with(t, tiers, cache.For("s", func(context.Context, string) (profile, error) { return profileOf(1), nil }))
	ctx := t.Context()
	acme := c.Tenant("acme")
	kept := cache.With(policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour), SoftTimeout: new(time.Second)})
	_, _ = c.Get(ctx, 1)
	for name, op := range map[string]func(){
		"Get":              func() { _, _ = c.Get(ctx, 1) },
		"Get of a string":  func() { _, _ = s.Get(ctx, "one") },
		"Get of a tenant":  func() { _, _ = acme.Get(ctx, 1) },
		"Tenant, then Get": func() { _, _ = c.Tenant("acme").Get(ctx, 1) },
		"negative Get":     func() { _, _ = c.Get(ctx, -1) },
		"GetOrLoad":        func() { _, _ = c.GetOrLoad(ctx, 1, load) },
		"MaxAge":           func() { _, _ = c.GetOrLoad(ctx, 1, load, cache.MaxAge(time.Hour)) },
		"options": func() {
			_, _ = c.GetOrLoad(ctx, 1, load, cache.TTL(time.Hour), cache.MaxAge(time.Hour), cache.Fresh(), cache.SkipRemote())
		},
		"With": func() { _, _ = c.GetOrLoad(ctx, 1, load, kept) },
		"With, of many tenants": func() {
			for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
				_, _ = c.Tenant(name).GetOrLoad(ctx, 1, load, kept, cache.MaxAge(time.Hour))
			}
		},
		"Fetch": func() { _, _ = c.Fetch(ctx, 1, nil) },
		"Peek":  func() { _, _ = c.Peek(ctx, 1) },
	} {
		allocates(t, name, 0, op)
	}
}

// While the refresh is under way, a stale hit costs as little as a fresh one.
func TestStaleHitAllocatesNothing(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	hung, refreshing := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(hung) })
	var loads atomic.Int64
	c := with(t, tiers, cache.Config[int64, profile]{
		Load: func(_ context.Context, id int64) (profile, error) {
			if loads.Add(1) > 1 {
				close(refreshing)
				<-hung
			}
			return profileOf(id), nil
		},
		Policy: policy.Patch{TTL: new(time.Minute), Stale: new(time.Hour)},
	})
	hit := func() { equal(t, get(t, c, 1).ID, 1, "Get") }
	hit()
	must(t, c.Expire(t.Context(), 1))
	hit() // starts the refresh
	<-refreshing
	const n = 1000
	allocates(t, "a stale hit", 0, hit)
	if s := total(tiers); s.Reads.StaleRevalidating < n || s.Reads.LocalHits < n || loads.Load() != 2 {
		t.Errorf("%d hits, %d of them stale, %d loads; want at least %d, and 2 loads", s.Reads.LocalHits, s.Reads.StaleRevalidating, loads.Load(), n)
	}
}

// remoteHitAllocations is the number of allocations of a remote hit with a tiertest.Memory: the
// tier's copy of the frame, JSON decoding, the flight, the full key, the item, and the call's
// deadline.
const remoteHitAllocations = 10

// forgetful is a local tier whose last entry the test can delete.
type forgetful struct {
	*local.Tier
	last uint64
}

func (f *forgetful) Set(hash uint64, e any, cost int64) bool {
	f.last = hash
	return f.Tier.Set(hash, e, cost)
}

func TestRemoteHitAllocations(t *testing.T) {
	remote, near := tiertest.NewMemory(), &forgetful{Tier: local.New(local.Config{})}
	cfg := cache.Config[int64, profile]{
		Policy: patch{RemoteTimeout: new(time.Minute)}, // a busy machine may stop the test for longer than the default
		Load:   func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil },
	}
	get(t, with(t, open(t, cache.TiersConfig{Remote: remote}), cfg), 1)
	cfg.Load = func(context.Context, int64) (profile, error) {
		return profile{}, errors.New("the value is in the remote tier")
	}
	tiers := open(t, cache.TiersConfig{Remote: remote, Local: near})
	c := with(t, tiers, cfg)
	reads := int64(0)
	allocates(t, "a remote hit", remoteHitAllocations, func() {
		if p, err := c.Get(t.Context(), 1); err != nil || p != profileOf(1) {
			t.Fatal(p, err)
		}
		near.Delete(near.last)
		reads++
	})
	equal(t, total(tiers).Reads.RemoteHits, reads, "remote hits")
}
