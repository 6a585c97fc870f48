package peers

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/VictoriaMetrics/fastcache"
	"github.com/allegro/bigcache/v3"
	"github.com/coocood/freecache"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

func byteCaches() []Spec {
	return []Spec{
		{Name: "freecache", Kind: Bytes, Open: newFree},
		{Name: "bigcache", Kind: Bytes, Open: newBig},
		{Name: "fastcache", Kind: Bytes, Open: newFast},
	}
}

// bytePeer is a cache of bytes. All of them encode and decode in the same way, which takes much longer
// than the call of a function.
type bytePeer struct {
	get    func(ctx context.Context, k *Key) ([]byte, error)
	set    func(ctx context.Context, k *Key, v []byte) error
	settle func() // nil: a value that was set is found
	close  func()
}

func (p *bytePeer) Get(ctx context.Context, k *Key) (v Value, ok bool) {
	b, err := p.get(ctx, k)
	return v, err == nil && codec.CBOR.Unmarshal(b, &v) == nil
}

func (p *bytePeer) Set(ctx context.Context, k *Key, v Value) error {
	return p.set(ctx, k, setup.Must(codec.CBOR.Marshal(&v)))
}

func (p *bytePeer) Settle() {
	if p.settle != nil {
		p.settle()
	}
}

func (p *bytePeer) Close() { p.close() }

func newFree(o Options) Peer {
	c := freecache.NewCache(int(o.roomy()))
	return &bytePeer{
		get:   func(_ context.Context, k *Key) ([]byte, error) { return c.GetInt(k.ID) },
		set:   func(_ context.Context, k *Key, v []byte) error { return c.SetInt(k.ID, v, 0) },
		close: func() {},
	}
}

func newBig(o Options) Peer {
	cfg := bigcache.DefaultConfig(24 * time.Hour)
	cfg.CleanWindow, cfg.Verbose, cfg.StatsEnabled = 0, false, false
	cfg.MaxEntriesInWindow, cfg.MaxEntrySize = o.Entries, 128
	cfg.HardMaxCacheSize = max(int(o.roomy()>>20), 1) * 2
	c := setup.Must(bigcache.New(context.Background(), cfg))
	return &bytePeer{
		get:   func(_ context.Context, k *Key) ([]byte, error) { return c.Get(k.Text) },
		set:   func(_ context.Context, k *Key, v []byte) error { return c.Set(k.Text, v) },
		close: func() { _ = c.Close() },
	}
}

func newFast(o Options) Peer {
	c := fastcache.New(int(2 * o.roomy()))
	return &bytePeer{
		get: func(_ context.Context, k *Key) ([]byte, error) {
			var id [8]byte
			binary.LittleEndian.PutUint64(id[:], uint64(k.ID))
			return c.Get(nil, id[:]), nil // nothing, which is no value, for a key that is not there
		},
		set: func(_ context.Context, k *Key, v []byte) error {
			var id [8]byte
			binary.LittleEndian.PutUint64(id[:], uint64(k.ID))
			c.Set(id[:], v)
			return nil
		},
		close: c.Reset,
	}
}
