package rig

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// servers returns the servers that hold data.
func (r *Rig) servers() []*redistest.Server {
	if r.cluster != nil {
		return r.cluster.Nodes
	}
	return []*redistest.Server{r.primary}
}

// follow makes a server the replica of another, and waits for it.
func (r *Rig) follow(replica, primary *redistest.Server) {
	replica.Do(r.t, "REPLICAOF", "127.0.0.1", primary.Port())
	r.linked(replica)
}

func (r *Rig) linked(replica *redistest.Server) {
	redistest.Eventually(r.t, "the replica does not connect", func(context.Context) error { return r.isLinked(replica) })
}

func (r *Rig) isLinked(replica *redistest.Server) error {
	var info string
	err := setup.Try(func() { info, _ = replica.Do(r.t, "INFO", "replication").(string) })
	if err != nil {
		return err
	}
	if !strings.Contains(info, "role:slave") || !strings.Contains(info, "master_link_status:up") {
		return fmt.Errorf("rig: port %s says:\n%s", replica.Port(), info)
	}
	return nil
}

// rejoined waits until a deposed master follows, or is master again after another failover.
func (r *Rig) rejoined(old *redistest.Server) {
	redistest.Eventually(r.t, "the old master does not come back", func(ctx context.Context) error {
		err := r.isLinked(old)
		if now, lost := r.sentinel.Current(ctx); err != nil && lost == nil && now == old {
			return nil
		}
		return err
	})
}

func masterHangs(ctx context.Context, r *Rig) string {
	old := setup.Must(r.sentinel.Current(r.t.Context()))
	old.Stop(r.t)
	proc.Sleep(ctx, 3*time.Second)
	old.Cont(r.t)
	what := "master hangs"
	if now, err := r.sentinel.Current(r.t.Context()); err == nil && now != old {
		what = "master hangs, failover"
		r.rejoined(old)
	}
	proc.Sleep(ctx, 2*time.Second)
	return what
}

// nodeFault ends all connections, or pauses one node of the Cluster, sometimes for long enough that
// the others consider it down.
func nodeFault(ctx context.Context, r *Rig) string {
	if r.rng.IntN(2) == 0 {
		return kill(ctx, r)
	}
	n := r.rng.IntN(len(r.cluster.Nodes))
	d := r.between(short, 3*time.Second)
	r.cluster.Nodes[n].Stop(r.t)
	proc.Sleep(ctx, d)
	r.cluster.Nodes[n].Cont(r.t)
	r.cluster.WaitOK(r.t)
	return fmt.Sprintf("pause of node %d", n)
}

func nodeLoss(ctx context.Context, r *Rig) string {
	n := r.rng.IntN(len(r.cluster.Nodes))
	for r.cluster.Nodes[n] == r.primary {
		n = r.rng.IntN(len(r.cluster.Nodes))
	}
	s := r.cluster.Nodes[n]
	s.Do(r.t, "SAVE")
	proc.Sleep(ctx, r.lossTime(loss{}))
	s.Kill(r.t)
	s.Restart(r.t)
	r.cluster.WaitOK(r.t)
	return fmt.Sprintf("node %d back with an old dump", n)
}

// lag cuts off the replica from its primary. It sets a wrong password, so the replica cannot
// connect again. Neither a Sentinel nor a Cluster reacts to that.
func (r *Rig) lag() {
	r.replica.Do(r.t, "CONFIG", "SET", "masterauth", "wrong")
	r.primary.Do(r.t, "CLIENT", "KILL", "TYPE", "replica")
}

// hop promotes the replica, which may lag, and makes the old primary follow it. The old primary
// accepts no writes meanwhile, because the guarantee excludes two primaries at a time.
func (r *Rig) hop() {
	r.primary.Do(r.t, "CLIENT", "PAUSE", (10 * redistest.Patience).Milliseconds(), "WRITE")
	if r.cluster != nil {
		r.replica.Do(r.t, "CLUSTER", "FAILOVER", "TAKEOVER")
	} else {
		r.sentinel.Failover(r.t)
	}
	r.replica.Do(r.t, "CONFIG", "SET", "masterauth", "")
	if r.sentinel != nil { // the Sentinel would do so after ten seconds
		r.primary.Do(r.t, "REPLICAOF", "127.0.0.1", r.replica.Port())
	}
	r.primary, r.replica = r.replica, r.primary
	r.linked(r.replica)
	r.replica.Do(r.t, "CLIENT", "UNPAUSE")
	if r.cluster != nil {
		r.cluster.WaitOK(r.t)
	}
}
