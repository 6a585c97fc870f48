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
	"github.com/twofold-go/twofold/policy"
)

var (
	withStale  = thingConfig{Policy: patch{Stale: new(time.Minute)}}
	keptLong   = patch{TTL: new(time.Hour), Stale: new(time.Hour), StaleIfError: new(time.Hour)}
	notKept    = patch{TTL: new(time.Hour), Stale: new(time.Duration), StaleIfError: new(time.Duration)}
	notKeptCfg = thingConfig{Policy: notKept}
)

func TestExpire(t *testing.T) {
	play(
		t,
		scene{name: "stale is served once more", on: "alone paired", cfg: thingConfig{Policy: swr}, steps: `
			a expires; a gets 1.1 load; wait 1ms; a expires; a gets 1.1 local stale; a gets 1.2 local`},
		scene{name: "without Stale it loads", on: "alone paired", steps: `
			a expires; a gets 1.1 load; wait 1ms; a expires; a gets 1.2 load; a gets 1.2 local`},
		scene{name: "for ever", cfg: thingConfig{Policy: patch{TTL: new(policy.Forever), Stale: new(time.Minute)}}, steps: `
			a gets 1.1; wait 1000h; a gets 1.1; a expires; a gets 1.1 stale; a gets 1.2
			wait 1000h; a expires; wait 2m; a gets 1.3; a deletes; a gets 1.4`},
		scene{name: "an absence expires at once", cfg: thingConfig{Policy: keptLong}, steps: `
			source absent; a gets absent; source well; a expires; a gets 1.2`},
	)
}

// Expire of any scope in one process makes the value stale in every process. It is loaded again
// once, in the background. Reads get the stale value meanwhile.
func TestExpireReachesOthers(t *testing.T) {
	play(t, scene{on: logged, cfg: withStale, steps: `
		a gets 1.1; b gets 1.1; a expires SCOPE; wait 5ms
		b gets 1.1 stale; a gets 1.1 stale; b gets 1.2; a gets 1.2; wait 1s; b gets 1.2; loads 2`})
}

// With neither Stale nor StaleIfError an expired value is a miss.
func TestExpireWithoutStale(t *testing.T) {
	play(t, scene{on: logged, cfg: notKeptCfg, steps: `
		a gets 1.1; b gets 1.1; a expires SCOPE; a gets 1.2; wait 5ms; b gets 1.2; loads 2`})
}

// A frame of the remote tier that is older than an Expire is stale for every reader. This
// includes a process that never saw the key.
func TestExpiredFrames(t *testing.T) {
	play(t, scene{on: logged, cfg: withStale, steps: `
		a gets 1.1; a expires SCOPE; wait 5ms; b gets 1.1 stale; b gets 1.2; a gets 1.1 stale; a gets 1.2; loads 2`})
}

// Stale and StaleIfError count from the first Expire, not from a later moment. This holds for a
// value with TTL policy.Forever, too.
func TestExpiredIsStaleFromThen(t *testing.T) {
	for _, ttl := range []time.Duration{time.Hour, policy.Forever} {
		for _, sie := range []time.Duration{0, time.Minute} { // with StaleIfError, instead of the error
			cfg := thingConfig{Policy: patch{TTL: &ttl, Stale: new(time.Minute), StaleIfError: &sie}}
			play(t, scene{name: fmt.Sprintf("TTL %v, StaleIfError %v,", ttl, sie), on: logged, cfg: cfg, steps: `
				a gets 1.1; b gets 1.1; source fails; a expires SCOPE; wait ` + (time.Minute + sie - 10*time.Second).String() + `
				a gets 1.1 stale; b gets 1.1 stale; wait 12s; a gets failed; b gets failed`})
		}
	}
	cfg := thingConfig{Policy: patch{TTL: new(time.Hour), Stale: new(time.Minute), StaleIfError: new(time.Duration)}}
	play(t, scene{name: "three times", cfg: cfg, steps: `
		a gets 1.1; source fails; a expires SCOPE; a gets 1.1 stale; wait 19s; a expires SCOPE; a gets 1.1 stale; wait 19s
		a expires SCOPE; a gets 1.1 stale; wait 19s; wait 4s; a gets failed`})
}

// An invalidation wins over an Expire, whichever comes first.
func TestInvalidateWinsOverExpire(t *testing.T) {
	for _, order := range []string{"a expires tag; b invalidates tag", "b invalidates tag; a expires tag"} {
		play(t, scene{name: order, on: logged, cfg: thingConfig{Policy: keptLong}, steps: `
			a gets 1.1; b gets 1.1; source fails; ` + order + `; wait 5ms; a gets failed; b gets failed`})
	}
}

// When an Expire overtakes a load, the loaded value is stale from the start, and is refreshed
// once. Callers from before the Expire get it. Later callers get it as stale.
func TestExpireOvertakesLoad(t *testing.T) {
	play(t, scene{on: logged, cfg: withStale, steps: `
		source takes=1s; go a gets 1.1; wait 500ms; a expires SCOPE; wait 1s; b gets 1.1 stale
		wait 2s; a gets 1.1 stale; b gets 1.2; wait 2s; a gets 1.2; b gets 1.2; loads 2`})
}

// A call that begins after an Expire does not get the value of a load that began before it,
// except as stale. Of several expiries the first counts.
func TestJoinersAfterExpire(t *testing.T) {
	play(
		t,
		scene{name: "one", on: logged, cfg: notKeptCfg, steps: `
			source takes=1s; go a gets 1.1; wait 500ms; a expires SCOPE; a gets 1.2; wait 1s; a gets 1.2`},
		scene{name: "two", on: logged, cfg: notKeptCfg, steps: `
			source takes=1s; go a gets 1.1; wait 250ms; a expires SCOPE; wait 250ms; go a gets 1.2; wait 250ms; a expires SCOPE; wait 2s`},
	)
	// It does not wait for that load, if the scope is known to cover the key before the load ends.
	for _, scope := range []string{"key", "prefix", "tenant", "everything"} {
		play(t, scene{name: "no wait: " + scope, cfg: thingConfig{Policy: keptLong}, steps: `
			source takes=1s; go a gets 1.1; wait 500ms; a expires ` + scope + `; a gets 1.2; took 1s`})
	}
}

// Expire refuses scopes that are not valid.
func TestExpireRefuses(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	for _, s := range []invalidate.Scope{invalidate.Tag("default", ""), {}} {
		if err := tiers.Expire(t.Context(), invalidate.All(), s); !errors.Is(err, invalidate.ErrScope) {
			t.Errorf("Expire with %v = %v, want ErrScope", s, err)
		}
	}
}

// A process that is cut off serves a value that expired elsewhere as fresh for at most one
// bound.
func TestExpireAndLease(t *testing.T) {
	play(t, scene{on: logged, cfg: withStale, steps: `
		b gets 1.1; wait 6s; b gets 1.1; b's log fails; a expires tag; wait 2s; b gets 1.2`})
}

// An Expire that waits for the log makes the value stale in this process at once. In the others
// it does so when it has been sent.
func TestExpireOutOfReach(t *testing.T) {
	play(t, scene{on: logged, cfg: thingConfig{Policy: keptLong}, steps: `
		a gets 1.1; b gets 1.1; source fails; a's log fails; a expires tag pending; a gets 1.1 stale
		a's log well; wait 2s; b gets 1.1 stale`})
}

// An old value stands in for a failed load, and the Throttle prevents another load. An Expire of
// the value ends both.
func TestExpireEndsThrottle(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(time.Minute), Stale: new(time.Duration), StaleIfError: new(time.Hour), NegativeTTL: new(time.Minute)}}
	play(t, scene{cfg: cfg, steps: `
		a gets 1.1; wait 2m; source fails; a gets 1.1 stale; source well; a gets 1.1 stale; a expires key; a gets 1.3`})
}

// When more keys expire than are remembered exactly, no expired value becomes fresh again.
func TestExpiryIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, alone, cache.TiersConfig{}, thingConfig{Tags: tagT, Policy: keptLong}, asIs)
		w.want(t, 0, 1, "1.1")
		for i := range 700_001 {
			if i%1000 == 0 {
				synctest.Wait()
			}
			w.expire(t, 0, keyScope(t, 1+i))
		}
		synctest.Wait()
		if r, err := w.c[0].Fetch(t.Context(), 1, nil); err != nil || r.Value == "1.1" && !r.Stale {
			t.Errorf("Fetch = %+v, %v; want a stale value or a new one", r, err)
		}
	})
}

// Without a log, Expire of many keys takes three round trips, and not three for each key. A key
// whose node fails does not stop the others.
func TestExpireOfManyKeysTakesThreeRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, trip = 500, 10 * time.Millisecond
		w := newDuo(t, paired, cache.TiersConfig{}, withStale, asIs)
		var scopes []invalidate.Scope
		for k := range n {
			scopes = append(scopes, keyScope(t, k))
		}
		_, err := w.c[0].GetMany(t.Context(), ints(0, n))
		must(t, err)
		w.wire[0].FailKeys(errDown, keyScope(t, 7).Text())
		w.wire[0].Delay(trip)
		begun := time.Now()
		fails(t, w.tiers[0].Expire(t.Context(), scopes...), errDown, "Expire")
		if took := time.Since(begun); took > 4*trip {
			t.Errorf("Expire of %d keys took %v, want about three round trips of %v", n, took, trip)
		}
		for k := range n {
			r, err := w.c[1].Fetch(t.Context(), k, nil)
			if err != nil || r.Stale != (k != 7) {
				t.Errorf("key %d in another process: stale %v, %v; want the others stale, and not 7", k, r.Stale, err)
			}
		}
	})
}

// built returns a cache whose values are built from those of another.
func built(t *testing.T, tiers *cache.Tiers, ns string, p policy.Patch, load cache.Loader[int, string]) things {
	t.Helper()
	c, err := cache.New(tiers, thingConfig{Namespace: ns, Policy: p, Load: load})
	must(t, err)
	return c
}

// A value that is built from an expired part is stale, too, and no tier stores it.
func TestExpiredParts(t *testing.T) {
	for name, tt := range map[string]struct {
		on    ground
		part  patch
		fails bool // the part's source
		pages func(t *testing.T, w *duo) things
	}{
		"directly": {pages: func(t *testing.T, w *duo) things {
			return built(t, w.tiers[0], "pages", keptLong, w.c[0].Get)
		}},
		"the value between the two is not stored": {pages: func(t *testing.T, w *duo) things {
			rows := built(t, w.tiers[0], "rows", keptLong, func(ctx context.Context, k int) (string, error) {
				cache.Filling(ctx).NoStore()
				return w.c[0].Get(ctx, k)
			})
			return built(t, w.tiers[0], "pages", keptLong, rows.Get)
		}},
		"another process put that value into the remote tier": {on: logged, pages: func(t *testing.T, w *duo) things {
			var rows [2]things
			for i := range rows {
				rows[i] = built(t, w.tiers[i], "rows", keptLong, w.c[i].Get)
			}
			wantFetch(t, rows[0], 1, fetched{"1.1", cache.Load, true, nil})
			advance(5 * time.Millisecond)
			return built(t, w.tiers[1], "pages", keptLong, rows[1].Get)
		}},
		// A load does not get a value built from an expired part as Previous: ErrNotModified would make it fresh.
		"confirmed by ErrNotModified": {pages: func(t *testing.T, w *duo) things { return confirmed(t, w)[0] }},
		"confirmed by ErrNotModified, read by another process": {on: logged, pages: func(t *testing.T, w *duo) things {
			pages := confirmed(t, w)
			wantFetch(t, pages[0], 1, fetched{"1.1", cache.Load, true, nil})
			advance(5 * time.Millisecond)
			return pages[1]
		}},
		"of other Tiers, which expired nothing": {pages: func(t *testing.T, w *duo) things {
			return built(t, open(t, cache.TiersConfig{}), "pages", keptLong, w.c[0].Get)
		}},
		"kept because its source failed": {fails: true, part: patch{TTL: new(time.Hour), Stale: new(time.Duration), StaleIfError: new(time.Hour)}, pages: func(t *testing.T, w *duo) things {
			w.want(t, 0, 1, "1.1")
			return built(t, w.tiers[0], "pages", keptLong, w.c[0].Get)
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			if tt.on == "" {
				tt.on = alone
			}
			if tt.part.TTL == nil {
				tt.part = keptLong
			}
			w := newDuo(t, tt.on, cache.TiersConfig{}, thingConfig{Policy: tt.part}, asIs)
			w.want(t, 0, 1, "1.1")
			if w.src.takes(10 * time.Second); tt.fails {
				w.src.takes(0)
				w.src.fail(errSource)
			}
			w.expire(t, 0, keyScope(t, 1))
			pages := tt.pages(t, w)
			for range 2 { // a refresh between the reads may not make it fresh
				if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value != "1.1" || !r.Stale || r.Source != cache.Load {
					t.Errorf("page = %+v, %v; want a stale page that was loaded, because none is stored", r, err)
				}
				synctest.Wait()
			}
			w.src.fail(nil)
			for range 4 {
				advance(2 * time.Minute)
				_, _ = pages.Get(t.Context(), 1)
				synctest.Wait()
			}
			if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value == "1.1" || r.Stale {
				t.Errorf("page = %+v, %v; want the new page", r, err)
			}
		})
	}
}

// confirmed returns the pages of both processes, whose source reports after the first load that it has
// not changed.
func confirmed(t *testing.T, w *duo) (pages [2]things) {
	for i := range pages {
		pages[i] = built(t, w.tiers[i], "pages", keptLong, unchanged(func(ctx context.Context) (string, error) { return w.c[i].Get(ctx, 1) }))
	}
	return pages
}

// While the part is refreshed, the reads of a page that is built from it do not each load the page:
// neither those of a stale page, nor those that come while it is built.
func TestPagesOfAnExpiredPartAreLoadedSeldom(t *testing.T) {
	for name, tt := range map[string]struct {
		page patch
		took time.Duration // to build the page
		most int
	}{"stale": {keptLong, 0, 12}, "in a crowd": {notKept, time.Second, 1}} {
		bubble(t, name, func(t *testing.T) {
			w := newDuo(t, alone, cache.TiersConfig{}, thingConfig{Policy: keptLong}, asIs)
			w.want(t, 0, 1, "1.1")
			loads := 0
			pages := built(t, w.tiers[0], "pages", tt.page, func(ctx context.Context, k int) (string, error) {
				loads++
				v, err := w.c[0].Get(ctx, k)
				return v, errors.Join(err, nap(ctx, tt.took))
			})
			w.src.takes(time.Hour)
			if tt.took == 0 {
				get(t, pages, 1) // it is resident, so the Expire makes it stale, too
			}
			w.expire(t, 0, keyScope(t, 1))
			for i := range 100 {
				go func() { _, _ = pages.Get(t.Context(), 1) }()
				if i%10 == 0 || tt.took > 0 {
					advance(10*time.Millisecond + time.Second*time.Duration(tt.most/12))
				}
				synctest.Wait()
			}
			advance(2 * time.Hour)
			if loads > tt.most {
				t.Errorf("the page was loaded %d times, want at most %d", loads, tt.most)
			}
		})
	}
}

// A refresh gets the expired value as Previous, also when it comes from a frame.
func TestExpiredIsPrevious(t *testing.T) {
	loads := 0
	play(t, scene{on: logged, cfg: thingConfig{Policy: keptLong, Load: func(ctx context.Context, _ int) (string, error) {
		if loads++; loads > 2 {
			t.Errorf("load %d, want 2", loads)
		}
		return unchanged(func(context.Context) (string, error) { return "v", nil })(ctx, 1)
	}}, steps: "a gets v load; a expires prefix; wait 5ms; b gets v stale; b gets v"})
}
