package cache_test

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// An entry is invalidated only by an invalidation that covers it, however many others there are.

// scaled returns n, or a tenth of it under the race detector.
func scaled(n int) int {
	if race.Enabled {
		return n / 10
	}
	return n
}

// roomy returns Tiers whose local tier has room for all entries of these tests.
func roomy(t *testing.T, l tier.Local) *cache.Tiers {
	t.Helper()
	if l == nil {
		l = local.New(local.Config{MaxBytes: 512 << 20})
	}
	return open(t, cache.TiersConfig{Local: l})
}

// reside stores the keys below n with the tags that tagsOf returns.
func reside(t *testing.T, tiers *cache.Tiers, n int, tagsOf func(k int, v string) []string) things {
	t.Helper()
	c := with(t, tiers, thingConfig{Tags: tagsOf, Policy: patch{TTL: new(time.Hour)}})
	for k := range n {
		must(t, c.Set(t.Context(), k, "v"))
	}
	return c
}

// wantResidents checks that at least so many of the keys below n are local hits.
func wantResidents(t *testing.T, c things, n, want int) {
	t.Helper()
	hits := 0
	for k := range n {
		if _, ok := c.Peek(t.Context(), k); ok {
			hits++
		}
	}
	if hits < want {
		t.Errorf("%d of %d keys are hits, want at least %d", hits, n, want)
	}
}

// When the local tier has room for all Sets, all of them are hits.
func TestSetsWithRoom(t *testing.T) {
	n := scaled(400_000)
	c := reside(t, roomy(t, nil), n, nil)
	wantResidents(t, c, n, n)
}

func otherDeletes(t *testing.T, c things, from, n int) {
	t.Helper()
	for i := range n {
		must(t, c.Delete(t.Context(), from+i))
	}
}

// After an entry is deleted, so much else is deleted that its fence is forgotten. The entry
// stays deleted, and entries that were not deleted stay.
func TestSettledTellsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const residents, others, bulk = 1000, 400_000, 4000
		w := newLogged(t, thingConfig{Policy: patch{TTL: new(time.Hour)}})
		var even []invalidate.Scope
		for k := range residents {
			w.want(t, 1, k, strconv.Itoa(k)+".1")
			if k%2 == 0 {
				even = append(even, keyScope(t, k))
			}
		}
		w.invalidate(t, 0, even...)
		for i := 0; i < others; i += bulk {
			var some []invalidate.Scope
			for k := range bulk {
				some = append(some, keyScope(t, residents+i+k))
			}
			w.invalidate(t, 0, some...)
			advance(10 * time.Millisecond)
		}
		w.src.wantLoads(t, residents)
		if s := w.tiers[1].Stats(); s.Fences.Keys > others-bulk || s.Fences.Forgotten > 0 {
			t.Errorf("Stats = %+v, want forgotten fences and no forgotten entries", s.Fences)
		}
		for k := range residents {
			w.want(t, 1, k, strconv.Itoa(k)+"."+strconv.Itoa(2-k%2))
		}
		w.src.wantLoads(t, residents+residents/2)
	})
}

// These tests invalidate as fast as two goroutines can, in real time. Under the race detector they
// are too small to fill the fence tables, and look for races only.

var flooded = scaled(200_000) // residents

// atOnce calls f for each number below n, on two goroutines.
func atOnce(t testing.TB, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for i := g; i < n; i += 2 {
				if err := f(i); err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// However fast other things are invalidated, cached entries stay, in any tier. Every tenth entry is invalidated,
// too: it is gone, and it takes no memory.
func TestFloods(t *testing.T) {
	deletes := func(_ *cache.Tiers, c things, i int) error { return c.Delete(t.Context(), flooded+i) }
	tags := func(tiers *cache.Tiers, _ things, i int) error {
		return tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, strconv.Itoa(i)))
	}
	for name, other := range map[string]func(tiers *cache.Tiers, c things, i int) error{
		"deletes": deletes, "deletes, ristretto": deletes, "tags": tags, "tags, and entries without any": tags,
		"sets":     func(_ *cache.Tiers, c things, i int) error { return c.Set(t.Context(), flooded+i, "v") },
		"expiries": func(_ *cache.Tiers, c things, i int) error { return c.Expire(t.Context(), flooded+i) },
		"prefixes": func(tiers *cache.Tiers, _ things, i int) error {
			return tiers.Invalidate(t.Context(), invalidate.Prefix(cache.DefaultTenant, "others:"+strconv.Itoa(i)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l tier.Local = local.New(local.Config{MaxBytes: 2 << 30})
			if strings.Contains(name, "ristretto") {
				l = ristretto.New(ristretto.Config{MaxBytes: 1 << 30})
			}
			tiers := roomy(t, l)
			tagsOf := func(k int, _ string) []string { return []string{"mine", "its " + strconv.Itoa(k)} }
			if strings.Contains(name, "without") {
				tagsOf = nil
			}
			c := reside(t, tiers, flooded, tagsOf)
			atOnce(t, scaled(1_000_000), func(i int) error {
				if i%10 == 0 && i < flooded { // not by Delete, which takes the entry out itself
					return tiers.Invalidate(t.Context(), keyScope(t, i))
				}
				return other(tiers, c, i)
			})
			for k := 0; k < flooded; k += 10 {
				if _, ok := c.Peek(t.Context(), k); ok {
					t.Fatalf("entry %d is served after its invalidation", k)
				}
			}
			wantResidents(t, c, flooded, flooded*9/10*999/1000)
			s := tiers.Stats()
			if t.Logf("%+v", s.Fences); strings.Contains(name, "deletes") && !race.Enabled && int(s.Local.Entries) > flooded*95/100 {
				t.Errorf("%d entries: the dead are still in the tier", s.Local.Entries)
			}
		})
	}
}

// A flood that comes through the log from another process takes no entry, and no lease.
func TestFloodThroughTheLog(t *testing.T) {
	log := logtest.NewMemory(logtest.MemoryConfig{Bound: 2 * time.Second})
	var tiers [2]*cache.Tiers
	for i := range tiers {
		tiers[i] = open(t, cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 30}), Log: log, InvalidateWait: time.Minute})
	}
	cfg := thingConfig{LocalOnly: true, Load: (&source{}).load, Policy: patch{TTL: new(time.Hour)}}
	c, other := with(t, tiers[0], cfg), with(t, tiers[1], cfg)
	for k := range flooded {
		get(t, c, k)
	}
	const bulk = 1000
	atOnce(t, scaled(1_000_000)/bulk, func(i int) error {
		keys := make([]int, bulk)
		for j := range keys {
			keys[j] = flooded + i*bulk + j
		}
		return other.DeleteMany(t.Context(), keys)
	})
	must(t, tiers[0].Ready(t.Context()))
	wantResidents(t, c, flooded, flooded*999/1000)
	if s := tiers[0].Stats(); s.Log.Lapses > 0 || s.Fences.Keys == 0 {
		t.Errorf("%+v and %+v, want fences and no lapse", s.Log, s.Fences)
	}
}

// heap returns the bytes of the heap in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
