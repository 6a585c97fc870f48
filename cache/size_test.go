package cache_test

import (
	"context"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// priced is a local tier that notes the cost of the last entry.
type priced struct {
	*local.Tier
	cost int64
}

func (p *priced) Set(hash uint64, e any, cost int64) bool {
	p.cost = cost
	return p.Tier.Set(hash, e, cost)
}

// What lies deep in a value counts by the length of its encoding, for the process that loads it, the
// one that reads its cell, and the one that sets it. Config.Size comes before that.
func TestSizeOfEntries(t *testing.T) {
	deep := map[string][]string{"a": {strings.Repeat("x", 1000), strings.Repeat("x", 99_000)}}
	size := func(map[string][]string) int64 { return 7_000 }
	for _, tt := range []struct {
		name       string
		cfg        cache.Config[int, map[string][]string]
		remote     bool
		most, over int64
	}{
		{"encoded", cache.Config[int, map[string][]string]{}, true, 101_000, 100_000},
		{"compressed", cache.Config[int, map[string][]string]{Codec: codec.Deflate(codec.CBOR, 0)}, true, 101_000, 100_000},
		{"sized", cache.Config[int, map[string][]string]{Size: size}, true, 8_000, 7_000},
		{"not encoded", cache.Config[int, map[string][]string]{}, false, 1_000, 40},
		{"not encoded, sized", cache.Config[int, map[string][]string]{Size: size}, false, 8_000, 7_000},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			tt.cfg.Load = func(context.Context, int) (map[string][]string, error) { return deep, nil }
			process := func() (cache.Cache[int, map[string][]string], *priced) {
				near, cfg := &priced{Tier: local.New(local.Config{})}, cache.TiersConfig{}
				if cfg.Local = near; tt.remote {
					cfg.Remote = mem
				}
				return with(t, open(t, cfg), tt.cfg), near
			}
			loads, a := process()
			get(t, loads, 1)
			reads, b := process()
			get(t, reads, 1)
			sets, c := process()
			must(t, sets.Set(t.Context(), 2, deep))
			for what, near := range map[string]*priced{"loaded": a, "read": b, "set": c} {
				if near.cost < tt.over || near.cost > tt.most {
					t.Errorf("the entry that was %s costs %d, want %d to %d", what, near.cost, tt.over, tt.most)
				}
			}
		})
	}
}
