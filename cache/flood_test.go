package cache_test

import (
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// These tests invalidate as fast as two goroutines can, in real time. Under the race detector they
// are too small to fill the fence tables, and look for races only. BenchmarkFlood is larger.

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

// spelledInt is a key whose text a caller's code makes.
type spelledInt int

func (k spelledInt) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(k), 10), nil }

// However fast other things are invalidated, cached entries stay, and no invalidation is lost.
func TestFloods(t *testing.T) {
	for name, other := range map[string]func(tiers *cache.Tiers, c things, i int) error{
		"deletes": func(_ *cache.Tiers, c things, i int) error { return c.Delete(t.Context(), flooded+i) },
		"sets":    func(_ *cache.Tiers, c things, i int) error { return c.Set(t.Context(), flooded+i, "v") },
		"expiries": func(_ *cache.Tiers, c things, i int) error {
			return c.Expire(t.Context(), flooded+i)
		},
		"tags": func(tiers *cache.Tiers, _ things, i int) error {
			return tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, strconv.Itoa(i)))
		},
		"prefixes": func(tiers *cache.Tiers, _ things, i int) error {
			return tiers.Invalidate(t.Context(), invalidate.Prefix(cache.DefaultTenant, "others:"+strconv.Itoa(i)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tiers := roomy(t, local.New(local.Config{MaxBytes: 2 << 30}))
			c := reside(t, tiers, flooded, func(k int, _ string) []string { return []string{"mine", "its " + strconv.Itoa(k)} })
			atOnce(t, scaled(1_000_000), func(i int) error { return other(tiers, c, i) })
			wantResidents(t, c, flooded, 999)
			t.Logf("%+v", tiers.Stats().Fences)
		})
	}
}

// The same holds for other tiers and for other kinds of keys. While the others are invalidated, so
// is every tenth entry; it is gone, and it takes no memory.
func TestFloodsOfTiers(t *testing.T) {
	for name, l := range map[string]tier.Local{
		"local":     local.New(local.Config{MaxBytes: 1 << 30}),
		"ristretto": ristretto.New(ristretto.Config{MaxBytes: 1 << 30}),
	} {
		t.Run(name, func(t *testing.T) {
			tiers := roomy(t, l)
			c, err := cache.New(tiers, cache.Config[spelledInt, int]{Namespace: "spelled"})
			must(t, err)
			for k := range spelledInt(flooded) {
				must(t, c.Set(t.Context(), k, 1))
			}
			n := scaled(1_000_000)
			atOnce(t, n, func(i int) error {
				if i%10 == 0 && i < flooded { // not by Delete, which takes the entry out itself
					full, err := key.Parse("default:spelled:" + strconv.Itoa(i))
					return errors.Join(err, tiers.Invalidate(t.Context(), invalidate.Key(full)))
				}
				return c.Delete(t.Context(), spelledInt(flooded+i))
			})
			hits, gone := 0, min(n, flooded)/10
			for k := range spelledInt(flooded) {
				_, ok := c.Peek(t.Context(), k)
				if ok && k%10 == 0 && int(k) < n {
					t.Fatalf("entry %d is served after its invalidation", k)
				}
				if ok {
					hits++
				}
			}
			if want := (flooded - gone) * 999 / 1000; hits < want {
				t.Errorf("%d hits, want at least %d", hits, want)
			}
			if s := tiers.Stats(); !race.Enabled && int(s.Local.Entries) > flooded-gone/2 {
				t.Errorf("%d entries for %d hits: the dead are still in the tier", s.Local.Entries, hits)
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
	wantResidents(t, c, flooded, 999)
	if s := tiers[0].Stats(); s.Log.Lapses > 0 || s.Fences.Keys == 0 {
		t.Errorf("%+v and %+v, want fences and no lapse", s.Log, s.Fences)
	}
}

// BenchmarkFlood counts what is left of 2,000,000 residents after 2,000,000 Deletes or Sets of other
// keys, as fast as two goroutines can, and the heap with and without the flood.
func BenchmarkFlood(b *testing.B) {
	const n = 2_000_000
	for name, other := range map[string]func(c things, i int) error{
		"deletes": func(c things, i int) error { return c.Delete(b.Context(), n+i) },
		"sets":    func(c things, i int) error { return c.Set(b.Context(), n+i, "v") },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				tiers, err := cache.Open(cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 4 << 30})})
				if err != nil {
					b.Fatal(err)
				}
				c, err := cache.New(tiers, cache.Config[int, string]{Namespace: "things"})
				if err != nil {
					b.Fatal(err)
				}
				empty := heap()
				atOnce(b, n, func(i int) error { return c.Set(b.Context(), i, "v") })
				full := heap()
				b.StartTimer()
				atOnce(b, n, func(i int) error { return other(c, i) })
				b.StopTimer()
				flooded := heap()
				hits := 0
				for k := range n {
					if _, ok := c.Peek(b.Context(), k); ok {
						hits++
					}
				}
				b.ReportMetric(100*float64(hits)/n, "%hits")
				b.ReportMetric(float64(full-empty)/n, "B/resident")
				b.ReportMetric(float64(flooded)/(1<<20), "MiB")
				_ = tiers.Close(b.Context())
				b.StartTimer()
			}
		})
	}
}

// heap returns the bytes of the heap in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
