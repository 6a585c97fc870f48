package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// resident records the entries in the local tier, as the hooks report them.
type resident struct {
	t  *testing.T
	mu sync.Mutex // protects the rest

	there map[cache.Entry][]string // tags as text, sorted
}

func listen(t *testing.T, cfg *cache.TiersConfig) *resident {
	t.Helper()
	r := &resident{t: t, there: map[cache.Entry][]string{}}
	cfg.OnStored, cfg.OnRemoved = r.stored, r.removed
	return r
}

func spelledTags(e cache.Entry) (tags []string) {
	for hash, text := range e.Tags() {
		if text == "" {
			text = fmt.Sprintf("#%x", hash)
		}
		tags = append(tags, text)
	}
	slices.Sort(tags)
	return tags
}

func (r *resident) stored(e cache.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.there[e]; again {
		r.t.Errorf("%s was stored twice", e.Key())
	}
	r.there[e] = spelledTags(e)
}

func (r *resident) removed(e cache.Entry, _ tier.EvictReason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.there[e]; !there {
		r.t.Errorf("%s was removed, but was never stored", e.Key())
	}
	delete(r.there, e)
}

func (r *resident) alive() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	alive := map[string][]string{}
	for e, tags := range r.there {
		if e.Alive() {
			alive[e.Key()] = tags
		} else if !e.Stale() {
			r.t.Errorf("%s is neither alive nor stale", e.Key())
		}
	}
	return alive
}

func (r *resident) want(want map[string][]string) {
	r.t.Helper()
	same(r.t, want, r.alive(), "alive")
}

type tagsByKey = map[string][]string

// An entry knows the text of each tag, whichever way the tag reached it.
func TestStoredWithTags(t *testing.T) {
	var cfg cache.TiersConfig
	seen := listen(t, &cfg)
	tiers := open(t, cfg)
	inner := with(t, tiers, thingConfig{Namespace: "inner", Tags: tagT, Load: (&source{}).load})
	outer := with(t, tiers, thingConfig{Namespace: "outer"})
	load := func(ctx context.Context, k int) (string, error) {
		cache.Depend(ctx, "depend", "depend")
		return inner.Get(ctx, k)
	}
	for range 2 { // the inner value is first loaded, then a hit
		must(t, errOf(outer.GetOrLoad(t.Context(), 1, load, cache.Tags("option", "depend"))))
		seen.want(tagsByKey{
			"default:inner:1": {"default:t"},
			"default:outer:1": {"default:depend", "default:option", "default:t"},
		})
		must(t, outer.Delete(t.Context(), 1))
		seen.want(tagsByKey{"default:inner:1": {"default:t"}})
	}
	must(t, inner.Set(t.Context(), 2, "set", cache.Tags("option")))
	// An unchanged value keeps its tags and gets those of this call.
	kept := with(t, tiers, thingConfig{Namespace: "kept"})
	for i, tag := range []string{"first", "second"} {
		load := func(context.Context, int) (string, error) { return "kept", nil }
		if i > 0 {
			load = func(context.Context, int) (string, error) { return "", cache.ErrNotModified }
		}
		must(t, errOf(kept.GetOrLoad(t.Context(), 3, load, cache.Tags(tag), cache.MaxAge(0))))
	}
	seen.want(tagsByKey{
		"default:inner:1": {"default:t"},
		"default:inner:2": {"default:option", "default:t"},
		"default:kept:3":  {"default:first", "default:second"},
	})
}

// A value of another process has the hashes of its tags, without their texts. The same holds for
// a value that is built from it.
func TestStoredFromRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := tiertest.NewMemory()
		there := with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Namespace: "inner", Tags: tagT, Load: (&source{}).load})
		get(t, there, 1)
		cfg := cache.TiersConfig{Remote: mem}
		seen := listen(t, &cfg)
		tiers := open(t, cfg)
		inner := with(t, tiers, thingConfig{Namespace: "inner"})
		outer := with(t, tiers, thingConfig{Namespace: "outer", Load: func(ctx context.Context, k int) (string, error) {
			cache.Depend(ctx, "own")
			return inner.Get(ctx, k)
		}})
		get(t, outer, 1)
		hashed := fmt.Sprintf("#%x", invalidate.Tag(cache.DefaultTenant, "t").Hash())
		seen.want(tagsByKey{"default:inner:1": {hashed}, "default:outer:1": {hashed, "default:own"}})
		invalidateTag(t, tiers, "t")
		seen.want(tagsByKey{})
	})
}

// spied is a local tier that calls a function before an entry becomes visible.
type spied struct {
	*local.Tier
	before func()
}

func (w spied) Set(hash uint64, e any, cost int64) bool {
	w.before()
	return w.Tier.Set(hash, e, cost)
}

// OnStored returns before the entry becomes visible.
func TestStoredBeforeVisible(t *testing.T) {
	var cfg cache.TiersConfig
	stored := listen(t, &cfg)
	seen := 0
	cfg.Local = spied{Tier: local.New(local.Config{}), before: func() {
		seen++
		stored.want(tagsByKey{cell1: {"default:t"}})
	}}
	c := with(t, open(t, cfg), thingConfig{Tags: tagT, Load: (&source{}).load})
	get(t, c, 1)
	must(t, c.Set(t.Context(), 1, "set"))
	equal(t, seen, 2, "entries that were stored")
}

// An entry that cannot be served is not alive, even if it is still in the local tier.
func TestEntryAlive(t *testing.T) {
	for _, how := range []string{"Delete", "Expire", "DeleteAll", "tag", "All", "time", "Set of what is not kept", "eviction"} {
		bubble(t, how, func(t *testing.T) {
			cfg := cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 20})}
			seen := listen(t, &cfg)
			tiers := open(t, cfg)
			c := with(t, tiers, thingConfig{Tags: tagT, Load: (&source{}).load})
			leave := map[string]func(){
				"Delete":    func() { must(t, c.Delete(t.Context(), 1)) },
				"Expire":    func() { must(t, c.Expire(t.Context(), 1)) }, // there is no Stale
				"DeleteAll": func() { must(t, c.DeleteAll(t.Context())) },
				"tag":       func() { invalidateTag(t, tiers, "t") },
				"All":       func() { must(t, tiers.Invalidate(t.Context(), invalidate.All())) },
				"time":      func() { advance(time.Hour) },
				"Set of what is not kept": func() {
					fails(t, c.Set(t.Context(), 1, strings.Repeat("x", 1<<20+1)), cache.ErrTooLarge, "Set")
				},
				"eviction": func() {
					for k := 2; k < 100; k++ {
						must(t, c.Set(t.Context(), k, strings.Repeat("x", 1<<15)))
					}
					must(t, c.DeleteAll(t.Context()))
				},
			}[how]
			for range 2 { // the entry is stored again
				get(t, c, 1)
				seen.want(tagsByKey{cell1: {"default:t"}})
				leave()
				seen.want(tagsByKey{})
			}
			get(t, c, 1)
			must(t, tiers.Close(t.Context()))
			seen.want(tagsByKey{}) // entries of closed tiers are not alive
		})
	}
}

// The hooks tell of each entry that is stored, and why it leaves: also of one for which the local tier
// has no room. Close tells nothing, and is no eviction.
func TestHooksTellInOrder(t *testing.T) {
	var told []string
	tiers := open(t, cache.TiersConfig{
		Local:     local.New(local.Config{MaxBytes: 64 << 10}),
		OnStored:  func(e cache.Entry) { told = append(told, "stored "+e.Key()) },
		OnRemoved: func(e cache.Entry, r tier.EvictReason) { told = append(told, r.String()+" "+e.Key()) },
	})
	c := with(t, tiers, thingConfig{})
	must(t, errors.Join(c.Set(t.Context(), 1, "a"), c.Set(t.Context(), 1, "b"), c.Delete(t.Context(), 1), c.Delete(t.Context(), 1)))
	fails(t, c.Set(t.Context(), 2, strings.Repeat("x", 32<<10)), cache.ErrTooLarge, "Set")
	must(t, errors.Join(c.Set(t.Context(), 3, "c"), tiers.Close(t.Context())))
	equal(t, strings.ReplaceAll(strings.Join(told, ", "), "default:things:", ""),
		"stored 1, stored 1, replaced 1, deleted 1, stored 2, rejected 2, stored 3", "the hooks tell")
	equal(t, tiers.Stats().Total.Evictions.Entries, 1, "evictions")
}

// After concurrent traffic of all kinds, exactly the entries that are alive by the hooks can be
// read.
func TestHooksChurn(t *testing.T) {
	cfg := cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 20})}
	seen := listen(t, &cfg)
	tiers := open(t, cfg)
	c := with(t, tiers, thingConfig{
		Tags: func(k int, _ string) []string { return []string{fmt.Sprint("mod", k%7)} }, Load: (&source{}).load,
		Policy: patch{TTL: new(policy.Forever)}, // no sweep removes entries while the test counts
	})
	keys := 100_000
	if testing.Short() {
		keys /= 10
	}
	crowd(8, func(g int) {
		for i := range keys / 8 {
			k := i*8 + g
			_, err := c.Get(t.Context(), k)
			if err == nil && i%97 == 0 {
				err = c.Set(t.Context(), k-8*5, "set")
			}
			if err == nil && i%101 == 0 {
				err = c.Delete(t.Context(), k-8*9)
			}
			if err == nil && i%4001 == 0 {
				err = tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, fmt.Sprint("mod", i%7)))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	alive := seen.alive()
	seen.mu.Lock()
	there := int64(len(seen.there))
	seen.mu.Unlock()
	if entries := tiers.Stats().Local.Entries; there != entries || len(alive) == 0 {
		t.Errorf("%d entries were stored and not removed, %d of them alive; the local tier has %d entries", there, len(alive), entries)
	}
	for k := range keys {
		full := fmt.Sprint("default:things:", k)
		if _, ok := c.Peek(t.Context(), k); ok != (alive[full] != nil) {
			t.Fatalf("key %d: readable %t, alive %t", k, ok, !ok)
		}
	}
}

// TestEndedEntriesLeave: an idle tier gives back the memory of entries that nothing can use any
// more, within a minute. OnRemoved says why.
func TestEndedEntriesLeave(t *testing.T) {
	expired, minute := 0, new(time.Minute)
	tc := cache.TiersConfig{OnRemoved: func(_ cache.Entry, why tier.EvictReason) {
		if why == tier.Expired {
			expired++
		}
	}}
	play(t, scene{tc: tc, own: patch{TTL: new(policy.Forever)}, cfg: thingConfig{Policy: patch{TTL: minute, Stale: minute, StaleIfError: minute, NegativeTTL: minute}}, steps: `
		a gets any key=1-900; source absent; a gets absent key=901-1000; source well; a gets any own key=1001
		wait 59s; a counts Entries=1001
		wait 61s; a counts Entries=901 // the absences have ended a minute ago, and values that may be served stale stay
		wait 2m; a counts Entries=1 Evictions.Entries=0`})
	equal(t, expired, 1000, "the times that OnRemoved said %q", tier.Expired)
}

// TestEndsThatMove: a value that its Keep keeps stays, and one that an Expire or an invalidation ends
// early leaves when a read has noticed.
func TestEndsThatMove(t *testing.T) {
	gone := map[string]tier.EvictReason{}
	tc := cache.TiersConfig{OnRemoved: func(e cache.Entry, why tier.EvictReason) { gone[e.Key()] = why }}
	play(t, scene{tc: tc, cfg: thingConfig{Policy: patch{TTL: new(10 * time.Minute), Stale: new(time.Minute), RefreshAhead: new(0.0), NegativeTTL: new(time.Second)}}, steps: `
		says keep=1h; a gets any; says; a gets any key=2-4; source fails; a expires key=2; a gets any stale key=2
		wait 2m1s; a counts Entries=3 // after the Stale of the one that expired
		wait 10m; a counts Entries=1 // after the TTL
		a invalidates tag; a gets failed; wait 61s; a counts Entries=0`})
	same(t, map[string]tier.EvictReason{
		cell1: tier.Expired, "default:things:2": tier.Expired, "default:things:3": tier.Expired, "default:things:4": tier.Expired,
	}, gone, "entries that left")
}

// TestEndsThatAreHidden is the control of the tests above: a tier that does not learn the ends keeps
// entries that nothing can use.
func TestEndsThatAreHidden(t *testing.T) {
	play(t, scene{tc: cache.TiersConfig{Local: untold{local.New(local.Config{})}}, steps: "a gets any; wait 1h; a counts Entries=1"})
}

// untold is a local tier that does not learn when its entries end.
type untold struct{ tier.Local }

func (u untold) Open(h tier.Hooks) {
	h.ExpiresAt = func(any) int64 { return math.MaxInt64 }
	u.Local.Open(h)
}

// A hook that panics harms neither the tier nor the calls that store, evict and audit entries. That
// is logged once, without the panic's value.
func TestHooksThatPanic(t *testing.T) {
	const budget, keys = 1 << 20, 20_000
	for hook, set := range map[string]func(cfg *cache.TiersConfig){
		"OnStored":  func(cfg *cache.TiersConfig) { cfg.OnStored = func(cache.Entry) { panic("secret") } },
		"OnRemoved": func(cfg *cache.TiersConfig) { cfg.OnRemoved = func(cache.Entry, tier.EvictReason) { panic("secret") } },
		"OnStale":   func(cfg *cache.TiersConfig) { cfg.OnStale = func(cache.StaleHit) { panic("secret") } },
	} {
		bubble(t, hook, func(t *testing.T) {
			var said lockedBuffer
			cfg := cache.TiersConfig{Local: local.New(local.Config{MaxBytes: budget}), Logger: slog.New(slog.NewTextHandler(&said, nil))}
			set(&cfg)
			tiers, src := open(t, cfg), &source{fixed: "old"}
			c := with(t, tiers, thingConfig{Load: src.load, Policy: auditAll})
			get(t, c, 1)
			get(t, c, 1)
			src.write(1, "new")
			advance(auditTakes)
			equal(t, tiers.Stats().Audits, cache.Audits{Stale: 1}, "audits")
			must(t, c.DeleteAll(t.Context()))
			src.fixed = strings.Repeat("x", 1000)
			found := int64(0)
			for k := range keys {
				get(t, c, 2+k)
			}
			for k := range keys {
				if _, ok := c.Peek(t.Context(), 2+k); ok {
					found++
				}
			}
			if s := tiers.Stats().Local; s.Entries != found || s.Bytes > budget*105/100 {
				t.Errorf("%d entries with %d bytes, but %d are found", s.Entries, s.Bytes, found)
			}
			if n := strings.Count(said.String(), "hook="+hook); n != 1 || strings.Contains(said.String(), "secret") {
				t.Errorf("%d log lines report the hook, want 1 without the panic's value:\n%s", n, said.String())
			}
		})
	}
}

// A hook that does not return, because it calls the cache or for another reason, is logged once.
func TestStuckHooks(t *testing.T) {
	for _, hook := range []string{"OnStored", "OnRemoved"} {
		bubble(t, hook, func(t *testing.T) {
			var said bytes.Buffer
			wait := func() { <-time.After(11 * time.Second) }
			cfg := cache.TiersConfig{Logger: slog.New(slog.NewTextHandler(&said, nil))}
			if hook == "OnStored" {
				cfg.OnStored = func(cache.Entry) { wait() }
			} else {
				cfg.OnRemoved = func(cache.Entry, tier.EvictReason) { wait() }
			}
			c := with(t, open(t, cfg), cache.Config[int, string]{})
			for i := range 3 {
				must(t, c.Set(t.Context(), i, "v"))
				must(t, c.Delete(t.Context(), i))
			}
			synctest.Wait() // the line is written by a timer's goroutine
			if n := strings.Count(said.String(), "a hook has not returned"); n != 1 || !strings.Contains(said.String(), "hook="+hook) {
				t.Errorf("%d lines, want one: %s", n, said.String())
			}
		})
	}
}
