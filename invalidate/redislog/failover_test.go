package redislog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
)

// The control client finds the new primary by itself. The new primary starts an epoch, because it
// may lack the old one's last records.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]func(o *redis.FailoverOptions) redis.UniversalClient{
		"client":         func(o *redis.FailoverOptions) redis.UniversalClient { return redis.NewFailoverClient(o) },
		"cluster client": func(o *redis.FailoverOptions) redis.UniversalClient { return redis.NewFailoverClusterClient(o) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := redistest.StartSentinel(t)
			r := rigOn(t, g.Master)
			p := r.open(closed(t, dial(g.FailoverOptions())))
			p.sync(both(1))
			p.sync(both(2))
			g.Master.Stop(t)
			redistest.Eventually(t, "no new primary takes records", func(context.Context) error {
				if _, err := p.trySync(both(3)); err != nil {
					return err
				}
				if now := p.keys[len(p.keys)-1].At.Epoch(); now == p.keys[0].At.Epoch() {
					return errors.New("still in the old epoch")
				}
				return nil
			})
			g.Master.Cont(t)
			p.sync(both(4))
			late := r.open(g.Replica.Client())
			late.sync(invalidate.Append{})
			wantDense(t, "keys of the new primary", late.keys, map[uint64]bool{3: true, 4: true})
			if late.at != p.at {
				t.Errorf("the new primary ends at %v, want %v", late.at, p.at)
			}
		})
	}
}

// A primary may be deposed and stay reachable for this process: no connection breaks and no
// command fails.
func TestDeposedPrimaryThatAnswers(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinel(t)
	r := rigOn(t, g.Master)
	p := r.open(closed(t, redis.NewFailoverClient(g.FailoverOptions())))
	p.sync(both(1))
	chosen := redistest.Start(t)
	for _, s := range g.Sentinels {
		s.Do(t, "SENTINEL", "REMOVE", "twofold")
		s.Do(t, "SENTINEL", "MONITOR", "twofold", "127.0.0.1", chosen.Port(), 2)
	}
	redistest.Eventually(t, "records still go to the deposed primary", func(context.Context) error {
		if _, err := p.trySync(both(2)); err != nil {
			return err
		}
		if chosen.Do(t, "EXISTS", r.m) != int64(1) {
			return errors.New("nothing there")
		}
		return nil
	})
	p.wantQuiet()
}

// moveLog moves the slot of a log from one of two nodes to the other.
func moveLog(t testing.TB, c *redistest.Cluster, prefix string) {
	t.Helper()
	key := "{" + prefix + "}:m"
	from, to := c.Nodes[0], c.Nodes[1]
	if c.Owner(t, key) == to {
		from, to = to, from
	}
	slot := from.Do(t, "CLUSTER", "KEYSLOT", key)
	to.Do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.Do(t, "CLUSTER", "MYID"))
	from.Do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.Do(t, "CLUSTER", "MYID"))
	from.Do(t, "MIGRATE", "127.0.0.1", to.Port(), "", 0, 5000, "KEYS", key, "{"+prefix+"}:k", "{"+prefix+"}:s")
	for _, n := range []*redistest.Server{to, from} {
		n.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", to.Do(t, "CLUSTER", "MYID"))
	}
}

func TestClusterSlotMoves(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2)
	prefix := redistest.Prefix()
	r := &rig{t: t, prefix: prefix}
	p := r.open(c.Client())
	p.sync(both(1))
	moveLog(t, c, prefix)
	redistest.Eventually(t, "the moved log is not found", func(context.Context) error {
		_, err := p.trySync(both(2))
		return err
	})
	if page, err := p.log.Tail(t.Context(), invalidate.Cursor{}); err != nil || len(page.Keys) == 0 {
		t.Errorf("Tail of the moved log = %v, %v", page.Keys, err)
	}
	wantDense(t, "keys", p.keys, map[uint64]bool{1: true, 2: true})
	if n := len(p.keys); n != 4 {
		t.Errorf("%d records, want two, a bump for each server and no more", n)
	}
}

func TestClusterNodeFaults(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	prefix := redistest.Prefix()
	r := &rig{t: t, prefix: prefix}
	p := r.open(c.Client())
	p.sync(both(1))
	node := c.Owner(t, "{"+prefix+"}:m")
	node.Stop(t)
	wantStuck(t, p.log, p.at)
	node.Cont(t)
	c.WaitOK(t)
	wantBack(t, p)
	wantDense(t, "keys", p.keys, map[uint64]bool{1: true, 2: true})
}
