package workload

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
)

// Workload H measures hits while something grows: the number of keys, of tags per value, and of
// namespaces in one process.

const (
	keysSetting  = "keys"
	tagsSetting  = "tags, hit"
	tagsMiss     = "tags, miss"
	spaceSetting = "namespaces"
)

func growthLine(setting, who string) report.Line {
	return report.Line{Workload: "H", Setting: setting, Contender: who}
}

var (
	manyKeys   = []int{1000, 10_000, 100_000, 1_000_000, 10_000_000}
	manyTags   = []int{0, 1, 2, 4, 8}
	manySpaces = []int{1, 10, 100, 1000}
)

func runGrowth(ctx context.Context, e *Env) error {
	for _, n := range manyKeys {
		if n > by(e, 10_000_000, 100_000, 10_000) {
			break
		}
		if err := e.growKeys(ctx, n); err != nil {
			return err
		}
	}
	if err := e.growTags(ctx); err != nil {
		return err
	}
	return e.growSpaces(ctx)
}

// growPeers returns the peers for a number of keys. At the largest number each peer would take
// gigabytes, so only the map is compared with ours.
func growPeers(n int) []string {
	if n > 1_000_000 {
		return []string{"twofold", "map+RWMutex"}
	}
	return []string{"twofold", "map+RWMutex", "ristretto", "otter"}
}

func (e *Env) growKeys(ctx context.Context, n int) error {
	// A heap limit of twice ten million entries would exceed the memory of many machines.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(12 << 30))
	defer debug.FreeOSMemory()
	stream := make([]peers.Key, 1<<18)
	for i, k := range trace.Zipf(1, n, len(stream)) {
		stream[i].ID = int64(k)
	}
	var cs []measure.Contender
	for _, name := range growPeers(n) {
		s, err := peers.ByName(name)
		if err != nil {
			return err
		}
		p, err := s.Open(peers.Options{Entries: n * 5 / 4, MaxBytes: max(int64(n)*1024, 8<<20), Load: loadSmall})
		if err != nil {
			return err
		}
		defer p.Close()
		if err := Fill(ctx, p, s.Loads, n, peers.Small); err != nil {
			return err
		}
		cs = append(cs, measure.Contender{Name: name, Measure: func(ctx context.Context) error {
			e.add(growthLine(keysSetting, fmt.Sprintf("%s, %d", name, n)), e.reads(ctx, p, stream))
			return nil
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

// reads replays a stream of resident keys.
func (e *Env) reads(ctx context.Context, p peers.Peer, stream []peers.Key) measure.Result {
	return measure.Run(ctx, measure.Config{Warm: e.ms(50, 10, 1), For: e.ms(150, 40, 3)}, func(int) func(int) {
		return func(i int) { p.Get(ctx, &stream[i&(len(stream)-1)]) }
	})
}

// growTags measures hits and misses of values with tags.
func (e *Env) growTags(ctx context.Context) error {
	n := by(e, 100_000, 10_000, 500)
	stream := KeyStream(n, 1<<16)
	var cs []measure.Contender
	for _, tags := range manyTags {
		name := fmt.Sprintf("%d tags", tags)
		p, err := peers.NewTwofold(peers.Options{Entries: 2 * n, Load: loadSmall}, peers.Twofold{Tags: tagger(tags)})
		if err != nil {
			return err
		}
		defer p.Close()
		if err := Fill(ctx, p, true, n, peers.Small); err != nil {
			return err
		}
		next := int64(1) << 40
		cs = append(cs, measure.Contender{Name: name, Measure: func(ctx context.Context) error {
			e.add(growthLine(tagsSetting, name), e.reads(ctx, p, stream))
			e.add(growthLine(tagsMiss, name), e.missRun(ctx, func(int) {
				p.Get(ctx, &peers.Key{ID: next})
				next++
			}))
			// The misses have evicted keys that the next round's hits need.
			return Fill(ctx, p, true, n, peers.Small)
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
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
func (e *Env) growSpaces(ctx context.Context) error {
	n := by(e, 100_000, 10_000, 2000)
	stream := KeyStream(n, 1<<16)
	var cs []measure.Contender
	for _, spaces := range manySpaces {
		name := fmt.Sprintf("%d namespaces", spaces)
		caches, done, err := openSpaces(ctx, spaces, n)
		if err != nil {
			return err
		}
		defer done()
		cs = append(cs, measure.Contender{Name: name, Measure: func(ctx context.Context) error {
			r := measure.Run(ctx, measure.Config{Warm: e.ms(50, 10, 1), For: e.ms(150, 40, 3)}, func(int) func(int) {
				return func(i int) {
					id := stream[i&(len(stream)-1)].ID
					_, _ = caches[id%int64(spaces)].Get(ctx, id) // resident
				}
			})
			e.add(growthLine(spaceSetting, name), r)
			return nil
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

func openSpaces(ctx context.Context, spaces, n int) ([]cache.Cache[int64, peers.Value], func(), error) {
	tiers, err := cache.Open(cache.TiersConfig{
		Local:    local.New(local.Config{MaxBytes: int64(n) * 2048}),
		Policies: policy.Table{{Patch: policy.Patch{TTL: new(time.Hour)}}},
	})
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = tiers.Close(context.WithoutCancel(ctx)) }
	all := make([]cache.Cache[int64, peers.Value], spaces)
	for i := range all {
		all[i], err = cache.New(tiers, cache.Config[int64, peers.Value]{Namespace: fmt.Sprintf("space%d:v1", i), Load: loadSmall})
		if err != nil {
			done()
			return nil, nil, err
		}
	}
	for id := range int64(n) {
		if _, err := all[id%int64(spaces)].Get(ctx, id); err != nil {
			done()
			return nil, nil, err
		}
	}
	return all, done, nil
}

func growthTables(e *Env) []report.Table {
	keys := report.Table{Title: "H: a hit by the number of keys, zipf, 1 goroutine, ns/op (and × map+RWMutex)", Head: []string{"keys"}}
	names := growPeers(0)
	keys.Head = append(keys.Head, names...)
	for _, n := range manyKeys {
		row, base := []string{strconv.Itoa(n)}, e.Book.Median(growthLine(keysSetting, fmt.Sprintf("map+RWMutex, %d", n)), nsOp)
		for _, name := range names {
			v := e.Book.Values(growthLine(keysSetting, fmt.Sprintf("%s, %d", name, n)), nsOp)
			row = append(row, report.Spread(v)+", "+report.Ratio(report.Median(v), base))
		}
		keys.Rows = append(keys.Rows, row)
	}
	var tags, spaces []string
	for _, n := range manyTags {
		tags = append(tags, fmt.Sprintf("%d tags", n))
	}
	for _, n := range manySpaces {
		spaces = append(spaces, fmt.Sprintf("%d namespaces", n))
	}
	return []report.Table{
		keys,
		report.Comparison{
			Title: "H: by the tags of a value", Workload: "H", Settings: []string{tagsSetting, tagsMiss}, Contenders: tags, Reference: tags[0], Unit: nsOp, More: []string{allocsOp},
		}.Table(&e.Book),
		report.Comparison{
			Title: "H: by the number of namespaces over the same keys", Workload: "H", Settings: []string{spaceSetting}, Contenders: spaces, Reference: spaces[0], Unit: nsOp, More: []string{allocsOp},
		}.Table(&e.Book),
	}
}
