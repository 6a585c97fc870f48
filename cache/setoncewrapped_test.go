package cache_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// secret is a wrapper of a remote tier that lets nobody read the cells on the server. It embeds the
// tier itself and not an interface, so it has all methods of that.
type secret struct{ *redistier.Tier }

func (s secret) hide(f tier.Fill) tier.Fill {
	if len(f.Cell) > 9 {
		f.Cell = append(f.Cell[:9:9], hex.EncodeToString(f.Cell[9:])...)
	}
	return f
}

func (s secret) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	return s.Tier.Fill(ctx, key, s.hide(f))
}

// countingLog is a wrapper of a log that counts the fences of keys that it appends.
type countingLog struct {
	*redislog.Log
	keys atomic.Int64
}

func (e *countingLog) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	e.keys.Add(int64(len(a.Keys)))
	return e.Log.Sync(ctx, at, a)
}

func (e *countingLog) SyncRemoving(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string) (invalidate.Page, error) {
	e.keys.Add(int64(len(a.Keys)))
	return e.Log.SyncRemoving(ctx, at, a, cells)
}

// A wrapper of a log sees each Set.
func TestSetBypassesNoWrapperOfTheLog(t *testing.T) {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	log := &countingLog{Log: redislog.New(rdb, redislog.Config{Prefix: prefix, Bound: 20 * time.Second})}
	tiers := open(t, cache.TiersConfig{Remote: redistier.New(rdb, redistier.Config{Prefix: prefix}), Log: log})
	if err := tiers.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := with(t, tiers, cache.Config[int, string]{}).Set(t.Context(), 1, "v"); err != nil || log.keys.Load() != 1 {
		t.Errorf("Set = %v, and the wrapper saw %d keys, want 1", err, log.keys.Load())
	}
}

// A wrapper sees each fill, also if it embeds the tier, whose methods then look like its own.
func TestSetBypassesNoEmbeddingWrapper(t *testing.T) {
	w := openOnOne(t, func(r tier.Remote) tier.Remote { return secret{r.(*redistier.Tier)} })
	if err := w.c[0].Set(t.Context(), 1, "in the clear"); err != nil {
		t.Fatal(err)
	}
	cell, err := w.rdb.Get(t.Context(), w.cell).Bytes()
	if err != nil || bytes.Contains(cell, []byte("in the clear")) {
		t.Errorf("the cell is %q, %v; the wrapper did not see it", cell, err)
	}
}
