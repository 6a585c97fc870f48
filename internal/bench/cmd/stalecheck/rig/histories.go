package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

func oldDump(r *Rig) loss {
	return loss{what: "Redis back with an old dump", fork: func() {
		r.primary.Do(r.t, "SAVE")
	}, swap: func() {
		r.primary.Kill(r.t)
		r.primary.Restart(r.t)
	}}
}

func copiedDump(r *Rig) loss {
	const name = "dump.rdb"
	var dump []byte
	return loss{what: "a new server with a copied dump", fork: func() {
		r.primary.Do(r.t, "SAVE")
		config := setup.Must(r.primary.Client().ConfigGet(r.t.Context(), "dir").Result())
		dump = setup.Must(os.ReadFile(filepath.Join(config["dir"], name)))
	}, swap: func() {
		r.primary.Kill(r.t)
		dir := r.t.TempDir()
		setup.Check(os.WriteFile(filepath.Join(dir, name), dump, 0o600))
		r.primary = redistest.Start(r.t, redistest.Args("--dir", dir, "--dbfilename", name))
		r.retarget()
	}}
}

// failover promotes a replica that stopped following earlier. The old primary is empty when it
// comes back, and follows the new one.
func failover(r *Rig) loss {
	return loss{what: "failover to a replica that lags", fork: func() {
		r.replica.Do(r.t, "REPLICAOF", "NO", "ONE")
	}, swap: func() {
		r.primary.Kill(r.t)
		r.primary, r.replica = r.replica, r.primary
		r.retarget()
	}, heal: func() {
		r.replica.Restart(r.t)
		r.follow(r.replica, r.primary)
	}}
}

func replicaOf(r *Rig) loss {
	return loss{what: "REPLICAOF a replica that lags, and back", fork: func() {
		r.replica.Do(r.t, "REPLICAOF", "NO", "ONE")
	}, swap: func() {
		r.follow(r.primary, r.replica)
		r.primary.Do(r.t, "REPLICAOF", "NO", "ONE")
	}, heal: func() {
		r.follow(r.replica, r.primary)
	}}
}

// promote promotes a lagging replica, by the Sentinels or in the Cluster. Every second time, it
// makes the old primary the primary again before a worker comes.
func promote(r *Rig) loss {
	hops, what := 2, "failover to a replica that lags, and back"
	if r.losses%2 == 1 {
		hops, what = 1, "failover to a replica that lags"
	}
	return loss{what: what, fork: r.lag, swap: func() {
		for range hops {
			r.hop()
		}
	}}
}

func reload(r *Rig) loss {
	return loss{what: "DEBUG RELOAD NOSAVE", fork: func() {
		r.primary.Do(r.t, "SAVE")
	}, swap: func() {
		r.primary.Do(r.t, "DEBUG", "RELOAD", "NOSAVE")
	}}
}

// logKeyNames are the log's three keys.
var logKeyNames = []string{"m", "k", "s"}

func restore(r *Rig) loss {
	dumps := map[string]any{}
	return loss{what: "RESTORE of the log's keys", fork: func() {
		for _, k := range logKeyNames {
			dumps[k] = r.primary.Do(r.t, "DUMP", r.logKey(k))
		}
	}, swap: func() {
		r.atOnce(func(p redis.Pipeliner) {
			for k, d := range dumps {
				p.Do(r.t.Context(), "RESTORE", r.logKey(k), 0, d, "REPLACE")
			}
		})
	}}
}

// copyKeys restores the log's keys by COPY, which leaves no trace in the server. The library
// detects this only when a process comes that knows the lost writes. So that process comes within
// the bound of the first lost write.
//
// Until then the first worker appends records at positions that were used before. Cells that were
// loaded at the end of the lost history look newer than these records. So in that time the
// guarantee does not even cover the worker's own invalidations.
func copyKeys(r *Rig) loss {
	turn := func(from, to string) func() {
		return func() {
			r.atOnce(func(p redis.Pipeliner) {
				for _, k := range logKeyNames {
					p.Do(r.t.Context(), "COPY", r.logKey(k)+from, r.logKey(k)+to, "REPLACE")
				}
			})
		}
	}
	return loss{what: "COPY of the log's keys, and back", fork: turn("", ":saved"), swap: turn(":saved", "")}
}

// copyAlone is copyKeys, but no process comes back that knows the lost writes. The first process is
// new, and reads cells from ahead of the log before it has used their positions again. It is alone
// for so long that only these cells can tell it.
func copyAlone(ctx context.Context, r *Rig) string {
	l := copyKeys(r)
	l.fork()
	proc.Sleep(ctx, 3*time.Second) // more records than one process appends while it is alone
	i, others := r.split()
	for _, n := range others { // they start cut off
		r.proxies[n].BlackHole()
	}
	r.replace(r.all(), l.swap)
	proc.Sleep(ctx, r.cfg.Bound+3*time.Second)
	r.back(others)
	return fmt.Sprintf("%s, with new processes only, and worker %d alone", l.what, i)
}

// atOnce runs commands in one transaction.
func (r *Rig) atOnce(commands func(redis.Pipeliner)) {
	_, err := r.primary.Client().TxPipelined(r.t.Context(), func(p redis.Pipeliner) error {
		commands(p)
		return nil
	})
	setup.Check(err)
}

// retarget makes every worker's proxy lead to the current primary.
func (r *Rig) retarget() {
	for _, p := range r.proxies {
		p.Retarget(r.primary.Addr())
	}
}
