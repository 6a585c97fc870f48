package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

var (
	keptLong = policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour), StaleIfError: new(time.Hour)}
	notKept  = policy.Patch{TTL: new(time.Hour), Stale: new(time.Duration), StaleIfError: new(time.Duration)}
)

// A call comes between two expiries and joins a load that began before both. It does not get the
// value as fresh: the first Expire counts.
func TestJoinersBetweenExpiries(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: notKept})
			w.src.took = time.Second
			go func() { w.want(t, 0, 1, "1.1") }()
			advance(time.Second / 4)
			w.expire(t, 0, scope)
			advance(time.Second / 4)
			go func() {
				_ = nap(t.Context(), time.Second/4)
				w.expire(t, 0, scope)
			}()
			w.state(t, 0, 1, "1.2", false)
		})
	}
}

// An old value stands in for a failed load, and the Throttle prevents another load. An Expire of
// the value ends both.
func TestExpireEndsThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, src := open(t, cache.TiersConfig{}), &source{}
		c := with(t, tiers, thingConfig{Load: src.load, Policy: policy.Patch{
			TTL: new(time.Minute), Stale: new(time.Duration), StaleIfError: new(time.Hour), NegativeTTL: new(time.Minute),
		}})
		get := func(want string) {
			t.Helper()
			if v, err := c.Get(t.Context(), 1); err != nil || v != want {
				t.Errorf("Get = %q, %v; want %q", v, err, want)
			}
		}
		get("1.1")
		advance(2 * time.Minute)
		src.fail(errors.New("no source"))
		get("1.1")
		src.fail(nil)
		get("1.1") // the Throttle prevents a load
		must(t, tiers.Expire(t.Context(), keyScope(t, 1)))
		v, err := c.Get(t.Context(), 1)
		if err != nil || v == "1.1" {
			t.Errorf("Get after Expire = %q, %v; want the source's new value", v, err)
		}
	})
}

// built returns a cache whose values are built from those of another.
func built(t *testing.T, tiers *cache.Tiers, ns string, p policy.Patch, load cache.Loader[int, string]) cache.Cache[int, string] {
	t.Helper()
	c, err := cache.New(tiers, cache.Config[int, string]{Namespace: ns, Policy: p, Load: load})
	must(t, err)
	return c
}

// wantStalePage reads page 1 twice, because a refresh between the reads may not make it fresh.
func wantStalePage(t *testing.T, pages things) {
	t.Helper()
	for range 2 {
		if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value != "1.1" || !r.Stale {
			t.Errorf("page = %+v, %v; want a stale page", r, err)
		}
		synctest.Wait()
	}
}

// A value built from an expired part is not fresh, even if the value between the two is not
// stored.
func TestExpiredPartsOfUnstoredValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, src := open(t, cache.TiersConfig{}), &source{}
		parts := with(t, tiers, thingConfig{Load: src.load, Policy: keptLong})
		rows := built(t, tiers, "rows", keptLong, func(ctx context.Context, k int) (string, error) {
			cache.Filling(ctx).NoStore()
			return parts.Get(ctx, k)
		})
		pages := built(t, tiers, "pages", keptLong, rows.Get)
		get(t, parts, 1)
		src.took = time.Minute
		must(t, tiers.Expire(t.Context(), keyScope(t, 1)))
		wantStalePage(t, pages)
	})
}

// The same holds if that value was read from the remote tier, where another process put it.
func TestExpiredPartsOfFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{Policy: keptLong})
		var rows [2]cache.Cache[int, string]
		for i := range rows {
			rows[i] = built(t, w.tiers[i], "rows", keptLong, w.c[i].Get)
		}
		pages := built(t, w.tiers[1], "pages", keptLong, rows[1].Get)
		w.want(t, 0, 1, "1.1")
		w.src.took = time.Minute
		w.expire(t, 0, keyScope(t, 1))
		if r, err := rows[0].Fetch(t.Context(), 1, nil); err != nil || r.Value != "1.1" || !r.Stale {
			t.Errorf("row = %+v, %v; want a stale row", r, err)
		}
		advance(5 * time.Millisecond)
		wantStalePage(t, pages)
	})
}

// The same holds if the part is in other Tiers, and these Tiers invalidated and expired nothing.
func TestExpiredPartsOfOtherTiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, here, src := open(t, cache.TiersConfig{}), open(t, cache.TiersConfig{}), &source{}
		parts := with(t, there, thingConfig{Load: src.load, Policy: keptLong})
		pages := built(t, here, "pages", keptLong, parts.Get)
		get(t, parts, 1)
		src.took = 5 * time.Second
		must(t, there.Expire(t.Context(), keyScope(t, 1)))
		wantStalePage(t, pages)
		advance(2 * time.Minute)
		for _, want := range []string{"1.1", "1.2"} { // the second read gets the refreshed value
			if v, err := pages.Get(t.Context(), 1); err != nil || v != want {
				t.Errorf("page = %q, %v; want %q", v, err, want)
			}
			synctest.Wait()
		}
	})
}

// The same holds if the part was kept because its source failed.
func TestExpiredPartsThatStandIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, src := open(t, cache.TiersConfig{}), &source{}
		parts := with(t, tiers, thingConfig{Load: src.load, Policy: policy.Patch{TTL: new(time.Hour), Stale: new(time.Duration), StaleIfError: new(time.Hour)}})
		pages := built(t, tiers, "pages", keptLong, parts.Get)
		get(t, parts, 1)
		src.fail(errSource)
		must(t, tiers.Expire(t.Context(), keyScope(t, 1)))
		if v, err := parts.Get(t.Context(), 1); err != nil || v != "1.1" {
			t.Fatal(v, err)
		}
		if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value != "1.1" || !r.Stale {
			t.Errorf("page = %+v, %v; want a stale page", r, err)
		}
	})
}

// A call that begins after an Expire does not wait for an earlier load of this process. For
// this, the scope must be known to cover the key before the load ends.
func TestExpiredLoadIsNotWaitedFor(t *testing.T) {
	scopes := scopes(t)
	delete(scopes, "tag") // the tags are known only when the load has ended
	for name, scope := range scopes {
		bubble(t, name, func(t *testing.T) {
			tiers, src := open(t, cache.TiersConfig{}), &source{took: time.Second}
			c := with(t, tiers, thingConfig{Load: src.load, Policy: keptLong})
			go func() { _, _ = c.Get(t.Context(), 1) }()
			advance(time.Second / 2)
			must(t, tiers.Expire(t.Context(), scope))
			begun := time.Now()
			if v, err := c.Get(t.Context(), 1); err != nil || v != "1.2" || time.Since(begun) != time.Second {
				t.Errorf("Get = %q, %v after %v; want the value of a new load after 1s", v, err, time.Since(begun))
			}
		})
	}
}

// When a stale entry expires again, its staleness still counts from the first Expire.
func TestFirstExpiryCounts(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			tiers, src := open(t, cache.TiersConfig{}), &source{}
			c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT, Policy: policy.Patch{TTL: new(time.Hour), Stale: new(time.Minute), StaleIfError: new(time.Duration)}})
			get(t, c, 1)
			src.fail(errSource)
			for range 3 {
				must(t, tiers.Expire(t.Context(), scope))
				if v, err := c.Get(t.Context(), 1); err != nil || v != "1.1" {
					t.Errorf("Get = %q, %v; want the stale value", v, err)
				}
				advance(19 * time.Second)
			}
			advance(4 * time.Second)
			if v, err := c.Get(t.Context(), 1); err == nil {
				t.Errorf("Get = %q later than Stale allows", v)
			}
		})
	}
}

// An Expire that waits for the log makes the value stale in this process at once. In the others
// it does so when it has been sent.
func TestExpireOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{Tags: tagT, Policy: keptLong})
		w.want(t, 0, 1, "1.1")
		w.want(t, 1, 1, "1.1")
		w.src.fail(errors.New("no source"))
		w.link[0].Fail(errors.New("unplugged"))
		err := w.tiers[0].Expire(t.Context(), invalidate.Tag("default", "t"))
		if _, ok := errors.AsType[*invalidate.PendingError](err); !ok {
			t.Fatalf("Expire = %v, want a PendingError", err)
		}
		w.state(t, 0, 1, "1.1", true)
		w.link[0].Heal()
		advance(bound)
		w.state(t, 1, 1, "1.1", true) // an Expire is no invalidation
	})
}

// A remembered absence expires at once: there is no value to serve meanwhile.
func TestExpiredAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, loads := open(t, cache.TiersConfig{}), 0
		c := built(t, tiers, "things", keptLong, func(context.Context, int) (string, error) {
			if loads++; loads == 1 {
				return "", cache.ErrNotFound
			}
			return "there", nil
		})
		if _, err := c.Get(t.Context(), 1); !errors.Is(err, cache.ErrNotFound) {
			t.Fatal(err)
		}
		must(t, tiers.Expire(t.Context(), keyScope(t, 1)))
		if v, err := c.Get(t.Context(), 1); err != nil || v != "there" {
			t.Errorf("Get = %q, %v; want the value that exists now", v, err)
		}
	})
}

// A refresh gets the expired value as Previous, also when it comes from a frame.
func TestExpiredIsPrevious(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{Policy: keptLong})
		loads := 0
		load := func(ctx context.Context, _ int) (string, error) {
			loads++
			if v, ok := cache.Previous[string](ctx); ok {
				return v, cache.ErrNotModified
			}
			return "v", nil
		}
		a := built(t, w.tiers[0], "etags", keptLong, load)
		b := built(t, w.tiers[1], "etags", keptLong, load)
		get(t, a, 1)
		w.expire(t, 0, invalidate.Prefix("default", "etags:"))
		advance(5 * time.Millisecond)
		for _, stale := range []bool{true, false} {
			if r, err := b.Fetch(t.Context(), 1, nil); err != nil || r.Value != "v" || r.Stale != stale {
				t.Errorf("Fetch = %+v, %v; want stale: %v", r, err, stale)
			}
			synctest.Wait()
		}
		if loads != 2 {
			t.Errorf("%d loads, want 2", loads)
		}
	})
}

// Callers that arrive while a value is built from an expired part share that value.
func TestCrowdOfExpiredParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, src := open(t, cache.TiersConfig{}), &source{}
		parts := with(t, tiers, thingConfig{Load: src.load, Policy: keptLong})
		loads := 0
		pages := built(t, tiers, "pages", notKept, func(ctx context.Context, k int) (string, error) {
			loads++
			v, err := parts.Get(ctx, k)
			_ = nap(ctx, time.Second)
			return v, err
		})
		get(t, parts, 1)
		src.took = time.Hour
		must(t, tiers.Expire(t.Context(), keyScope(t, 1)))
		for range 50 {
			go func() { _, _ = pages.Get(t.Context(), 1) }()
			advance(10 * time.Millisecond)
		}
		advance(time.Minute)
		if loads != 1 {
			t.Errorf("the page was loaded %d times for concurrent callers, want 1", loads)
		}
	})
}
