package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
)

// group is a number of keys with one prefix, and the number of such groups.
type group struct{ size, count int }

// alones is how many single keys, and how many tags of one key each, are invalidated.
const alones = 20

// costBench is one process on one Redis, without faults.
type costBench struct {
	groups []group
	rig    *rig.Rig
	rdb    *redis.Client
	tiers  *cache.Tiers
	cache  cache.Cache[string, int]
	space  key.Space
	names  []string
	all    []measurement
}

// newCostBench starts a Redis with the given network delay.
func newCostBench(ctx context.Context, dir string, away time.Duration, groups []group) (*costBench, error) {
	r, err := rig.Start(ctx, rig.Config{Fault: "none", Workers: 1, Dir: dir})
	if err != nil {
		return nil, err
	}
	addr := r.Redis()
	if away > 0 {
		addr = r.Server(0).Addrs[0]
		r.Delay(0, away)
	}
	b := &costBench{groups: groups, rig: r, space: key.Space{Tenant: cache.DefaultTenant, Namespace: "cost"}}
	b.rdb = redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DisableIdentity: true})
	if err := b.open(); err != nil {
		r.Close()
		return nil, err
	}
	for _, g := range groups {
		for i := range g.count {
			for n := range g.size {
				b.names = append(b.names, member(g.size, i, n))
			}
		}
	}
	for i := range alones {
		b.names = append(b.names, alone("key", i), alone("tag", i))
	}
	return b, nil
}

func (b *costBench) open() (err error) {
	b.tiers, err = cache.Open(cache.TiersConfig{
		Local:  local.New(local.Config{MaxBytes: 1 << 29}),
		Remote: redistier.New(b.rdb, redistier.Config{Prefix: b.rig.Prefix()}),
		Log:    redislog.New(b.rdb, redislog.Config{Prefix: b.rig.Prefix()}),
	})
	if err != nil {
		return err
	}
	b.cache, err = cache.New(b.tiers, cache.Config[string, int]{
		Namespace: b.space.Namespace, MaxBatch: batch,
		LoadMany: func(_ context.Context, ks []string) (map[string]int, error) {
			m := make(map[string]int, len(ks))
			for i, k := range ks {
				m[k] = i
			}
			return m, nil
		},
		Tags: func(k string, _ int) []string { return []string{k} },
	})
	return err
}

func (b *costBench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = b.tiers.Close(ctx) // the measurements are done
	_ = b.rdb.Close()
	b.rig.Close()
}

func member(size, group, n int) string { return fmt.Sprintf("p%d-%d.%d", size, group, n) }
func alone(kind string, i int) string  { return fmt.Sprintf("%s%d", kind, i) }

const batch = 500

// fill reads every key, so that both tiers hold it.
func (b *costBench) fill(ctx context.Context) error {
	for at := 0; at < len(b.names); at += batch {
		if _, err := b.cache.GetMany(ctx, b.names[at:min(at+batch, len(b.names))]); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

// call is one invalidation and a key that it covers.
type call struct {
	name, sample string
	scope        invalidate.Scope
}

func (b *costBench) prefix(size, group int) call {
	return call{
		fmt.Sprintf("prefix of %7d keys", size), member(size, group, size-1),
		invalidate.Prefix(b.space.Tenant, fmt.Sprintf("%s:p%d-%d.", b.space.Namespace, size, group)),
	}
}

func (b *costBench) key(i int) call {
	k, err := b.space.Key(alone("key", i))
	if err != nil {
		panic(err) // all names are valid
	}
	return call{"key", alone("key", i), invalidate.Key(k)}
}

func (b *costBench) tag(i int) call {
	return call{"tag", alone("tag", i), invalidate.Tag(cache.DefaultTenant, alone("tag", i))}
}

// cached checks whether a key is cached as expected. Otherwise the measurement would be void.
func (b *costBench) cached(ctx context.Context, name string, want bool) error {
	if _, ok := b.cache.Peek(ctx, name); ok != want {
		return errors.New("Peek of " + name + fmt.Sprintf(" is %v, want %v", ok, want))
	}
	return nil
}
