package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
)

// While an invalidation holds a scope, every read gets an answer, and no tier keeps it. A Set keeps
// its value in this process, and out of the remote tier. When the hold ends, values are cached again.
func TestHoldKeepsFromCaching(t *testing.T) {
	play(
		t,
		scene{name: "reads", on: logged, steps: `
			a gets 1.1; b gets 1.1; a invalidates SCOPE hold=5s; wait 5ms; a gets 1.2; a gets 1.3; b gets 1.4; b many 1.5
			b counts Fills=0 FillsNotWanted=2; wait 5s; b gets 1.6; b gets 1.6; a gets 1.6`},
		scene{name: "Set", on: logged, steps: `
			b gets 1.1; a invalidates SCOPE hold=1s; a sets set; a gets set; a sets set; a gets set; wait 5ms; b gets 1.2
			a counts FillsNotWanted=2; wait 1s; a sets later; wait 5ms; b gets later`},
	)
}

// A load with MaxAge(0) replaces the remote value, even if the log is slow to answer. No lease
// is as young as this call demands, but the call serves nothing that needs a lease.
func TestMaxAgeOfNothingReplaces(t *testing.T) {
	for _, call := range []string{"gets", "many"} {
		play(t, scene{name: call, on: logged, steps: `
			log slow=1ms; wait 2s; a gets 1.1; wait 10ms; a ` + call + ` 1.2 MaxAge=0s; b gets 1.2`})
	}
}

// Another process claims the key between its removal and the hold, and loses the claim. It may
// be reading a replica that lags.
func TestHoldTakesClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.want(t, 0, 1, "1.1")
		key := keyScope(t, 1).Text()
		nonce := tier.NewNonce()
		w.between(0, func() {
			got, err := w.memory.Claim(t.Context(), key, tier.Claim{Nonce: nonce, Lease: time.Minute})
			if err != nil || !got.Granted {
				t.Errorf("the intruder's claim: %v, %v", got, err)
			}
		})
		w.invalidate(t, 0, keyScope(t, 1), invalidate.Hold(time.Second))
		cell, err := w.memory.Get(t.Context(), key)
		if err != nil || len(cell) == 0 || tier.Kind(cell[0]) != tier.Hold {
			t.Errorf("the cell is %q, %v; want a hold", cell, err)
		}
	})
}

// A call with a small MaxAge needs a young lease for a value that another process loaded. A
// clock that may be wrong gives the value's age.
func TestMaxAgeNeedsAYoungLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		young := cache.MaxAge(bound / 10)
		fetch := func() cache.Result[string] {
			t.Helper()
			r, err := w.c[1].Fetch(t.Context(), 1, nil, young)
			succeeds(t, err)
			return r
		}
		advance(3 * bound)
		for w.tiers[1].Stats().Log.LeaseAge <= bound/8 { // with a younger lease the read need not contact the log
			advance(bound / 100)
		}
		w.want(t, 0, 1, "1.1")
		calls := w.link[1].Calls(logtest.Sync)
		if r := fetch(); r.Source != cache.Remote {
			t.Errorf("the value came from %v, want remote", r.Source)
		}
		if n := w.link[1].Calls(logtest.Sync) - calls; n != 1 {
			t.Errorf("%d calls of the log, want 1", n)
		}
		w.link[1].Fail(errors.New("down"))
		advance(bound / 12)
		w.want(t, 0, 2, "2.1")
		if r := fetch(); r.Source == cache.Load {
			t.Errorf("the read loaded after %v, although the value and the lease are young enough", bound/12)
		}
		advance(bound / 40)
		if r := fetch(); r.Source != cache.Load || r.Value != "1.2" {
			t.Errorf("got %q from %v, want a load", r.Value, r.Source)
		}
		if r := fetch(); r.Source != cache.Local { // this process loaded it just before
			t.Errorf("the value came from %v, want local", r.Source)
		}
	})
}

// The clock of a remote value may be ahead. MaxAge(0) does not trust it.
func TestMaxAgeOfNothingBelievesNoClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		advance(bound)
		w.want(t, 0, 1, "1.1")
		ahead := rewrite(func(c *tier.Cell) {
			const hour = 3600 * 1000
			c.LoadedAt, c.SoftAt, c.HardAt = c.LoadedAt+hour, c.SoftAt+hour, c.HardAt+hour
		})
		store(t, w.memory, cell1, ahead(cellOf(t, w.memory, cell1)), 2*time.Hour)
		if r, err := w.c[1].Fetch(t.Context(), 1, nil, cache.MaxAge(0)); r.Source != cache.Load || r.Value != "1.2" || err != nil {
			t.Errorf("Fetch = %+v, %v, want a load", r, err)
		}
		w.want(t, 0, 1, "1.1") // the local value of process 0
		if r, err := w.c[0].Fetch(t.Context(), 1, nil, cache.SkipLocal()); r.Value != "1.2" || err != nil {
			t.Errorf("Fetch = %+v, %v, want the value of the last load", r, err)
		}
	})
}

// A load that began within a hold may have read the replica that lags, also if the hold ended
// before the load did. No tier keeps its value. The other process does not find it, either.
func TestLoadThatOutlivesItsHold(t *testing.T) {
	const hold = 5 * time.Second
	for name, tt := range map[string]struct {
		scope invalidate.Scope
		cfg   thingConfig
		took  time.Duration
		load  func(t *testing.T, c things)
	}{
		"key of a local cache": {scope: keyScope(t, 1), cfg: thingConfig{LocalOnly: true}},
		"prefix":               {scope: invalidate.Prefix("default", "things:")},
		"tag":                  {scope: invalidate.Tag("default", "t")},
		"local cache, past LoadTimeout": {
			scope: invalidate.Tag("default", "t"), took: time.Hour,
			cfg: thingConfig{LocalOnly: true, Policy: patch{LoadTimeout: new(2 * time.Second)}},
		},
		"everything": {scope: invalidate.All()},
		"batch": {scope: invalidate.Tag("default", "t"), load: func(t *testing.T, c things) {
			if _, err := c.GetMany(t.Context(), []int{1, 2, 3}); err != nil {
				t.Error(err)
			}
		}},
		"refresh": {scope: invalidate.Tag("default", "t"), load: func(t *testing.T, c things) {
			succeeds(t, c.Refresh(t.Context(), 1))
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			lag := tt.took
			if lag == 0 {
				lag = hold / 2
			}
			src := &replica{took: lag}
			tt.cfg.Tags = func(int, string) []string { return []string{"t"} }
			w := newLogged(t, tt.cfg)
			c := with(t, w.tiers[0], thingConfig{
				Namespace: "things", Tags: tt.cfg.Tags, LocalOnly: tt.cfg.LocalOnly, Policy: tt.cfg.Policy, Load: src.load,
			})
			w.invalidate(t, 0, tt.scope, invalidate.Hold(hold))
			advance(hold - hold/4)
			src.set("old", "new")
			switch {
			case tt.load != nil:
				tt.load(t, c)
			case tt.took > 0:
				if _, err := c.Get(t.Context(), 1); err == nil {
					t.Error("the load ended within LoadTimeout")
				}
				advance(lag)
			default:
				if v := get(t, c, 1); v != "old" {
					t.Errorf("the first read got %q, want the lagging replica's value", v)
				}
			}
			src.took = 0
			if v := get(t, c, 1); v != "new" {
				t.Errorf("after the hold the process reads %q: it has cached the replica's old value", v)
			}
			if n := total(w.tiers[0]).Fills; n > 1 {
				t.Errorf("%d fills, want at most the last load's", n)
			}
		})
	}
}

// replica is a source that lags: a load returns what it knew when it began.
type replica struct {
	mu   sync.Mutex // protects the rest
	took time.Duration
	now  string // what the next load reads
	next string // what later loads read
}

func (r *replica) set(now, next string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.next = now, next
}

func (r *replica) load(_ context.Context, _ int) (string, error) {
	r.mu.Lock()
	v, took := r.now, r.took
	r.now = r.next
	r.mu.Unlock()
	<-time.After(took)
	return v, nil
}

// A value that was built from a held part is as old as the part. Neither is cached.
func TestValueBuiltFromAHeldPart(t *testing.T) {
	const hold = 5 * time.Second
	for name, scope := range map[string]invalidate.Scope{
		"key":    keyScope(t, 1),
		"prefix": invalidate.Prefix("default", "things:"),
		"tag":    invalidate.Tag("default", "t"),
	} {
		bubble(t, name, func(t *testing.T) {
			tiers := open(t, cache.TiersConfig{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound})})
			src := &replica{}
			parts := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
			outer := with(t, tiers, thingConfig{Namespace: "pages", Load: func(ctx context.Context, k int) (string, error) {
				v, err := parts.Get(ctx, k)
				<-time.After(hold)
				return "page of " + v, err
			}})
			whole := with(t, tiers, thingConfig{Namespace: "sites", Load: outer.Get})
			must(t, tiers.Ready(t.Context()))
			must(t, tiers.Invalidate(t.Context(), scope, invalidate.Hold(hold)))
			advance(hold / 2)
			src.set("old", "new")
			if v := get(t, whole, 1); v != "page of old" {
				t.Errorf("within the hold: %q", v)
			}
			if v := get(t, whole, 1); v != "page of new" {
				t.Errorf("after the hold: %q: the value built from the held part was cached", v)
			}
			src.set("newer", "newer")
			if v := get(t, whole, 1); v != "page of new" {
				t.Errorf("after the hold: %q: nothing is cached", v)
			}
		})
	}
}
