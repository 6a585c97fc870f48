package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier/redistier"
)

// TestRedisAuditAfterFailover promotes a replica that has not heard of the removal of a cell. The
// log is in another server, and has had so many records since that it has forgotten this one. A new
// process serves the cell, and an audit finds it. It finds nothing in the control, in which the
// replica did hear of the removal.
func TestRedisAuditAfterFailover(t *testing.T) {
	for name, lags := range map[string]bool{"lags": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary, replica, logs := redistest.Start(t), redistest.Start(t), redistest.Start(t)
			replica.Do(t, "REPLICAOF", "127.0.0.1", primary.Port())
			link := func(what string) { // waits until the replica has all that the primary has
				t.Helper()
				redistest.Eventually(t, what, func(ctx context.Context) error {
					info, err := replica.Client().Info(ctx, "replication").Result()
					if err != nil || !strings.Contains(info, "master_link_status:up") {
						return errors.New("the replica is not linked")
					}
					if n, err := primary.Client().Do(ctx, "WAIT", 1, 100).Int(); err != nil || n < 1 {
						return errors.New("the replica lags")
					}
					return nil
				})
			}
			link("no replica")
			front, prefix := redistest.NewProxy(t, primary.Addr()), redistest.Prefix()
			src, found := &rows{}, make(chan cache.StaleHit, 10)
			process := func() things {
				options := primary.Options()
				options.Addr = front.Addr()
				rdb := redis.NewClient(options)
				t.Cleanup(func() { _ = rdb.Close() })
				tiers := open(t, cache.TiersConfig{
					Remote:  redistier.New(rdb, redistier.Config{Prefix: prefix}),
					Log:     redislog.New(logs.Client(), redislog.Config{Prefix: prefix, Bound: 500 * time.Millisecond}),
					OnStale: func(s cache.StaleHit) { found <- s },
				})
				must(t, tiers.Ready(t.Context()))
				return with(t, tiers, thingConfig{Load: src.load, Policy: auditAll})
			}
			writer := process()
			get(t, writer, 1)
			link("the replica has not got the cell")
			if lags {
				replica.Do(t, "REPLICAOF", "NO", "ONE")
			}
			src.write(1, "new")
			must(t, writer.Delete(t.Context(), 1))
			if !lags {
				link("the replica has not heard of the removal")
				replica.Do(t, "REPLICAOF", "NO", "ONE")
			}
			must(t, writer.Delete(t.Context(), 2))
			logs.Do(t, "XTRIM", "{"+prefix+"}:k", "MAXLEN", 1)
			front.Retarget(replica.Addr())

			reader := process()
			if !lags {
				wantFetch(t, reader, 1, fetched{"new", cache.Load, false, nil})
				get(t, reader, 1)
				select {
				case s := <-found:
					t.Errorf("a false alarm: %+v", s)
				case <-time.After(2 * time.Second): // an audit takes 1.1 s
				}
				return
			}
			wantFetch(t, reader, 1, fetched{"old", cache.Remote, false, nil})
			select {
			case s := <-found:
				if s.Key != cell1 || s.Source != cache.Remote || !s.Healed {
					t.Errorf("found %+v, want a remote hit that is healed", s)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("no audit found the cell")
			}
			if v := get(t, reader, 1); v != "new" {
				t.Errorf("afterwards the process reads %q", v)
			}
		})
	}
}
