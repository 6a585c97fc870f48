package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Two processes share a remote tier. Here and in tests it is memory, and in production
// redistier.New(rdb, …).
func ExampleOpen() {
	ctx := context.Background()
	remote := tiertest.NewMemory()
	for _, process := range []string{"first", "second"} {
		tiers, done := openTiers(cache.TiersConfig{
			Local:  local.New(local.Config{MaxBytes: 256 << 20}),
			Remote: remote,
			// If the process that loads a key dies, another one takes over after that time.
			ClaimTTL: 5 * time.Second,
		})
		users := newCache(tiers, cache.Config[int64, User]{Load: loadUser})
		r, err := users.Fetch(ctx, 42, nil)
		fmt.Println(process, r.Value.Name, "from", r.Source, err)
		done()
	}
	// Output:
	// load 42
	// first Ada from load <nil>
	// second Ada from remote <nil>
}

// A service writes and calls another one. The ticket in its request makes that one answer with data at least as new.
func ExampleAtLeast() {
	ctx := context.Background()
	remote, invalidations := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{})
	cfg := cache.TiersConfig{Remote: remote, Log: invalidations}
	writer, done := openTiers(cfg)
	defer done()
	reader, done := openTiers(cfg)
	defer done()
	users := newCache(writer, cache.Config[int64, User]{Load: loadUser})
	theirs := newCache(reader, cache.Config[int64, User]{Load: loadUser})

	if err := users.Delete(ctx, 42); err != nil { // after the write to the source
		log.Fatal(err)
	}
	ticket := writer.Ticket() // goes along in the request, for example in a header

	u, err := theirs.GetOrLoad(ctx, 42, nil, cache.AtLeast(ticket))
	fmt.Println(u.Name, err)
	fmt.Println(reader.ReadyFor(ctx, ticket)) // for all reads after it
	// Output:
	// load 42
	// Ada <nil>
	// <nil>
}

// Policies can be overridden by tenant, by namespace or by both, even while the program runs.
func ExampleTiers_SetPolicies() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.Config[int64, User]{Load: loadUser})

	var table policy.Table
	if err := json.Unmarshal([]byte(`[
		{"namespace": "users:v1", "ttl": "10m", "stale": "1m"},
		{"tenant": "acme", "off": true}
	]`), &table); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tiers.SetPolicies(table))
	acme := users.Tenant("acme") // the cache is off for acme
	_, _ = acme.Get(ctx, 42)
	_, _ = acme.Get(ctx, 42)

	fmt.Println(tiers.UnusedPolicies()) // namespaces of the table that no cache has

	err := tiers.SetPolicies(policy.Table{{Patch: policy.Patch{TTL: new(-time.Second)}}})
	fmt.Println(err != nil) // a faulty table is refused, and the old one stays
	for _, p := range tiers.Policies() {
		fmt.Printf("%s %q: TTL %v, off %t\n", p.Namespace, p.Tenant, p.Policy.TTL, p.Policy.Off)
	}
	// Output:
	// <nil>
	// load 42
	// load 42
	// []
	// true
	// users:v1 "": TTL 10m0s, off false
	// users:v1 "acme": TTL 10m0s, off true
}

func ExampleTiers_Close() {
	tiers, _ := openTiers(cache.TiersConfig{})
	users := newCache(tiers, cache.Config[int64, User]{Load: loadUser})

	// Close waits for running loads, here up to five seconds.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(tiers.Close(ctx))
	_, err := users.Get(ctx, 42)
	fmt.Println(errors.Is(err, cache.ErrClosed))
	// Output:
	// <nil>
	// true
}

// printSpace prints the hits of one namespace of one tenant.
func printSpace(s cache.SpaceStats) {
	reads := s.Reads.LocalHits + s.Reads.RemoteHits + s.Reads.Misses + s.Reads.Merged
	fmt.Printf("%s of %s: %d of %d reads were hits\n", s.Namespace, s.Tenant, s.Reads.LocalHits+s.Reads.RemoteHits, reads)
}

func ExampleStats() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.For("users:v1", loadUser))

	for range 4 {
		_, _ = users.Get(ctx, 42)
	}
	_, _ = users.Tenant("acme").Get(ctx, 42)
	_ = users.Delete(ctx, 42)
	s := tiers.Stats()
	for _, space := range s.Spaces {
		printSpace(space)
	}
	fmt.Println("entries:", s.Local.Entries, "evicted:", s.Total.Evictions.Entries, "entries of", s.Total.Evictions.Bytes, "bytes")
	fmt.Println("invalidated:", s.Kinds.Keys, "keys;", "waiting for the log:", s.Log.Pending)
	fmt.Println("forgotten:", s.Fences.Forgotten, "entries; errors of the remote tier:", s.Remote.GetErrors)
	// Output:
	// load 42
	// load 42
	// users:v1 of acme: 0 of 1 reads were hits
	// users:v1 of default: 3 of 4 reads were hits
	// entries: 1 evicted: 0 entries of 0 bytes
	// invalidated: 1 keys; waiting for the log: 0
	// forgotten: 0 entries; errors of the remote tier: 0
}

// A program keeps a value of its own beside the cache. It drops the value when any process
// invalidates what the value was made of.
func ExampleTiers_OnInvalidate() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.For("users:v1", func(context.Context, int) (string, error) { return "Ada", nil }))
	team := users.Tag("team:7")
	heard := make(chan bool)
	stop := tiers.OnInvalidate(func(e invalidate.Event) {
		for _, f := range e.Fences {
			if f.Scope == team || f.Scope.Kind() == invalidate.KindAll {
				heard <- e.Local
			}
		}
	})
	if err := tiers.Invalidate(ctx, team); err != nil {
		panic(err)
	}
	fmt.Println("the team has changed, by this process:", <-heard)
	stop()
	// Output: the team has changed, by this process: true
}

// Entry describes a value that enters or leaves the local tier.
func ExampleEntry() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{
		OnStored: func(e cache.Entry) {
			for _, tag := range e.Tags() {
				fmt.Println("stored", e.Key(), "with the tag", tag)
			}
		},
		OnRemoved: func(e cache.Entry, reason tier.EvictReason) {
			fmt.Println(reason, e.Key(), "could still be served:", e.Alive())
		},
	})
	defer done()
	users := newCache(tiers, cache.Config[int, string]{Namespace: "users"})
	if err := users.Set(ctx, 42, "Ada", cache.Tags("org:7")); err != nil {
		log.Fatal(err)
	}
	if err := users.Delete(ctx, 42); err != nil {
		log.Fatal(err)
	}
	// Output:
	// stored default:users:42 with the tag default:org:7
	// deleted default:users:42 could still be served: false
}

// An audit finds a write whose invalidation was forgotten.
func ExampleFill_Auditing() {
	found := make(chan cache.StaleHit, 1)
	tiers, done := openTiers(cache.TiersConfig{
		Log:       logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second}), // in a real program: redislog.New(…)
		MaxAudits: 100,
		OnStale:   func(s cache.StaleHit) { found <- s },
		Logger:    slog.New(slog.DiscardHandler),
	})
	ctx := context.Background()
	defer done()

	type page struct {
		Title string
		Made  time.Time // of every load its own
	}
	var title atomic.Value
	title.Store("Draft")
	cfg := cache.For("pages:v1", func(ctx context.Context, id int64) (page, error) {
		if cache.Filling(ctx).Auditing() {
			fmt.Println("audit: read the primary")
		}
		return page{title.Load().(string), time.Now()}, nil
	})
	cfg.Equal = func(a, b page) bool { return a.Title == b.Title }
	cfg.Policy = policy.Patch{Audit: new(1.0), TTL: new(time.Hour)} // in a real program: 0.001
	pages := newCache(tiers, cfg)

	_, _ = pages.Get(ctx, 7)
	title.Store("Published") // and no pages.Delete(ctx, 7)
	_, _ = pages.Get(ctx, 7) // a hit: still the draft

	s := <-found
	fmt.Println("stale:", s.Key, s.Source, "healed:", s.Healed)
	p, _ := pages.Get(ctx, 7)
	fmt.Println("now:", p.Title)

	low, high := tiers.Stats().Audits.Fresh()
	fmt.Printf("fresh: between %.0f %% and %.0f %% of hits; %d stale kept\n", 100*low, 100*high, len(tiers.StaleHits()))
	// Output:
	// audit: read the primary
	// audit: read the primary
	// stale: default:pages:v1:7 local healed: true
	// now: Published
	// fresh: between 0 % and 79 % of hits; 1 stale kept
}
