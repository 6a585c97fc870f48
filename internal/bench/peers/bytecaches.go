package peers

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/VictoriaMetrics/fastcache"
	"github.com/allegro/bigcache/v3"
	"github.com/coocood/freecache"

	"github.com/twofold-go/twofold/codec"
)

func byteCaches() []Spec {
	return []Spec{
		{Name: "freecache", Kind: Bytes, Open: newFree},
		{Name: "bigcache", Kind: Bytes, Open: newBig},
		{Name: "fastcache", Kind: Bytes, Open: newFast},
	}
}

// encode and decode are used for every cache of bytes.
func encode(v Value) ([]byte, error) { return codec.CBOR.Marshal(&v) }

func decode(b []byte) (v Value, ok bool) {
	return v, codec.CBOR.Unmarshal(b, &v) == nil
}

type freePeer struct{ c *freecache.Cache }

func newFree(o Options) (Peer, error) {
	return freePeer{freecache.NewCache(int(o.roomy()))}, nil
}

func (p freePeer) Get(_ context.Context, k *Key) (Value, bool) {
	b, err := p.c.GetInt(k.ID)
	if err != nil {
		return Value{}, false
	}
	return decode(b)
}

func (p freePeer) Set(_ context.Context, k *Key, v Value) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return p.c.SetInt(k.ID, b, 0)
}
func (freePeer) Settle() {}
func (freePeer) Close()  {}

type bigPeer struct{ c *bigcache.BigCache }

func newBig(o Options) (Peer, error) {
	cfg := bigcache.DefaultConfig(24 * time.Hour)
	cfg.CleanWindow, cfg.Verbose, cfg.StatsEnabled = 0, false, false
	cfg.MaxEntriesInWindow, cfg.MaxEntrySize = o.Entries, 128
	cfg.HardMaxCacheSize = max(int(o.roomy()>>20), 1) * 2
	c, err := bigcache.New(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("peers: bigcache: %w", err)
	}
	return bigPeer{c}, nil
}

func (p bigPeer) Get(_ context.Context, k *Key) (Value, bool) {
	b, err := p.c.Get(k.Text)
	if err != nil {
		return Value{}, false
	}
	return decode(b)
}

func (p bigPeer) Set(_ context.Context, k *Key, v Value) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return p.c.Set(k.Text, b)
}
func (bigPeer) Settle()  {}
func (p bigPeer) Close() { _ = p.c.Close() }

type fastPeer struct{ c *fastcache.Cache }

func newFast(o Options) (Peer, error) {
	return fastPeer{fastcache.New(int(2 * o.roomy()))}, nil
}

func (p fastPeer) Get(_ context.Context, k *Key) (Value, bool) {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], uint64(k.ID))
	b, ok := p.c.HasGet(nil, id[:])
	if !ok {
		return Value{}, false
	}
	return decode(b)
}

func (p fastPeer) Set(_ context.Context, k *Key, v Value) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], uint64(k.ID))
	p.c.Set(id[:], b)
	return nil
}
func (fastPeer) Settle()  {}
func (p fastPeer) Close() { p.c.Reset() }
