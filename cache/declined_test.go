package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// A loader that declines has no value for any of its callers. Nothing stands in for its answer, nothing is
// remembered, and the stored value stays.
func TestDeclined(t *testing.T) {
	old := failSafe
	old.ErrorTTL = new(time.Hour)
	swr := old
	swr.Stale = new(time.Minute)
	play(
		t,
		scene{on: "alone paired", name: "is not remembered", cfg: thingConfig{Policy: patch{ErrorTTL: new(time.Hour)}}, steps: `
			source declines; a gets declined; a gets declined; loads 2; a counts Loads.Calls=2 Loads.Errors=0
			source well; a gets 1.3 load`},
		scene{on: "alone paired", name: "is given to all that wait", cfg: thingConfig{Policy: old}, steps: `
			source takes=1s; source declines; go 5 a gets declined; wait 2s; loads 1`},
		scene{on: "alone paired", name: "no old value replaces it, and it stays", cfg: thingConfig{Policy: old}, steps: `
			a gets 1.1; wait 1m; source declines; a gets declined; a gets declined; loads 3
			source fails; a gets 1.1 stale; loads 4`},
		scene{on: "alone paired", name: "Refresh leaves the value", cfg: thingConfig{Policy: old}, steps: `
			a gets 1.1; source declines; a refreshes declined; a gets 1.1 local; loads 2`},
		scene{on: "alone paired", name: "a refresh pauses for a Throttle", cfg: thingConfig{Policy: swr}, steps: `
			a gets 1.1; wait 20s; source declines; a gets 1.1 stale; wait 1s; a gets 1.1 stale; wait 1s; a gets 1.1 stale; loads 2
			a counts Refreshes.Declined=1 Refreshes.Errors=0 Loads.Errors=0; wait 1s; a gets 1.1 stale; wait 1s; loads 3
			source well; wait 3s; a gets 1.1 stale; wait 1s; a gets 1.4 local`},
		scene{on: "alone paired", name: "those who joined a refresh get it", cfg: thingConfig{Policy: swr}, steps: `
			a gets 1.1; wait 69500ms; source takes=1s; source declines; a gets 1.1 stale; wait 600ms; a gets declined; loads 2`},
		scene{name: "another process loads at once", on: paired, cfg: thingConfig{Policy: old}, steps: `
			source declines; a gets declined; source well; b gets 1.2 load; took 0s; a gets 1.2 remote`},
	)
}

// Among the keys of a LoadMany, one that declines hides no failure of another.
func TestDeclinedBesideAFailure(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	c := with(t, tiers, cache.Config[int, string]{LoadMany: func(context.Context, []int) (map[int]string, error) {
		return map[int]string{1: "v"}, cache.KeyErrors(map[int]error{2: cache.ErrDeclined, 3: errSource, 4: cache.ErrNotFound})
	}})
	vals, err := c.GetMany(t.Context(), []int{1, 2, 3, 4})
	batch, _ := errors.AsType[*cache.BatchError[int]](err)
	if len(vals) != 1 || len(batch.Errs) != 2 || !errors.Is(batch.Errs[2], cache.ErrDeclined) || !errors.Is(batch.Errs[3], errSource) {
		t.Errorf("GetMany = %v, %v", vals, err)
	}
	equal(t, total(tiers).Loads.Errors, 1, "failed loads")
}

// A load knows whether a caller waits for it from its begin.
func TestInBackground(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, fmt.Sprint("LoadMany=", many), func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			note := func(ctx context.Context, what string) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, fmt.Sprint(what, " ", cache.Filling(ctx).InBackground()))
			}
			tiers := open(t, cache.TiersConfig{})
			inner := with(t, tiers, cache.Config[int, string]{Namespace: "inner", Load: func(ctx context.Context, _ int) (string, error) {
				note(ctx, "inner")
				cache.Filling(ctx).NoStore()
				return "v", nil
			}})
			cfg := loading(func(ctx context.Context, k int) (string, error) {
				note(ctx, "load")
				return inner.Get(ctx, k)
			}, many)
			cfg.Policy = patch{TTL: new(time.Second), Stale: new(time.Hour)}
			c := with(t, tiers, cfg)
			get(t, c, 1)
			must(t, c.Refresh(t.Context(), 1))
			advance(2 * time.Second)
			get(t, c, 1)
			synctest.Wait()
			equal(t, strings.Join(seen, ", "), "load false, inner false, load false, inner false, load true, inner false", "the loads")
			equal(t, cache.Filling(t.Context()).InBackground(), false, "InBackground outside a loader")
		})
	}
}
