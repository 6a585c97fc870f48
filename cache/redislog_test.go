package cache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/redistier"
)

// fleetKey returns the scope of one key of the fleet.
func fleetKey(t *testing.T, k int) invalidate.Scope {
	t.Helper()
	full, err := key.Space{Tenant: cache.DefaultTenant, Namespace: "fleet:v1"}.Key(fmt.Sprint(k))
	must(t, err)
	return invalidate.Key(full)
}

// hears invalidates each kind of scope in one process. It waits until the other process loads
// the value again, which it does for no other reason.
func (f *redisFleet) hears(t *testing.T) {
	t.Helper()
	for i, scope := range []invalidate.Scope{
		fleetKey(t, 7000), invalidate.Prefix("default", "fleet:v1:70"), invalidate.Tag("default", "even"), invalidate.All(),
	} {
		f.get(t, 1, 7000)
		f.get(t, 1, 7000)
		from, to := i%2, 1-i%2
		redistest.Eventually(t, "an invalidation is written", func(ctx context.Context) error {
			return f.tiers[from].Invalidate(ctx, scope)
		})
		redistest.Eventually(t, fmt.Sprint("process ", to, " hears of ", scope), func(ctx context.Context) error {
			r, err := f.c[to].Fetch(ctx, 7000, nil)
			if err == nil && r.Source != cache.Load {
				err = errors.New("the value came from " + r.Source.String())
			}
			return err
		})
	}
}

// redisCells shows that the cells of many invalidated keys are removed, also for processes that
// do not follow the log.
func redisCells(t *testing.T, f *redisFleet, rdb redis.UniversalClient) {
	t.Helper()
	var scopes []invalidate.Scope
	var keys []int
	for k := 80_000; k < 80_000+2*invalidate.MaxCells+10; k++ {
		scopes, keys = append(scopes, fleetKey(t, k)), append(keys, k)
	}
	// On a busy machine even 100 keys may take longer than the usual RemoteTimeout.
	patient := policy.Table{{Patch: policy.Patch{RemoteTimeout: new(10 * time.Second)}}}
	must(t, f.tiers[0].SetPolicies(patient))
	const some = 100
	for i := 0; i < len(keys); i += some {
		end := min(i+some, len(keys))
		redistest.Eventually(t, fmt.Sprint("the first ", end, " values are in Redis"), func(ctx context.Context) error {
			if _, err := f.c[0].GetMany(ctx, keys[i:end]); err != nil {
				return err
			}
			if n := countCells(t, rdb); n < end { // some values are only in this process
				return cmp.Or(f.tiers[0].Invalidate(ctx, scopes[i:end]...), fmt.Errorf("%d cells, want at least %d", n, end))
			}
			return nil
		})
	}
	before := countCells(t, rdb)
	must(t, f.tiers[0].Invalidate(t.Context(), scopes...))
	equal(t, before-countCells(t, rdb), len(keys), "removed cells")
}

func countCells(t *testing.T, rdb redis.UniversalClient) int {
	t.Helper()
	var n atomic.Int64
	count := func(ctx context.Context, c *redis.Client) error {
		keys, err := c.Keys(ctx, "*:v:default:fleet:v1:8*").Result()
		n.Add(int64(len(keys)))
		return err
	}
	var err error
	if c, ok := rdb.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error { return count(ctx, c) })
	} else {
		err = count(t.Context(), rdb.(*redis.Client))
	}
	must(t, err)
	return int(n.Load())
}

// redisStrict shows that after Strict the other process reads a new value.
func redisStrict(t *testing.T, f *redisFleet) {
	t.Helper()
	f.get(t, 1, 7000)
	must(t, f.c[0].Delete(t.Context(), 7000, invalidate.Strict))
	equal(t, f.get(t, 1, 7000), cache.Load, "after Strict the other process got the value from")
}

// TestRedisHungNode pauses one node of a Cluster. Invalidations of keys on the other nodes go on
// as usual. Those of keys on the paused node succeed when it is back.
func TestRedisHungNode(t *testing.T) {
	t.Parallel()
	// A call to the paused node ends after a quarter of the bound. A Delete that waited for one
	// would take about that long. A busy machine may stop a few of thousands for half as long.
	const bound = 4 * time.Second
	cluster := redistest.StartCluster(t, 3, redistest.Args("--cluster-require-full-coverage", "no"))
	prefix, hung := redistest.Prefix(), cluster.Nodes[1]
	cfg := onRedis(cluster.Client(), redistest.Start(t).Client(), prefix, bound)
	cfg.Logger, cfg.InvalidateWait = slog.New(slog.NewTextHandler(t.Output(), nil)), bound/2
	cfg.Policies = policy.Table{{Patch: patch{RemoteTimeout: new(bound)}}}
	remote, tiers := cfg.Remote.(*redistier.Tier), open(t, cfg)
	c := with(t, tiers, thingConfig{Namespace: "fleet:v1"})
	var well, ill []int
	for k := range 60 {
		if _, name := remote.Names([]string{fleetKey(t, k).Text()}); cluster.Owner(t, name[0]) == hung {
			ill = append(ill, k)
		} else {
			well = append(well, k)
		}
		redistest.Eventually(t, "a new cluster stores a value", func(ctx context.Context) error {
			return c.Set(ctx, k, fmt.Sprint(k))
		})
	}
	redistest.Eventually(t, "nothing of the set-up is pending", func(context.Context) error { return noneWaits(tiers) })
	hung.Stop(t)
	pending := make(chan error)
	go func() { pending <- c.Delete(t.Context(), ill[0]) }()
	go func() { // a batch with keys on every node
		var scopes []invalidate.Scope
		for _, k := range append(ill[1:], well[0]) {
			scopes = append(scopes, fleetKey(t, k))
		}
		pending <- tiers.Invalidate(t.Context(), scopes...)
	}()
	deadline, slow, n := time.Now().Add(bound+bound/2), 0, 0
	for ; time.Now().Before(deadline); n++ {
		begun := time.Now()
		if err := c.Delete(t.Context(), well[n%len(well)]); err != nil {
			t.Fatalf("Delete of a key on a healthy node = %v after %v", err, time.Since(begun))
		}
		if time.Since(begun) > bound/8 {
			slow++
		}
	}
	if slow*100 > n {
		t.Errorf("%d of %d Deletes of keys on healthy nodes took over %v, want one in a hundred at most", slow, n, bound/8)
	}
	for range 2 {
		err := <-pending
		if _, ok := errors.AsType[*invalidate.PendingError](err); !ok {
			t.Errorf("an invalidation of keys on the paused node = %v, want a PendingError", err)
		}
	}
	equal(t, tiers.Stats().Log.Pending, int64(len(ill)+1), "pending")
	hung.Cont(t)
	redistest.Eventually(t, "the invalidations are sent", func(context.Context) error { return noneWaits(tiers) })
	for _, k := range ill {
		if frame, err := remote.Get(t.Context(), fleetKey(t, k).Text()); frame != nil || err != nil {
			t.Errorf("the cell of key %d has %d bytes, %v; want none", k, len(frame), err)
		}
	}
}

func noneWaits(tiers *cache.Tiers) error {
	if n := tiers.Stats().Log.Pending; n > 0 {
		return fmt.Errorf("%d invalidations are pending", n)
	}
	return nil
}
