package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/redistier"
)

// TestRedisHungNode pauses one node of a Cluster. Invalidations of keys on the other nodes go on
// as usual. Those of keys on the paused node succeed when it is back.
func TestRedisHungNode(t *testing.T) {
	t.Parallel()
	// A call to the paused node ends after a quarter of the bound. A Delete that waited for one
	// would take about that long. A busy machine may stop a few of thousands for half as long.
	const bound = 4 * time.Second
	cluster := redistest.StartCluster(t, 3, redistest.Args("--cluster-require-full-coverage", "no"))
	prefix, hung := redistest.Prefix(), cluster.Nodes[1]
	remote := redistier.New(cluster.Client(), redistier.Config{Prefix: prefix})
	tiers := open(t, cache.TiersConfig{
		Remote: remote,
		Log:    redislog.New(redistest.Start(t).Client(), redislog.Config{Prefix: prefix, Bound: bound}),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),

		InvalidateWait: bound / 2,
		Policies:       policy.Table{{Patch: policy.Patch{RemoteTimeout: new(bound)}}},
	})
	c := with(t, tiers, cache.Config[int, string]{Namespace: "fleet:v1"})
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
	if n := tiers.Stats().Log.Pending; n != int64(len(ill)+1) {
		t.Errorf("%d pending, want %d", n, len(ill)+1)
	}
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
