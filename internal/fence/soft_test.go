package fence_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

func expire(f *fence.Fences, scopes ...invalidate.Scope) {
	f.Apply(fence.Request{Scopes: scopes, Soft: true})
}

// The time of an old expiry stays known, at worst a little too early, however many expiries follow.
// Otherwise its entry would be dead instead of stale.
func TestTimesOfManyExpiries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin := time.Now()
		f := fence.New(origin)
		e := fencetest.New(f, "acme:users:1", "t")
		pass := func(d time.Duration) { <-time.After(d) }
		pass(time.Hour)
		expire(f, invalidate.Tag("acme", "t"))
		other := invalidate.Key(fencetest.KeyOf(t, "acme:users:2"))
		for range 300_000 {
			pass(2 * time.Millisecond)
			expire(f, other)
		}
		_, fresh, ok := f.Clear(e.Born, uint32(e.Hash), e, e.Tags)
		if at := time.Duration(fresh); !ok || at > time.Hour || at < time.Hour-time.Second {
			t.Errorf("the entry is clear: %v, and expired at %v; want 1h", ok, at)
		}
	})
}

// A soft fence of a key is compared with frames by its position in the scope sequence. A soft fence
// of another hash does not matter.
func TestExpiredFramesByPosition(t *testing.T) {
	f := fence.New(start)
	e := fencetest.New(f, "acme:users:1", "t")
	for name, soft := range map[string]invalidate.Scope{
		"key":    invalidate.Key(fencetest.KeyOf(t, e.Key)),
		"prefix": invalidate.Prefix("acme", "users:"),
		"tag":    invalidate.Tag("acme", "t"),
		"all":    invalidate.All(),
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.New(start)
			f.Store(invalidate.Fence{Scope: soft, Soft: true}, invalidate.At(9, 6))
			for _, at := range []uint32{5, 6, 7} {
				fresh, ok := f.Accepts(fence.Mark{Key: invalidate.At(9, 1), Scope: invalidate.At(9, at)}, e.Hash, e.Key, e.Tags)
				if expired := fresh != fence.Forever; !ok || expired != (at < 6) {
					t.Errorf("a frame as of %d is accepted: %v, and expired: %v", at, ok, expired)
				}
			}
			if fresh, ok := f.Accepts(fence.Mark{Scope: invalidate.At(9, 5)}, e.Hash+1, "bolt:users:1", nil); !ok || name != "all" && fresh != fence.Forever {
				t.Errorf("another frame is accepted: %v, until %d", ok, fresh)
			}
		})
	}
}

// A hard fence wins over a soft one, in either order.
func TestHardFenceWins(t *testing.T) {
	tag := invalidate.Tag("acme", "t")
	for name, store := range map[string]func(*fence.Fences){
		"soft first": func(f *fence.Fences) { expire(f, tag); f.Fence(tag) },
		"hard first": func(f *fence.Fences) { f.Fence(tag); expire(f, tag) },
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.New(start)
			e := fencetest.New(f, "acme:users:1", "t")
			store(f)
			fencetest.Check(t, f, e, false)
		})
	}
}

// An entry that a soft fence covers is not fresh; one that was marked after the fence is.
func TestExpiredUntilRefreshed(t *testing.T) {
	f := fence.New(start)
	old := fencetest.New(f, "acme:users:1", "t")
	expire(f, invalidate.Key(fencetest.KeyOf(t, old.Key)))
	fencetest.Check(t, f, old, true)
	next := fencetest.New(f, old.Key, "t")
	fencetest.Check(t, f, next, true)
	if !old.Ended || next.Ended {
		t.Errorf("expired: the old one %v, the new one %v; want true and false", old.Ended, next.Ended)
	}
}

// More expiries than are remembered: an expired entry is not fresh. It may be dead, because it was
// not checked meanwhile.
func TestExpiriesOverflow(t *testing.T) {
	for name, scope := range map[string]func(i int) invalidate.Scope{
		"key":    func(i int) invalidate.Scope { return invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("acme:users:", i))) },
		"prefix": func(i int) invalidate.Scope { return invalidate.Prefix("acme", fmt.Sprint("users:", i)) },
		"tag":    func(i int) invalidate.Scope { return invalidate.Tag("acme", fmt.Sprint(i)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.NewSmall(64)
			e := fencetest.New(f, "acme:users:0", "0")
			for i := range 1000 {
				expire(f, scope(i))
			}
			if e.Clear(f) && !e.Ended {
				t.Error("an entry is fresh whose expiry was forgotten")
			}
			if fresh, over := f.Overtaken(e.Mark, e.Hash, e.Key, e.Tags); !over && fresh == fence.Forever {
				t.Error("a load is not overtaken by an expiry that was forgotten")
			}
			if fresh, ok := f.Accepts(e.Mark, e.Hash, e.Key, e.Tags); ok && fresh == fence.Forever {
				t.Error("a frame is fresh although its expiry was forgotten")
			}
			next := fencetest.New(f, e.Key, "0")
			if fencetest.Check(t, f, next, true); next.Ended {
				t.Error("an entry marked since is not fresh")
			}
		})
	}
}

// BenchmarkHitBesideFences measures the fence check of a hit while another goroutine stores
// unrelated fences as fast as it can.
func BenchmarkHitBesideFences(b *testing.B) {
	key := func(i int) invalidate.Scope {
		return invalidate.Key(fencetest.KeyOf(b, fmt.Sprint("acme:others:", i&1023)))
	}
	tag := func(i int) invalidate.Scope { return invalidate.Tag("acme", fmt.Sprint("other", i&1023)) }
	for _, bb := range []struct {
		name  string
		scope func(int) invalidate.Scope
		soft  bool
	}{{"nothing", nil, false}, {"keys", key, false}, {"keys expire", key, true}, {"tags", tag, false}, {"tags expire", tag, true}} {
		b.Run(bb.name, func(b *testing.B) {
			f := fence.New(start)
			e := fencetest.New(f, "acme:users:1", "a", "b")
			var stop atomic.Bool
			var stored int
			var wg sync.WaitGroup
			if bb.scope != nil {
				wg.Go(func() {
					for ; !stop.Load(); stored++ {
						f.Apply(fence.Request{Scopes: []invalidate.Scope{bb.scope(stored)}, Soft: bb.soft})
					}
				})
			}
			gen := uint64(0)
			for b.Loop() {
				if now := f.Generation(); gen != now {
					if (f.Since(gen, uint32(e.Hash), partOf(e.Key)) || f.DepsSince(gen, e.Tags)) && !checked(e, f) {
						b.Fatal("not clear")
					}
					gen = now
				}
			}
			b.StopTimer()
			stop.Store(true)
			wg.Wait()
			b.ReportMetric(float64(stored)/float64(b.N), "fences/op")
		})
	}
}
