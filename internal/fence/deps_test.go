package fence_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/invalidate"
)

// builtFrom returns an entry with one part.
func builtFrom(f *fence.Fences, k, part string) *fencetest.Entry {
	e := fencetest.New(f, k)
	e.Tags = &fence.Deps{Keys: []uint64{xxhash.Sum64String(part)}}
	for i, c := range []byte(part) {
		if c == ':' {
			e.Tags.Prefixes = append(e.Tags.Prefixes, xxhash.Sum64String(part[:i+1]))
		}
	}
	return e
}

// A fence of a part covers what was built from it: as an entry, as a load and as a frame.
func TestFencesOfParts(t *testing.T) {
	const part = "acme:users:v1:john"
	for _, tt := range []struct {
		scope  invalidate.Scope
		covers bool
	}{
		{invalidate.Key(fencetest.KeyOf(t, part)), true},
		{invalidate.Key(fencetest.KeyOf(t, "acme:users:v1:jane")), false},
		{invalidate.Prefix("acme", "users:v1:john"), true},
		{invalidate.Prefix("acme", "users:v1:jo"), true},
		{invalidate.Prefix("acme", "users:v1:"), true},
		{invalidate.Prefix("acme", "users:"), true},
		{invalidate.Prefix("acme", "us"), true},
		{invalidate.Prefix("acme", "users:v2:jo"), false},
		{invalidate.Prefix("acme", "posts:"), false},
		{invalidate.Tenant("acme"), true},
		{invalidate.Tenant("bolt"), false},
		{invalidate.Tag("acme", "users:v1:john"), false},
	} {
		t.Run(tt.scope.String(), func(t *testing.T) {
			for _, soft := range []bool{false, true} {
				f := fence.New(start)
				e := builtFrom(f, "acme:pages:1", part)
				plain := fencetest.New(f, "acme:pages:2")
				gen := f.Generation()
				f.Apply(fence.Request{Scopes: []invalidate.Scope{tt.scope}, Soft: soft})
				since := f.Since(gen, uint32(e.Hash), partOf(e.Key)) || f.DepsSince(gen, e.Tags)
				if tt.covers && !since {
					t.Errorf("soft %v: the entry is not checked again", soft)
				}
				ok := e.Clear(f)
				_, accepted := f.Accepts(e.Mark, e.Hash, e.Key, e.Tags)
				over := fencetest.Overtaken(f, e.Mark, e.Hash, e.Key, e.Tags)
				dies := tt.covers && !soft
				if ok == dies || accepted == dies || over != dies || e.Ended != (tt.covers && soft) {
					t.Errorf("soft %v: clear %v, accepted %v, overtaken %v, expired %v; covered: %v", soft, ok, accepted, over, e.Ended, tt.covers)
				}
				if tt.scope.Tenant() != "acme" || tt.scope.Kind() != invalidate.KindPrefix {
					fencetest.Check(t, f, plain, true)
				}
			}
		})
	}
}

// A part of another shard whose fence is forgotten counts as covered, in an entry and in a frame.
func TestForgottenFencesOfParts(t *testing.T) {
	f := fence.NewSmall(16)
	const part = "acme:users:v1:john"
	old := builtFrom(f, "acme:pages:1", part)
	plain := fencetest.New(f, "acme:pages:1", "t")
	hash := xxhash.Sum64String(part)
	f.Fence(invalidate.Key(fencetest.KeyOf(t, part)))
	for i := range uint64(100) { // in the same bucket
		f.StoreHashed(fence.Hashed{Kind: invalidate.KindKey, Hash: hash + (i+1)<<32}, invalidate.Position(1<<62))
	}
	if old.Clear(f) || fencetest.Accepts(f, old.Mark, old.Hash, old.Key, old.Tags) {
		t.Error("the fence of its part is forgotten: want it covered")
	}
	fencetest.Check(t, f, plain, true)
}

// The cost of a built entry's check.
func BenchmarkParts(b *testing.B) {
	f := fence.New(start)
	e := fencetest.New(f, "acme:pages:1")
	e.Tags = new(fence.Deps)
	for i := range uint64(300) {
		e.Tags.Keys = append(e.Tags.Keys, (i+1)*0x9e3779b97f4a7c15)
	}
	e.Tags.Prefixes = []uint64{1, 2, 3}
	for i := range uint64(100_000) {
		f.StoreHashed(fence.Hashed{Kind: invalidate.KindKey, Hash: (i + 1e6) * 0x9e3779b97f4a7c15}, 1)
	}
	b.Run("since", func(b *testing.B) {
		gen := f.Generation()
		for b.Loop() {
			f.DepsSince(gen, e.Tags)
		}
	})
	b.Run("check", func(b *testing.B) {
		born := f.Tick()
		for b.Loop() {
			f.ClearExact(born, uint32(e.Hash), e, e.Tags)
		}
	})
	b.Run("check, all moved", func(b *testing.B) {
		for b.Loop() {
			f.ClearExact(0, uint32(e.Hash), e, e.Tags)
		}
	})
	b.Run("accepts", func(b *testing.B) {
		m := fence.Mark{Key: 1 << 62, Scope: 1 << 62}
		for b.Loop() {
			f.Accepts(m, e.Hash, e.Key, e.Tags)
		}
	})
	b.Run("store", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			f.StoreHashed(fence.Hashed{Kind: invalidate.KindKey, Hash: i % 1000 * 0x9e3779b97f4a7c15}, 1)
		}
	})
}

// A hit that checks an entry with too many parts while a fence is being stored does not take the
// fence's generation for one that it has checked.
func TestFenceRacesHitOfManyParts(t *testing.T) {
	rounds := 20_000
	if race.Enabled {
		rounds /= 10
	}
	k := invalidate.Key(fencetest.KeyOf(t, "acme:users:v1:john"))
	for name, deps := range map[string]*fence.Deps{
		"one part": {Keys: []uint64{k.Hash()}},
		"too many": {Keys: []uint64{invalidate.AnyTag}},
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.New(start)
			e := fencetest.New(f, "acme:pages:1")
			e.Tags = deps
			var born, clearAt atomic.Uint64
			hit := func() bool { // as the cache does it
				gen := f.Generation()
				if at := clearAt.Load(); at == gen || !f.Since(at, uint32(e.Hash), partOf(e.Key)) && !f.DepsSince(at, e.Tags) {
					return true
				}
				_, _, ok := f.Clear(born.Load(), uint32(e.Hash), e, e.Tags)
				if ok {
					clearAt.Store(gen)
				}
				return ok
			}
			for i := range rounds {
				born.Store(f.Tick())
				clearAt.Store(f.Generation())
				var begun, over atomic.Bool
				var hits sync.WaitGroup
				hits.Go(func() {
					begun.Store(true)
					for !over.Load() {
						hit()
					}
				})
				for !begun.Load() {
					runtime.Gosched()
				}
				f.Fence(k)
				over.Store(true)
				hits.Wait()
				if hit() {
					t.Fatalf("round %d: the entry outlived the fence of its part", i)
				}
			}
		})
	}
}
