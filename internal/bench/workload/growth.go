package workload

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
)

// Workload H measures hits while something grows: the number of keys, of tags per value, and of
// namespaces in one process.

var (
	growthWarm = [3]int64{50, 10, 1}
	growthSpan = [3]int64{150, 40, 3}
)

// growKeys compares peers with n keys. At the largest number each peer would take gigabytes, so
// only the map is compared with ours.
func (e *Env) growKeys(n int) {
	if n > by(e, 10_000_000, 100_000, 10_000) {
		return
	}
	// A heap limit of twice ten million entries would exceed the memory of many machines.
	limit := debug.SetMemoryLimit(12 << 30)
	e.t.Cleanup(func() {
		debug.FreeOSMemory()
		debug.SetMemoryLimit(limit)
	})
	stream := make([]peers.Key, 1<<18)
	for i, k := range trace.Zipf(1, n, len(stream)) {
		stream[i].ID = int64(k)
	}
	names := []string{"twofold", "map+RWMutex", "ristretto", "otter"}
	if n > 1_000_000 {
		names = names[:2]
	}
	var cs []contender
	for _, name := range names {
		p := open(e.t, name, peers.Options{Entries: n * 5 / 4, MaxBytes: max(int64(n)*1024, 8<<20), Load: loadSmall}, n, peers.Small)
		cs = append(cs, reads(name, stream, byPeer(p)))
	}
	e.compare(&scenario{id: "H", setting: strconv.Itoa(n) + " keys", warm: growthWarm, span: growthSpan, tables: []report.Comparison{{
		Title: "H: a hit by the number of keys, zipf, 1 goroutine", Reference: "map+RWMutex", Unit: nsOp,
	}}}, cs)
}

// growTags measures hits and misses of values with tags.
func (e *Env) growTags() {
	n := by(e, 100_000, 10_000, 500)
	stream := KeyStream(n, 1<<16)
	var hits, misses []contender
	for _, tags := range []int{0, 1, 2, 4, 8} {
		name := fmt.Sprintf("%d tags", tags)
		p := twofold(e.t, peers.Options{Entries: 2 * n, Load: loadSmall}, peers.Twofold{Tags: tagger(tags)}, n)
		next := int64(1) << 40
		hits = append(hits, reads(name, stream, byPeer(p)))
		misses = append(misses, contender{name: name, op: func(ctx context.Context, _ int) error {
			next++
			_, err := p.Cache.Get(ctx, next)
			return err
		}})
	}
	tables := []report.Comparison{{Title: "H: by the tags of a value", Reference: "0 tags", Unit: nsOp, More: []string{allocsOp}}}
	e.compare(&scenario{id: "H", setting: "tags, hit", warm: growthWarm, span: growthSpan, tables: tables}, hits)
	e.compare(&scenario{id: "H", setting: "tags, miss", span: missSpan, tables: tables}, misses)
}

// tagger returns a function that gives each value this many tags out of a thousand.
func tagger(tags int) func(int64, peers.Value) []string {
	if tags == 0 {
		return nil
	}
	var names [1000]string
	for i := range names {
		names[i] = fmt.Sprint("org:", i)
	}
	return func(id int64, _ peers.Value) []string {
		first := int(id*8) % (len(names) - tags)
		return names[first : first+tags]
	}
}

// growSpaces spreads a fixed number of keys over a growing number of namespaces.
func (e *Env) growSpaces() {
	n := by(e, 100_000, 10_000, 2000)
	stream := KeyStream(n, 1<<16)
	var cs []contender
	for _, spaces := range []int{1, 10, 100, 1000} {
		caches := openSpaces(e.t, spaces, n)
		cs = append(cs, reads(fmt.Sprintf("%d namespaces", spaces), stream, func(ctx context.Context, keys []peers.Key) (missed int) {
			for i := range keys {
				id := keys[i].ID
				if _, err := caches[id%int64(spaces)].Get(ctx, id); err != nil {
					missed++
				}
			}
			return missed
		}))
	}
	e.compare(&scenario{id: "H", setting: "namespaces", warm: growthWarm, span: growthSpan, tables: []report.Comparison{{
		Title: "H: by the number of namespaces over the same keys", Reference: "1 namespaces", Unit: nsOp, More: []string{allocsOp},
	}}}, cs)
}

func openSpaces(t *setup.T, spaces, n int) []cache.Cache[int64, peers.Value] {
	tiers := openTiers(t, cache.TiersConfig{
		Local:    local.New(local.Config{MaxBytes: int64(n) * 2048}),
		Policies: policy.Table{{Patch: policy.Patch{TTL: new(time.Hour)}}},
	})
	all := make([]cache.Cache[int64, peers.Value], spaces)
	for i := range all {
		all[i] = setup.Must(cache.New(tiers, cache.Config[int64, peers.Value]{Namespace: fmt.Sprintf("space%d:v1", i), Load: loadSmall}))
	}
	for id := range int64(n) {
		setup.Must(all[id%int64(spaces)].Get(t.Context(), id))
	}
	return all
}
