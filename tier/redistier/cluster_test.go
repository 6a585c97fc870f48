package redistier_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// broken is a cluster with one node behind a proxy.
type broken struct {
	tier  *redistier.Tier
	proxy *redistest.Proxy
	node  *redistest.Server
	keys  []string
	away  map[string]bool // keys of the node behind the proxy
}

func newBroken(t *testing.T) *broken {
	c := redistest.StartCluster(t, 3)
	b := &broken{node: c.Nodes[1], proxy: redistest.NewProxy(t, c.Nodes[1].Addr()), away: map[string]bool{}}
	opts := c.Options()
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == b.node.Addr() {
			addr = b.proxy.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	prefix := redistest.Prefix()
	b.tier = redistier.New(closed(t, redis.NewClusterClient(opts)), redistier.Config{Prefix: prefix})
	for i := range 30 {
		key := fmt.Sprint("key", i)
		b.keys = append(b.keys, key)
		b.away[key] = c.Owner(t, prefix+":v:"+key) == b.node
		store(t, b.tier, key)
	}
	if _, err := tiercall.GetMany(t.Context(), b.tier, b.keys); err != nil { // opens the connections of pipelines
		t.Fatalf("GetMany = %v", err)
	}
	return b
}

// answers is how long healthy nodes have to answer while another one does not.
const answers = 2 * time.Second

func TestClusterPartialFailure(t *testing.T) {
	b := newBroken(t)
	for _, tc := range []struct {
		name  string
		fault func()
	}{
		{"a node hangs", b.proxy.BlackHole},
		{"a node is gone", b.proxy.Drop},
		{"a node answers garbage", func() { b.proxy.Garbage([]byte("$99999999999999999\r\n")) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.fault()
			defer func() {
				b.proxy.Drop()
				b.proxy.Pass()
				redistest.Eventually(t, "the node does not come back", func(ctx context.Context) error {
					_, err := tiercall.GetMany(ctx, b.tier, b.keys)
					return err
				})
			}()
			ctx, cancel := context.WithTimeout(t.Context(), answers)
			defer cancel()
			got, err := tiercall.GetMany(ctx, b.tier, b.keys)
			if err == nil {
				t.Errorf("GetMany = nil, want an error")
			}
			for i, key := range b.keys {
				if (got[i] == nil) != b.away[key] {
					t.Errorf("key %d: %d bytes, its node is away: %v", i, len(got[i]), b.away[key])
				}
			}
		})
	}
}

func TestClusterPartialWrites(t *testing.T) {
	b := newBroken(t)
	b.proxy.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), answers)
	defer cancel()
	var keys []string
	var claims []tier.Claim
	for _, key := range b.keys {
		keys = append(keys, key)
		claims = append(claims, tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute})
	}
	got, err := tiercall.ClaimMany(ctx, b.tier, keys, claims)
	if !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Errorf("ClaimMany = %v, want a timeout", err)
	}
	for i, key := range b.keys {
		// The current frame refuses the claim and comes back.
		if (got[i].Cell == nil) != b.away[key] {
			t.Errorf("key %d: %d bytes, its node is away: %v", i, len(got[i].Cell), b.away[key])
		}
	}
	ctx, cancel = context.WithTimeout(t.Context(), answers)
	defer cancel()
	if err := tiercall.Remove(ctx, b.tier, keys...); err == nil {
		t.Errorf("Unlink with a node away = nil, want an error")
	}
	b.proxy.Pass()
	for i, key := range b.keys {
		var frame []byte
		redistest.Eventually(t, "get", func(ctx context.Context) (err error) {
			frame, err = tiercall.Get(ctx, b.tier, key)
			return err
		})
		if frame != nil && !b.away[key] {
			t.Errorf("key %d was not unlinked although its node was up", i)
		}
	}
}

// When a node does not answer a removal, the error names its keys. The cells of the other keys
// are removed.
func TestClusterPartialUnlink(t *testing.T) {
	b := newBroken(t)
	b.proxy.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), answers)
	defer cancel()
	failed, ok := errors.AsType[*tier.KeysError](tiercall.Remove(ctx, b.tier, b.keys...))
	if !ok {
		t.Fatal("Unlink did not say which keys failed")
	}
	for _, key := range b.keys {
		if slices.Contains(failed.Keys, key) != b.away[key] {
			t.Errorf("key %s failed: %v, its node is away: %v", key, !b.away[key], b.away[key])
		}
		if b.away[key] {
			continue
		}
		if frame, err := tiercall.Get(t.Context(), b.tier, key); frame != nil || err != nil {
			t.Errorf("key %s still has %d bytes, %v", key, len(frame), err)
		}
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// A slot that moves without the client's knowledge must not fail a batch.
func TestClusterMovedSlots(t *testing.T) {
	c := redistest.StartCluster(t, 2)
	r := newTier(t, c.Client())
	for i := range 8 { // teaches the client both nodes
		key := fmt.Sprint("warm", i)
		store(t, r, key)
		if err := tiercall.Remove(t.Context(), r, key); err != nil { // a slot with keys cannot be given away
			t.Fatalf("Unlink = %v", err)
		}
	}
	from, to := c.Nodes[0], c.Nodes[1]
	id := to.Do(t, "CLUSTER", "MYID")
	for slot := range 8192 {
		to.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", id)
		from.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", id)
	}
	var keys []string
	var claims []tier.Claim
	for i := range 40 {
		keys = append(keys, fmt.Sprint("key", i))
		claims = append(claims, tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute})
	}
	got, err := tiercall.ClaimMany(t.Context(), r, keys, claims)
	if err != nil {
		t.Fatalf("ClaimMany = %v", err)
	}
	for i := range got {
		if !got[i].Granted {
			t.Errorf("claim %d was refused", i)
		}
	}
	frames, err := tiercall.GetMany(t.Context(), r, keys)
	if err != nil {
		t.Fatalf("GetMany = %v", err)
	}
	for i := range frames {
		if frames[i] == nil {
			t.Errorf("key %d is gone", i)
		}
	}
	if err := tiercall.Remove(t.Context(), r, keys...); err != nil {
		t.Errorf("Unlink = %v", err)
	}
}
