package peers_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

const room = 4000

func open(t *testing.T, s peers.Spec, load peers.Loader) peers.Peer {
	t.Helper()
	o := peers.Options{Entries: room, Prefix: redistest.Prefix(), Load: load}
	if s.Kind == peers.TwoTier {
		o.Redis = redistest.Start(t).Addr()
	}
	var p peers.Peer
	if err := setup.Try(func() { p = s.Open(o) }); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	t.Cleanup(p.Close)
	return p
}

func get(t *testing.T, p peers.Peer, id int64) (peers.Value, bool) {
	t.Helper()
	k := peers.KeyOf(id)
	return p.Get(t.Context(), &k)
}

func set(t *testing.T, p peers.Peer, id int64, v peers.Value) {
	t.Helper()
	k := peers.KeyOf(id)
	if err := p.Set(t.Context(), &k, v); err != nil {
		t.Fatalf("Set(%d): %v", id, err)
	}
	p.Settle()
}

// TestContract checks the adapters against one contract: a value that was set is found complete,
// the newest value counts, and a key that was never set is not found.
func TestContract(t *testing.T) {
	for _, s := range peers.All() {
		t.Run(s.Name, func(t *testing.T) {
			p := open(t, s, nil)
			const n = 50
			for i := range int64(n) {
				set(t, p, i, peers.Small(i+7))
				if v, ok := get(t, p, i); !ok || v != peers.Small(i+7) {
					t.Fatalf("Get(%d) = %v, %v, want the set value", i, v, ok)
				}
				set(t, p, i, peers.Large(i))
			}
			for i := range int64(n) {
				if v, ok := get(t, p, i); !ok || v != peers.Large(i) {
					t.Fatalf("Get(%d) = %.60v, %v, want the newer value", i, v, ok)
				}
			}
			if v, ok := get(t, p, n); ok {
				t.Errorf("Get of a key that was never set = %v", v)
			}
		})
	}
}

// TestLoadsOnce checks that loading peers call the loader once, and for the requested key.
func TestLoadsOnce(t *testing.T) {
	for _, s := range peers.All() {
		if !s.Loads {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			var loads atomic.Int64
			p := open(t, s, func(_ context.Context, id int64) (peers.Value, error) {
				loads.Add(1)
				return peers.Small(id), nil
			})
			for range 3 {
				for id := range int64(50) {
					if v, ok := get(t, p, id); !ok || v != peers.Small(id) {
						t.Fatalf("Get(%d) = %v, %v, want the loader's value", id, v, ok)
					}
					p.Settle()
				}
			}
			if n := loads.Load(); n != 50 {
				t.Errorf("%d loads for 50 keys, want 50", n)
			}
		})
	}
}

// Values that fit are kept. Otherwise a table of hit latencies would include misses.
func TestKeepsWhatFits(t *testing.T) {
	for _, s := range peers.All() {
		if s.Kind == peers.TwoTier {
			continue // Redis has the values that the process lost
		}
		t.Run(s.Name, func(t *testing.T) {
			p := open(t, s, nil)
			for id := range int64(room / 4) {
				set(t, p, id, peers.Large(id))
			}
			lost := 0
			for id := range int64(room / 4) {
				if _, ok := get(t, p, id); !ok {
					lost++
				}
			}
			if lost > 0 {
				t.Errorf("%d of %d values were lost, with room for %d", lost, room/4, room)
			}
		})
	}
}

func TestByName(t *testing.T) {
	if _, err := peers.ByName("otter"); err != nil {
		t.Error(err)
	}
	if _, err := peers.ByName("nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("ByName(\"nobody\") = %v, want an error that names it", err)
	}
}

func TestNeedsRedis(t *testing.T) {
	for _, s := range peers.All() {
		if s.Kind != peers.TwoTier {
			continue
		}
		if err := setup.Try(func() { s.Open(peers.Options{Entries: 1, Prefix: "x"}).Close() }); err == nil {
			t.Errorf("%s opened without the address of a Redis", s.Name)
		}
	}
}
