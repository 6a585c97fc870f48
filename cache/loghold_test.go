package cache_test

import (
	"context"
	"errors"
	"fmt"
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
		equal(t, w.link[1].Calls(logtest.Sync)-calls, 1, "calls of the log")
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

// A load that began within a hold may have read the replica that lags, also if the hold ended
// before the load did. No tier keeps its value. The other process does not find it, either.
func TestLoadThatOutlivesItsHold(t *testing.T) {
	const held, after = "a invalidates SCOPE hold=5s; wait 3750ms; source takes=2500ms; ", "; source takes=0s; a gets 1.2 load; a gets 1.2 local"
	play(
		t,
		scene{name: "a read", on: logged, steps: held + "a gets 1.1 load" + after + "; a counts Fills=1; b gets 1.2 remote"},
		scene{name: "LocalOnly", on: logged, cfg: thingConfig{LocalOnly: true}, steps: held + "a gets 1.1 load" + after},
		scene{name: "past LoadTimeout", on: logged, cfg: thingConfig{LocalOnly: true, Policy: patch{LoadTimeout: new(2 * time.Second)}},
			steps: held + "source takes=1h; source deaf; a gets slow; wait 1h" + after},
		scene{name: "a batch", on: logged, steps: held + "a many 1.1" + after},
		scene{name: "a refresh", on: logged, steps: held + "a refreshes" + after},
	)
}

// A value that was built from a held part is as old as the part. Neither is cached.
func TestValueBuiltFromAHeldPart(t *testing.T) {
	const hold = 5 * time.Second
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{Tags: tagT}, asIs)
			outer := with(t, w.tiers[0], thingConfig{Namespace: "pages", Load: func(ctx context.Context, k int) (string, error) {
				v, err := w.c[0].Get(ctx, k)
				<-time.After(hold)
				return v, err
			}})
			whole := with(t, w.tiers[0], thingConfig{Namespace: "sites", Load: outer.Get})
			w.invalidate(t, 0, scope, invalidate.Hold(hold))
			advance(hold / 2)
			wantFetch(t, whole, 1, fetched{"1.1", cache.Load, false, nil})
			wantFetch(t, whole, 1, fetched{"1.2", cache.Load, false, nil})
			wantFetch(t, whole, 1, fetched{"1.2", cache.Local, false, nil})
		})
	}
}

// A hold that begins during a Set keeps its value out of the remote tier, too. Both orders of the two
// calls do: a later hold covers the value, an earlier one holds it.
func TestHoldDuringSet(t *testing.T) {
	for name, scope := range scopes(t) {
		for message := int64(1); message <= 4; message++ {
			bubble(t, fmt.Sprint(name, " before message ", message), func(t *testing.T) {
				w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{Tags: tagT}, asIs)
				w.want(t, 0, 1, "1.1")
				sent := w.before(message, func() {
					w.invalidate(t, 1, scope, invalidate.Hold(time.Minute))
					<-time.After(5 * time.Millisecond) // process 0 hears of it
				})
				succeeds(t, w.c[0].Set(t.Context(), 1, "set"))
				if n := sent.Load(); n < message {
					t.Skipf("a Set takes %d messages", n)
				}
				if v, ok := w.c[1].Peek(t.Context(), 1); ok {
					t.Errorf("within the hold, another process finds %q in the remote tier", v)
				}
			})
		}
	}
}
