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

// newDoCache is the client-side caching of rueidis. It has no loader: a caller that finds nothing
// loads and sets. Peers with client-side caching need their own server, because writes of other
// peers there would evict their keys.
func newDoCache(o Options) Peer {
	needRedis(o)
	c := setup.Must(rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{o.Redis}, CacheSizeEachConn: int(2 * o.roomy()), DisableRetry: true,
	}))
	return &bytePeer{
		get: func(ctx context.Context, k *Key) ([]byte, error) {
			return c.DoCache(ctx, c.B().Get().Key(k.Text).Cache(), lifetime).AsBytes()
		},
		set: func(ctx context.Context, k *Key, v []byte) error {
			return c.Do(ctx, c.B().Set().Key(k.Text).Value(rueidis.BinaryString(v)).Px(lifetime).Build()).Error()
		},
		// Invalidation messages of the server come on the same connection, before the answer to a later command.
		settle: func() { _ = c.Do(context.Background(), c.B().Ping().Build()).Error() },
		close:  c.Close,
	}
}

func newCSC(o Options) Peer {
	needRedis(o)
	rdb := redis.NewClient(&redis.Options{
		Addr: o.Redis, Protocol: 3, ContextTimeoutEnabled: true, MaxRetries: -1, DisableIdentity: true,
		ClientSideCacheConfig: &redis.ClientSideCacheConfig{MaxEntries: 2 * max(o.Entries, 16)},
	})
	return &bytePeer{
		get: func(ctx context.Context, k *Key) ([]byte, error) { return rdb.Get(ctx, k.Text).Bytes() },
		set: func(ctx context.Context, k *Key, v []byte) error { return rdb.Set(ctx, k.Text, v, lifetime).Err() },
		// The drainer handles invalidation messages every five milliseconds.
		settle: func() { time.Sleep(20 * time.Millisecond) },
		close:  func() { _ = rdb.Close() },
	}
}
