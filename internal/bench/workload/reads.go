package workload

import (
	"context"
	"fmt"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/trace"
)

// KeyStream returns a Zipf trace over n keys, always with the same seed. The keys of one id share
// their text.
func KeyStream(n, length int) []peers.Key {
	table := make([]peers.Key, n)
	for i := range table {
		table[i] = peers.KeyOf(int64(i))
	}
	stream := make([]peers.Key, length)
	for i, k := range trace.Zipf(1, n, length) {
		stream[i] = table[k]
	}
	return stream
}

// keysOf returns a trace of 1<<18 keys below n.
func keysOf(spread string, n int) []peers.Key {
	keys := make([]peers.Key, 1<<18)
	drawn := trace.Zipf(1, n, len(keys))
	for i := range keys {
		switch spread {
		case hotKeys:
			keys[i].ID = int64(i % batchOf)
		case zipfKeys:
			keys[i].ID = int64(drawn[i])
		default:
			keys[i].ID = int64(uint64(i) * 0x9e3779b97f4a7c15 >> 20 % uint64(n))
		}
	}
	return keys
}

// batchOf is how many keys a call of a reader has.
const batchOf = 64

// reader reads a batch of keys, and returns how many it did not find.
type reader func(ctx context.Context, keys []peers.Key) (missed int)

// reads returns a contender that reads a stream of resident keys.
func reads(name string, stream []peers.Key, read reader) contender {
	missed := 0
	return contender{
		name: name, per: batchOf, before: func() { missed = 0 },
		op: func(ctx context.Context, i int) error {
			at := i * batchOf & (len(stream) - 1)
			missed += read(ctx, stream[at:at+batchOf])
			return nil
		},
		after: func(_ report.Line, r measure.Result) {
			if int64(missed) > r.Ops/100 {
				setup.Check(fmt.Errorf("missed %d of %d resident keys", missed, r.Ops))
			}
		},
	}
}

func byPeer(p peers.Peer) reader {
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		for i := range keys {
			if v, ok := p.Get(ctx, &keys[i]); !ok || v.ID != keys[i].ID {
				missed++
			}
		}
		return missed
	}
}

func byMoment(c cache.Cache[int64, peers.Value]) reader {
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		r := c.At(cache.Now())
		for i := range keys {
			if v, err := r.Get(ctx, keys[i].ID); err != nil || v.ID != keys[i].ID {
				missed++
			}
		}
		return missed
	}
}

func byBatch(c cache.Cache[int64, peers.Value]) reader {
	ids := make([]int64, batchOf)
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		for i := range keys {
			ids[i] = keys[i].ID
		}
		all, err := c.GetMany(ctx, ids)
		if err != nil || len(all) == 0 {
			return len(ids)
		}
		return 0
	}
}

// byMap makes the map that a GetMany returns, and reads nothing.
func byMap(_ context.Context, keys []peers.Key) (missed int) {
	all := make(map[int64]peers.Value, len(keys))
	for i := range keys {
		all[keys[i].ID] = peers.Value{ID: keys[i].ID}
	}
	if len(all) == 0 {
		return len(keys)
	}
	return 0
}
