package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A read waits for one deadline on a remote tier that hangs, also when its load is overtaken and
// repeated.
func TestOvertakenReadSpendsOneDeadline(t *testing.T) {
	for _, call := range []string{"gets", "many"} {
		play(t, scene{name: call, on: paired, cfg: thingConfig{Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}, steps: `
			remote hangs; during 2 a invalidates tag; a ` + call + ` 1.3; took 50ms`})
	}
}

// A process that closes during its loads gives its claims back, and remembers no failure: another
// process loads at once.
func TestCloseDuringALoad(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{Policy: patch{ErrorTTL: new(time.Minute)}}, steps: `
		source takes=1h; go a gets closed; wait 100ms; cells 1; a's remote slow=1ms; a closes maybe timeout=10ms
		wait 100ms; cells 0; source takes=0s; b gets 1.2 load; took 0s`})
}

// Size is not called for an old value that is served in place of a failed load.
func TestOldValueKeepsItsSize(t *testing.T) {
	for _, call := range []string{"gets", "many"} {
		var sizes atomic.Int64
		play(t, scene{name: call, cfg: thingConfig{Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour)}, Size: func(string) int64 {
			if sizes.Add(1) > 1 {
				panic("size")
			}
			return 8
		}}, steps: "a gets 1.1; wait 2s; source fails; a " + call + " 1.1 stale; took 0s"})
	}
}

// doored is a local tier that calls a function before each Get.
type doored struct {
	tier.Local
	before atomic.Pointer[func()]
}

func (g *doored) Get(h uint64) (tier.Entry, bool) {
	if f := g.before.Load(); f != nil {
		(*f)()
	}
	return g.Local.Get(h)
}

// A refresh cannot begin when the tiers are closed at that moment. Its flight must end, because
// another caller may have joined it.
func TestRefreshThatCannotBeginEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		g := &doored{Local: local.New(local.Config{})}
		tiers, err := cache.Open(cache.TiersConfig{Local: g})
		must(t, err)
		c := with(t, tiers, thingConfig{Load: src.load, Policy: patch{TTL: new(time.Second), Stale: new(time.Hour)}})
		get(t, c, 1)
		advance(2 * time.Second)
		joined := make(chan error, 1)
		var n int
		f := func() {
			if n++; n != 3 { // calls 1 and 2 are hit and fromLocal; at call 3 the refresh has begun its flight
				return
			}
			g.before.Store(nil)
			go func() {
				_, err := c.Fetch(context.WithoutCancel(t.Context()), 1, nil, cache.MaxAge(time.Second))
				joined <- err
			}()
			synctest.Wait()
			_ = tiers.Close(t.Context())
		}
		g.before.Store(&f)
		get(t, c, 1)
		select {
		case err := <-joined:
			if !errors.Is(err, cache.ErrClosed) {
				t.Errorf("the caller that joined the refresh gets %v, want ErrClosed", err)
			}
		case <-time.After(time.Hour):
			t.Error("the caller that joined the refresh waits for ever")
		}
	})
}

// When Size panics for one key of a batch during the claim, the claims of the other keys are given back.
func TestPanicInClaimGivesBack(t *testing.T) {
	var sizes atomic.Int64
	play(t, scene{on: paired, cfg: thingConfig{Size: func(v string) int64 {
		if v == "1.1" && sizes.Add(1) > 1 { // not in b, which is faster with this key
			panicHere(errSource)
		}
		return 8
	}}, steps: "before claims b gets 1.1; a batches 1-3 panic; b gets any key=2; took 0s-10ms"})
}

type touchyKey struct{ K touchyPart }

type touchyPart struct{ N int }

func (k touchyPart) MarshalText() ([]byte, error) {
	if k.N == 13 {
		panic("unlucky")
	}
	return fmt.Append(nil, k.N), nil
}

// A key that panics when it is encoded does not harm the callers of other keys.
func TestPanicInSpellingAmongMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := with(t, open(t, cache.TiersConfig{MaxFlights: 1}), cache.Config[touchyKey, string]{
			Load: func(context.Context, touchyKey) (string, error) { return "v", nil },
		})
		key := func(n int) touchyKey { return touchyKey{touchyPart{n}} }
		if p := panicOf(func() { _, _ = c.GetMany(t.Context(), []touchyKey{key(1), key(13)}) }); p == nil {
			t.Error("no panic")
		}
		if v, err := c.Get(t.Context(), key(2)); err != nil {
			t.Errorf("Get = %q, %v: a flight was left", v, err)
		}
	})
}

// Loads that read each other wait no longer than SoftTimeout if there are old values.
func TestCrossedLoadsWithSoftTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c things
		var crossed atomic.Bool
		c = with(t, open(t, cache.TiersConfig{}), thingConfig{
			Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(100 * time.Millisecond)},
			Load: func(ctx context.Context, k int) (string, error) {
				if !crossed.Load() {
					return "old", nil
				}
				_ = nap(ctx, 10*time.Millisecond)
				v, err := c.Get(ctx, 1-k)
				if err != nil {
					t.Errorf("the load of %d: %v", k, err)
				}
				return fmt.Sprint(k, ">", v), err
			},
		})
		get(t, c, 0)
		get(t, c, 1)
		crossed.Store(true)
		advance(2 * time.Second)
		crowd(2, func(k int) { get(t, c, k) })
		advance(time.Minute)
	})
}

// The search for circles takes time in proportion to the number of waiting loads, not to the
// number of paths between them.
func TestManyLoadsThatWaitInLayers(t *testing.T) {
	const width, layers = 8, 10
	start := time.Now()
	synctest.Test(t, func(t *testing.T) {
		var c things
		c = with(t, open(t, cache.TiersConfig{}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			if k < width {
				return "v", nap(ctx, time.Second)
			}
			below := make([]int, width)
			for i := range below {
				below[i] = (k/width-1)*width + i
			}
			_, err := c.GetMany(ctx, below)
			return "v", err
		}})
		for l := range layers {
			for i := range width {
				go func() { _, _ = c.Get(t.Context(), l*width+i) }()
			}
			synctest.Wait()
		}
		advance(2 * time.Second)
	})
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("%d loads took %v of real time", width*layers, d)
	}
}

// One key of a large batch fails, for example on a node that is down. The other keys are still
// read from the remote tier.
func TestOneBadKeyAmongThousands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := faulty()
		src := &source{}
		_, cs := fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{LoadMany: ofEach(src.load)})
		keys := ints(0, 3000)
		_, _ = cs[0].GetMany(t.Context(), keys)
		before := src.total()
		remote.FailKeys(errSource, "default:things:0")
		if m, err := cs[1].GetMany(t.Context(), keys); err != nil || len(m) != len(keys) {
			t.Errorf("%d values, %v", len(m), err)
		}
		equal(t, src.total()-before, 1, "loaded keys")
	})
}

// If the remote tier ends the goroutine at any step, every caller still gets an answer.
func TestGoexitAtEachStep(t *testing.T) {
	for _, op := range []tiertest.Op{tiertest.Get, tiertest.Claim, tiertest.Fill} {
		synctest.Test(t, func(t *testing.T) {
			remote := faulty()
			src := &source{}
			c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
			var once atomic.Bool
			remote.Before(func(_ context.Context, o tiertest.Op, _ []string) {
				if o == op && once.CompareAndSwap(false, true) {
					runtime.Goexit()
				}
			})
			first := make(chan error, 1)
			go func() {
				var err error
				defer func() { first <- err }() // also if the caller's own goroutine ends
				_, err = c.Get(t.Context(), 1)
			}()
			synctest.Wait()
			second := time.Now()
			get(t, c, 1)
			if d := time.Since(second); d > 100*time.Millisecond {
				t.Errorf("op %v: the next caller waited %v", op, d)
			}
			select {
			case err := <-first:
				if op == tiertest.Fill && !errors.Is(err, cache.ErrGoexit) {
					t.Errorf("op %v: Get: %v, want ErrGoexit", op, err)
				}
			case <-time.After(time.Hour):
				t.Errorf("op %v: the caller waits for ever", op)
			}
		})
	}
}
