package peers

import (
	"context"
	"errors"
	"time"

	rediscache "github.com/go-redis/cache/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

func remote() []Spec {
	return []Spec{
		{Name: "go-redis/cache", Kind: TwoTier, Loads: true, Open: newRedisCache},
		{Name: "rueidis DoCache", Kind: TwoTier, Open: newDoCache},
		{Name: "go-redis CSC", Kind: TwoTier, Open: newCSC},
	}
}

// lifetime is the lifetime of all values: longer than any run.
const lifetime = time.Hour

func needRedis(o Options) {
	if o.Redis == "" {
		setup.Check(errors.New("peers: needs a Redis"))
	}
}

// Client returns a client of the server at addr, with the options that Twofold needs.
func Client(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DisableIdentity: true})
}

type redisCache struct {
	rdb *redis.Client
	c   *rediscache.Cache
	o   Options
}

func newRedisCache(o Options) Peer {
	needRedis(o)
	rdb := Client(o.Redis)
	return &redisCache{rdb: rdb, o: o, c: rediscache.New(&rediscache.Options{
		Redis: rdb, LocalCache: rediscache.NewTinyLFU(max(o.Entries, 1), lifetime),
		Marshal: codec.CBOR.Marshal, Unmarshal: codec.CBOR.Unmarshal,
	})}
}

func (p *redisCache) Get(ctx context.Context, k *Key) (v Value, ok bool) {
	err := p.c.Once(&rediscache.Item{Ctx: ctx, Key: k.Text, Value: &v, TTL: lifetime, Do: func(*rediscache.Item) (any, error) {
		v, err := p.o.load(ctx, k.ID)
		return &v, err
	}})
	return v, err == nil
}

func (p *redisCache) Set(ctx context.Context, k *Key, v Value) error {
	return p.c.Set(&rediscache.Item{Ctx: ctx, Key: k.Text, Value: &v, TTL: lifetime})
}
func (*redisCache) Settle()  {}
func (p *redisCache) Close() { _ = p.rdb.Close() }

// doCache is the client-side caching of rueidis. It has no loader: a caller that finds nothing
// loads and sets. Peers with client-side caching need their own server, because writes of other
// peers there would evict their keys.
type doCache struct{ c rueidis.Client }

func newDoCache(o Options) Peer {
	needRedis(o)
	return doCache{setup.Must(rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{o.Redis}, CacheSizeEachConn: int(2 * o.roomy()), DisableRetry: true,
	}))}
}

func (p doCache) Get(ctx context.Context, k *Key) (Value, bool) {
	b, err := p.c.DoCache(ctx, p.c.B().Get().Key(k.Text).Cache(), lifetime).AsBytes()
	return decode(b, err == nil)
}

func (p doCache) Set(ctx context.Context, k *Key, v Value) error {
	return p.c.Do(ctx, p.c.B().Set().Key(k.Text).Value(rueidis.BinaryString(encode(v))).Px(lifetime).Build()).Error()
}

// Settle waits until the server's invalidation messages have arrived. They come on the same
// connection, before the answer to a later command.
func (p doCache) Settle() { _ = p.c.Do(context.Background(), p.c.B().Ping().Build()).Error() }
func (p doCache) Close()  { p.c.Close() }

type cscPeer struct{ rdb *redis.Client }

func newCSC(o Options) Peer {
	needRedis(o)
	return cscPeer{redis.NewClient(&redis.Options{
		Addr: o.Redis, Protocol: 3, ContextTimeoutEnabled: true, MaxRetries: -1, DisableIdentity: true,
		ClientSideCacheConfig: &redis.ClientSideCacheConfig{MaxEntries: 2 * max(o.Entries, 16)},
	})}
}

func (p cscPeer) Get(ctx context.Context, k *Key) (Value, bool) {
	b, err := p.rdb.Get(ctx, k.Text).Bytes()
	return decode(b, err == nil)
}

func (p cscPeer) Set(ctx context.Context, k *Key, v Value) error {
	return p.rdb.Set(ctx, k.Text, encode(v), lifetime).Err()
}

// Settle waits for the drainer, which handles invalidation messages every five milliseconds.
func (cscPeer) Settle()  { time.Sleep(20 * time.Millisecond) }
func (p cscPeer) Close() { _ = p.rdb.Close() }
