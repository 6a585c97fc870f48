package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A read that Close ends says ErrClosed, wherever it waits. A cancellation by the caller stays
// the caller's.
func TestReadsEndedByClose(t *testing.T) {
	cfg := thingConfig{Policy: patch{RemoteTimeout: new(time.Minute), LoadTimeout: new(2 * time.Hour)}}
	const reads = `
		go a gets closed; go a gets closed MaxAge=1h; go a many closed; go a refreshes closed key=3; go a peeks nothing key=4
		wait 1s; a closes maybe ended; wait 1ms; `
	for name, before := range map[string]string{
		"a load":                   "source takes=1h",
		"a load that does not end": "source takes=1h; source deaf",
		"another's claim":          "source takes=1h; remote claims=2h",
		"a turn":                   "source takes=1h; go a gets closed key=99",
		"a remote tier that hangs": "remote hangs=get",
		"a claim that hangs":       "remote hangs=claim",
	} {
		after := "remote well"
		if strings.HasSuffix(name, "hangs") {
			after = "a counts Loads.Calls=0; remote well"
		}
		for _, many := range []bool{false, true} {
			play(t, scene{name: fmt.Sprint(name, ", LoadMany ", many), on: paired, tc: cache.TiersConfig{MaxLoads: 1}, cfg: cfg, many: many, steps: before + "; " + reads + after})
		}
	}
}

// Close without a deadline returns within one bound, even if a load that ignores its context
// hangs, or the log hangs, or both.
func TestCloseIsBounded(t *testing.T) {
	const load, pending = "source takes=1h; source deaf; go a gets error; ", "a's log hangs; a invalidates tag pending timeout=1ms; a closes pending; took 0s-2s"
	play(
		t,
		scene{name: "a load, no log", on: alone, steps: load + "a closes maybe; took 0s-2s"},
		scene{name: "a load, a log", on: logged, steps: load + "a closes late; took 0s-2s"},
		scene{name: "a log that is down, something waits", on: logged, steps: pending},
		scene{name: "a load, a log that is down, all waiting", on: logged, steps: load + pending},
		// The load uses all the time of Close, but not the time for pending invalidations.
		scene{name: "a load, a log that comes back", on: logged, steps: load + `
			a's log fails; a invalidates tag pending timeout=1ms; later 1s a's log well; a closes late`},
	)
}

// While nothing is closed, a load that is cancelled says so, and not that the tiers are closed.
func TestCancelledLoadIsNotClosed(t *testing.T) {
	play(t, scene{err: context.Canceled, steps: "source fails; a gets cancelled"})
}

// A stale value that stands in for a failed load is remote if only the remote tier held it.
func TestSourceOfStandIns(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), LoadTimeout: new(time.Second)}}
	for name, steps := range map[string]string{
		"both":                  "b gets 1.1; wait 1m; source fails; b gets 1.1 local stale",
		"local":                 "b gets 1.1; wait 1m; source fails; b's remote fails; b gets 1.1 local stale",
		"remote":                "wait 1m; source fails; b gets 1.1 remote stale",
		"remote, SkipLocal":     "wait 1m; source fails; b gets 1.1 remote stale SkipLocal",
		"both, SkipLocal":       "b gets 1.1; wait 1m; source fails; b gets 1.1 remote stale SkipLocal",
		"local, SkipRemote":     "b gets 1.1; wait 1m; source fails; b gets 1.1 local stale SkipRemote",
		"remote, MaxAge":        "wait 1m; source fails; b gets 1.1 remote stale MaxAge=1h",
		"remote, a LoadTimeout": "wait 1m; source takes=1m; b gets 1.1 remote stale",
	} {
		play(t, scene{name: name, on: paired, cfg: cfg, steps: "a gets 1.1; " + steps})
	}
}

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

// doored is a local tier that calls a function before each Get.
type doored struct {
	tier.Local
	before atomic.Pointer[func()]
}

func (g *doored) Get(h uint64) (any, bool) {
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
	}}, steps: "before claim b gets 1.1; a batches 1-3 panic; b gets any key=2; took 0s-10ms"})
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

// Loads that wait for each other without a circle are not refused, on however many paths. The search for
// circles takes time in proportion to the number of waiting loads, not to the number of paths between them.
func TestManyLoadsThatWaitInLayers(t *testing.T) {
	const width, layers = 8, 10
	for _, batch := range []bool{false, true} {
		start := time.Now()
		bubble(t, fmt.Sprint("batch=", batch), func(t *testing.T) {
			var c things
			c = with(t, open(t, tiersOf(true)), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
				if k < width {
					return "v", nap(ctx, time.Second)
				}
				below := make([]int, width)
				for i := range below {
					below[i] = (k/width-1)*width + i
				}
				if batch {
					return "v", errOf(c.GetMany(ctx, below))
				}
				for _, b := range below {
					if _, err := c.Get(ctx, b); err != nil {
						return "", err
					}
				}
				return "v", nil
			}})
			for l := range layers {
				for i := range width {
					go get(t, c, l*width+i)
				}
				synctest.Wait()
			}
			advance(2 * time.Second)
		})
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%d loads took %v of real time", width*layers, d)
		}
	}
}

// One key of a large batch fails, for example on a node that is down. The other keys are still
// read from the remote tier.
func TestOneBadKeyAmongThousands(t *testing.T) {
	play(t, scene{on: paired, steps: "a batches 0-2999; b's remote bars=0; b batches 0-2999; loads 3001"})
}

// If the remote tier ends the goroutine at any step, every caller still gets an answer.
func TestGoexitAtEachStep(t *testing.T) {
	for op, first := range map[tiertest.Op]string{tiertest.Get: "any maybe", tiertest.Claim: "any maybe", tiertest.Fill: "goexit"} {
		var once atomic.Bool
		exits := func(f *tiertest.Faulty) tier.Remote {
			f.Before(func(_ context.Context, o tiertest.Op, _ []string) {
				if o == op && once.CompareAndSwap(false, true) {
					runtime.Goexit()
				}
			})
			return f
		}
		play(t, scene{name: fmt.Sprint(op), on: paired, as: exits, steps: "go a gets " + first + "; a gets any; took 0s-100ms"})
	}
}

// A call that ends its goroutine counts as a failed call, not as an answer.
func TestGoexitIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, paired, cache.TiersConfig{}, thingConfig{}, asIs)
		w.wire[0].Before(func(context.Context, tiertest.Op, []string) { runtime.Goexit() })
		for _, call := range []func(){func() { w.c[0].Peek(t.Context(), 1) }, func() { _ = w.c[0].Delete(t.Context(), 1) }} {
			end := make(chan struct{})
			go func() {
				defer close(end)
				call()
			}()
			<-end
		}
		s := w.tiers[0].Stats().Remote
		equal(t, s.GetErrors, 1, "failed reads")
		equal(t, s.RemoveErrors, 1, "failed removals")
	})
}

// ring is a set of keys. The loader of each key waits until all have begun, then reads the next
// key.
type ring struct {
	size    int  // the loader of the last key reads the first
	batch   bool // read by GetMany
	many    bool // loaded by LoadMany
	split   bool // the odd keys are in another cache
	remote  bool
	calm    bool         // the loaders read nothing
	goesOn  bool         // the loaders return a value without the next key's, if that is refused
	refused atomic.Int64 // loaders that went on
	policy  patch
	values  things
	others  cache.Cache[string, string]
}

const ringTimeout = 20 * time.Second // of a load

func (r *ring) read(ctx context.Context, k int) (string, error) {
	switch {
	case r.split && k%2 == 1:
		return r.others.Get(ctx, fmt.Sprint("k", k))
	case r.batch:
		m, err := r.values.GetMany(ctx, []int{k, 1000 + k})
		return m[k], err
	}
	return r.values.Get(ctx, k)
}

func (r *ring) load(ctx context.Context, k int) (string, error) {
	if k >= 1000 || r.calm {
		return "alone", nil
	}
	if err := nap(ctx, 10*time.Millisecond); err != nil {
		return "", err
	}
	v, err := r.read(ctx, (k+1)%r.size)
	if r.goesOn && errors.Is(err, cache.ErrRecursive) {
		r.refused.Add(1)
		return fmt.Sprint(k), nil
	}
	return fmt.Sprint(k, ">", v), err
}

func (r *ring) open(t *testing.T, tc cache.TiersConfig) *ring {
	tiers := open(t, tc)
	cfg := loading(r.load, r.many)
	r.policy.LoadTimeout = new(ringTimeout)
	cfg.Policy = r.policy
	r.values = with(t, tiers, cfg)
	r.others = with(t, tiers, cache.Config[string, string]{
		Namespace: "others", Policy: cfg.Policy,
		Load: func(ctx context.Context, s string) (string, error) {
			var k int
			if _, err := fmt.Sscanf(s, "k%d", &k); err != nil {
				return "", err
			}
			return r.load(ctx, k)
		},
	})
	return r
}

// Loads that wait for each other in a circle would wait until LoadTimeout, whichever caller
// began them. The load that closes the circle gets ErrRecursive at once. So does one that reads its own key.
func TestCrossedLoads(t *testing.T) {
	for name, r := range map[string]*ring{
		"one":                              {size: 1},
		"one, a remote tier":               {size: 1, remote: true},
		"one, LoadMany and remote":         {size: 1, many: true, remote: true},
		"one, GetMany":                     {size: 1, batch: true},
		"two":                              {size: 2},
		"two, a remote tier":               {size: 2, remote: true},
		"three":                            {size: 3},
		"ten":                              {size: 10},
		"two, GetMany and remote":          {size: 2, batch: true, remote: true},
		"two, LoadMany":                    {size: 2, batch: true, many: true},
		"two, LoadMany and remote":         {size: 2, batch: true, many: true, remote: true},
		"two, of two caches":               {size: 2, split: true},
		"four, of two caches and a remote": {size: 4, split: true, remote: true},
	} {
		for _, all := range []bool{false, true} {
			bubble(t, fmt.Sprint(name, ", all are read at once: ", all), func(t *testing.T) {
				r.open(t, tiersOf(r.remote))
				callers := 1
				if all {
					callers = r.size
				}
				start := time.Now()
				crowd(callers, func(k int) { fails(t, errOf(r.read(t.Context(), k)), cache.ErrRecursive, "a caller's read") })
				if d := time.Since(start); d > time.Second {
					t.Errorf("the callers waited %v, want at most 1s: the loads wait for each other", d)
				}
			})
		}
	}
}

// A loader may handle ErrRecursive and return a value. Then every caller gets an answer.
func TestCrossedLoadsThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := (&ring{size: 2, goesOn: true}).open(t, cache.TiersConfig{})
		start := time.Now()
		crowd(2, func(k int) { succeeds(t, errOf(r.read(t.Context(), k))) })
		if d := time.Since(start); d > time.Second || r.refused.Load() != 1 {
			t.Errorf("%d loads got ErrRecursive, and the callers waited %v; want 1 load, at once", r.refused.Load(), d)
		}
	})
}

// Loads that read each other wait no longer than SoftTimeout if there are old values.
func TestCrossedLoadsWithSoftTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := patch{TTL: new(time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(100 * time.Millisecond)}
		r := (&ring{size: 2, goesOn: true, calm: true, policy: old}).open(t, cache.TiersConfig{})
		read := func(k int) { succeeds(t, errOf(r.read(t.Context(), k))) }
		crowd(2, read)
		r.calm = false
		advance(2 * time.Second)
		crowd(2, read)
		advance(time.Minute)
		equal(t, r.refused.Load(), 0, "loads that got ErrRecursive")
	})
}

// Loaders of two processes that read each other's keys end after LoadTimeout, as guarantee 2
// says: no process sees the circle.
func TestCrossedLoadsOfTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc, begun := tiersOf(true), time.Now()
		rings := []*ring{(&ring{size: 2}).open(t, tc), (&ring{size: 2}).open(t, tc)}
		crowd(2, func(i int) { fails(t, errOf(rings[i].read(t.Context(), i)), cache.ErrLoadTimeout, "a caller's read") })
		equal(t, time.Since(begun), ringTimeout, "the callers waited")
	})
}

// A loader may write to the key that it loads. Only a read of that key would wait for itself. A value
// that it expires is stale from the start, and this policy serves no stale values.
func TestWriteInsideOwnLoader(t *testing.T) {
	for write, reads := range map[string]string{
		"deletes": "a gets 1.3 load; a gets any load", "sets set": "a gets set local; a gets set local", "expires": "a gets 1.1 load; a gets 1.2 load",
	} {
		for _, many := range []bool{false, true} {
			play(t, scene{name: fmt.Sprint(write, ", LoadMany ", many), on: "alone paired", many: many, steps: "during 99 a " + write + "; " + reads})
		}
	}
}

// A goroutine that a loader has started may keep the loader's context after the load has ended, however it
// ended. Its reads are then no part of that load: none is recursive, and their loads take their own turns.
func TestContextOfALoadThatHasEnded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func()
		failed int64
	}{
		{"return", func() {}, 0},
		{"panic", func() { panic("no") }, 1},
		{"Goexit", runtime.Goexit, 1},
	} {
		for _, many := range []bool{false, true} {
			bubble(t, fmt.Sprint(tt.name, ", LoadMany=", many), func(t *testing.T) {
				var kept context.Context
				src := &source{took: time.Second}
				cfg := loading(func(ctx context.Context, k int) (string, error) {
					if kept == nil {
						kept = context.WithoutCancel(ctx)
						tt.end()
					}
					return src.load(ctx, k)
				}, many)
				cfg.MaxBatch = 1
				tiers := open(t, cache.TiersConfig{MaxLoads: 2})
				c := with(t, tiers, cfg)
				panicOf(func() { _, _ = c.Get(t.Context(), 1) })
				must(t, c.Delete(t.Context(), 1))
				var wg sync.WaitGroup
				wg.Go(func() { get(t, c, 100) }) // while no load runs, a read does not look for one in its context
				synctest.Wait()
				crowd(10, func(i int) { succeeds(t, errOf(c.Get(kept, 1+i))) })
				wg.Wait()
				equal(t, src.peak, 2, "loads at a time")
				equal(t, total(tiers).Loads.Errors, tt.failed, "failed loads")
			})
		}
	}
}
