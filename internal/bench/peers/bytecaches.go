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

// encode and decode are used for every cache of bytes.
func encode(v Value) []byte { return setup.Must(codec.CBOR.Marshal(&v)) }

func decode(b []byte, found bool) (v Value, ok bool) {
	return v, found && codec.CBOR.Unmarshal(b, &v) == nil
}

type freePeer struct {
	idle

	c *freecache.Cache
}

func newFree(o Options) Peer {
	return freePeer{c: freecache.NewCache(int(o.roomy()))}
}

func (p freePeer) Get(_ context.Context, k *Key) (Value, bool) {
	b, err := p.c.GetInt(k.ID)
	return decode(b, err == nil)
}

func (p freePeer) Set(_ context.Context, k *Key, v Value) error {
	return p.c.SetInt(k.ID, encode(v), 0)
}

type bigPeer struct{ c *bigcache.BigCache }

func newBig(o Options) Peer {
	cfg := bigcache.DefaultConfig(24 * time.Hour)
	cfg.CleanWindow, cfg.Verbose, cfg.StatsEnabled = 0, false, false
	cfg.MaxEntriesInWindow, cfg.MaxEntrySize = o.Entries, 128
	cfg.HardMaxCacheSize = max(int(o.roomy()>>20), 1) * 2
	return bigPeer{setup.Must(bigcache.New(context.Background(), cfg))}
}

func (p bigPeer) Get(_ context.Context, k *Key) (Value, bool) {
	b, err := p.c.Get(k.Text)
	return decode(b, err == nil)
}

func (p bigPeer) Set(_ context.Context, k *Key, v Value) error {
	return p.c.Set(k.Text, encode(v))
}
func (bigPeer) Settle()  {}
func (p bigPeer) Close() { _ = p.c.Close() }

type fastPeer struct{ c *fastcache.Cache }

func newFast(o Options) Peer {
	return fastPeer{c: fastcache.New(int(2 * o.roomy()))}
}

func (p fastPeer) Get(_ context.Context, k *Key) (Value, bool) {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], uint64(k.ID))
	return decode(p.c.HasGet(nil, id[:]))
}

func (p fastPeer) Set(_ context.Context, k *Key, v Value) error {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], uint64(k.ID))
	p.c.Set(id[:], encode(v))
	return nil
}
func (fastPeer) Settle()  {}
func (p fastPeer) Close() { p.c.Reset() }
