package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// Cluster is a Redis Cluster of masters that considers a node down after 2 s. By Redis' default it
// then refuses every key until the node is back. It has only the replicas of [Cluster.AddReplica].
type Cluster struct {
	Nodes    []*Server // node i owns the i-th equal share of the slots at the start
	Replicas []*Server

	opts []Option
}

// StartCluster returns a running cluster that ends with the test. It waits until every node sees
// every slot served. It always starts its own servers.
func StartCluster(t testing.TB, masters int, opts ...Option) *Cluster {
	t.Helper()
	needServer(t)
	opts = slices.Concat(opts, []Option{
		Args("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-config-file", "nodes.conf"),
	})
	c := &Cluster{opts: opts}
	for i := range masters {
		n := startServer(t, opts...)
		n.Do(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		first, next := i*slots/masters, (i+1)*slots/masters
		if err := n.admin.ClusterAddSlotsRange(t.Context(), first, next-1).Err(); err != nil {
			t.Fatalf("redistest: CLUSTER ADDSLOTS: %v", err)
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range c.Nodes[1:] {
		n.Do(t, "CLUSTER", "MEET", "127.0.0.1", c.Nodes[0].Port())
	}
	c.WaitOK(t)
	return c
}

// AddReplica adds a replica to a master, and returns it when its link is up.
func (c *Cluster) AddReplica(t testing.TB, master *Server) *Server {
	t.Helper()
	n := startServer(t, c.opts...)
	c.Replicas = append(c.Replicas, n)
	n.Do(t, "CLUSTER", "MEET", "127.0.0.1", master.Port())
	c.WaitOK(t)
	n.Do(t, "CLUSTER", "REPLICATE", master.Do(t, "CLUSTER", "MYID"))
	Eventually(t, "the replica does not connect", func(ctx context.Context) error {
		return wantInfo(ctx, n, "replication", "master_link_status:up")
	})
	return n
}

// WaitOK waits until every node considers all nodes and all slots healthy.
func (c *Cluster) WaitOK(t testing.TB) {
	t.Helper()
	all := slices.Concat(c.Nodes, c.Replicas)
	for _, n := range all {
		Eventually(t, "the cluster does not form", func(ctx context.Context) error {
			info, err := n.admin.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			for _, want := range []string{
				"cluster_state:ok",
				fmt.Sprintf("cluster_slots_ok:%d", slots),
				fmt.Sprintf("cluster_known_nodes:%d", len(all)),
			} {
				if !strings.Contains(info, want) {
					return fmt.Errorf("redistest: CLUSTER INFO of port %s has no %s:\n%s", n.Port(), want, info)
				}
			}
			return nil
		})
	}
}

// Options returns options for a client of the cluster. The caller may change them.
func (c *Cluster) Options() *redis.ClusterOptions {
	o := &redis.ClusterOptions{
		ContextTimeoutEnabled:    true,
		DialTimeout:              time.Second,
		DialerRetries:            1,
		ReadTimeout:              2 * time.Second,
		WriteTimeout:             2 * time.Second,
		DisableIdentity:          true,
		MaintNotificationsConfig: noMaintenance(),
	}
	for _, n := range c.Nodes {
		o.Addrs = append(o.Addrs, n.Addr())
	}
	return o
}

// Client returns a new client with [Cluster.Options], closed with the test that
// started the cluster.
func (c *Cluster) Client() *redis.ClusterClient {
	rdb := redis.NewClusterClient(c.Options())
	c.Nodes[0].t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Owner returns the node that owned the slot of key at the start. It needs a node to compute the
// slot, so it fails t if all of them are down.
func (c *Cluster) Owner(t testing.TB, key string) *Server {
	t.Helper()
	var last error
	for _, n := range c.Nodes {
		slot, err := n.admin.ClusterKeySlot(t.Context(), key).Result()
		if err == nil {
			return c.Nodes[ownerOf(int(slot), len(c.Nodes))]
		}
		last = err
	}
	t.Fatalf("redistest: CLUSTER KEYSLOT: %v", last)
	return nil
}

// ownerOf inverts the assignment of slots in StartCluster.
func ownerOf(slot, masters int) int {
	for i := range masters {
		if slot < (i+1)*slots/masters {
			return i
		}
	}
	return masters - 1
}
