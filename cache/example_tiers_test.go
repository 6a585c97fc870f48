package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Two processes share a remote tier: redistier.New(rdb, …) in earnest, memory
// here and in tests.
func ExampleOpen() {
	ctx := context.Background()
	remote := tiertest.NewMemory()
	for _, process := range []string{"first", "second"} {
		tiers, err := cache.Open(cache.TiersConfig{
			Local:  local.New(local.Config{MaxBytes: 256 << 20}),
			Remote: remote,
		})
		if err != nil {
			log.Fatal(err)
		}
		users, err := cache.New(tiers, cache.Config[int64, User]{Namespace: "users:v1", Load: loadUser})
		if err != nil {
			log.Fatal(err)
		}
		r, err := users.Fetch(ctx, 42, nil)
		fmt.Println(process, r.Value.Name, "from", r.Source, err)
		_ = tiers.Close(ctx)
	}
	// Output:
	// load 42
	// first Ada from load <nil>
	// second Ada from remote <nil>
}

func ExampleTiers_Invalidate() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{
		Namespace: "users:v1",
		Load:      loadUser,
		Tags:      func(_ int64, u User) []string { return []string{"org:" + u.Org} },
	})
	if err != nil {
		log.Fatal(err)
	}
	acme := users.Tenant("acme")

	_, _ = acme.Get(ctx, 42)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Tag("acme", "org:7")))
	_, _ = acme.Get(ctx, 42)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Prefix("acme", "users:")))
	_, _ = acme.Get(ctx, 42)
	// Output:
	// load 42
	// <nil>
	// load 42
	// <nil>
	// load 42
}

func ExampleTiers_Stats() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{Namespace: "users:v1", Load: loadUser})
	if err != nil {
		log.Fatal(err)
	}

	for range 3 {
		_, _ = users.Get(ctx, 42)
	}
	_, _ = users.Tenant("acme").Get(ctx, 42)
	s := tiers.Stats()
	fmt.Println("local hits", s.Total.LocalHits, "misses", s.Total.Misses, "entries", s.Local.Entries)
	for _, sp := range s.Spaces {
		fmt.Println(sp.Tenant, sp.Namespace, "loads", sp.Loads)
	}
	// Output:
	// load 42
	// load 42
	// local hits 2 misses 2 entries 2
	// acme users:v1 loads 1
	// default users:v1 loads 1
}

// Policies are overridden by tenant, namespace or both, also while the program
// runs.
func ExampleTiers_SetPolicies() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{Namespace: "users:v1", Load: loadUser})
	if err != nil {
		log.Fatal(err)
	}

	var table policy.Table
	if err := json.Unmarshal([]byte(`[
		{"namespace": "users:v1", "ttl": "10m", "stale": "1m"},
		{"tenant": "acme", "off": true}
	]`), &table); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tiers.SetPolicies(table))
	acme := users.Tenant("acme") // for acme, the cache is switched off
	_, _ = acme.Get(ctx, 42)
	_, _ = acme.Get(ctx, 42)

	err = tiers.SetPolicies(policy.Table{{Patch: policy.Patch{TTL: new(-time.Second)}}})
	fmt.Println(err != nil) // a table with faults is refused, and the old one stays
	// Output:
	// <nil>
	// load 42
	// load 42
	// true
}

func ExampleTiers_Close() {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	users, err := cache.New(tiers, cache.Config[int64, User]{Namespace: "users:v1", Load: loadUser})
	if err != nil {
		log.Fatal(err)
	}

	// Loads that run are waited for, up to five seconds here.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(tiers.Close(ctx))
	_, err = users.Get(ctx, 42)
	fmt.Println(errors.Is(err, cache.ErrClosed))
	// Output:
	// <nil>
	// true
}

func ExampleTTL() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	u, err := users.GetOrLoad(ctx, 42, loadUser, cache.TTL(time.Hour)) // in place of the policy's
	fmt.Println(u.Name, err)
	// Output:
	// load 42
	// Ada <nil>
}

// Who has just been told of a change asks for a value that is no older.
func ExampleMaxAge() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.Get(ctx, 42)
	_, _ = users.Fetch(ctx, 42, nil, cache.MaxAge(time.Hour)) // what is cached will do
	_, _ = users.Fetch(ctx, 42, nil, cache.MaxAge(0))         // only a load that begins now
	// Output:
	// load 42
	// load 42
}

func ExampleAllowStale() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load:   loadUser,
		Policy: policy.Patch{Stale: new(time.Hour)},
	})
	defer done()

	_, _ = users.Get(ctx, 42)
	_ = users.Expire(ctx, 42)
	r, err := users.Fetch(ctx, 42, nil, cache.AllowStale(false)) // waits for the load
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale, err)
	// Output:
	// load 42
	// load 42
	// Ada from load stale false <nil>
}

func ExampleTags() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{Namespace: "users:v1", Load: loadUser})
	if err != nil {
		log.Fatal(err)
	}

	_ = users.Set(ctx, 42, User{Name: "Ada Lovelace"}, cache.Tags("import:2026-11"))
	_ = tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "import:2026-11"))
	u, err := users.Get(ctx, 42)
	fmt.Println(u.Name, err)
	// Output:
	// load 42
	// Ada <nil>
}

// Options are values: keep them, pass them on.
func ExampleOption() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	critical := []cache.Option{cache.AllowStale(false), cache.MaxAge(time.Second)}
	u, err := users.GetOrLoad(ctx, 42, nil, critical...)
	fmt.Println(u.Name, err)
	// Output:
	// load 42
	// Ada <nil>
}

// Values are shared between callers and must not be changed, unless the cache
// is told how to copy them.
func ExampleConfig_clone() {
	ctx := context.Background()
	lists, done := example(cache.Config[string, []string]{
		Load:  func(context.Context, string) ([]string, error) { return []string{"a", "b"}, nil },
		Clone: slices.Clone[[]string],
	})
	defer done()

	mine, _ := lists.Get(ctx, "letters")
	mine[0] = "changed"
	yours, _ := lists.Get(ctx, "letters")
	fmt.Println(yours)
	// Output: [a b]
}

// A load error may be remembered, so that a broken source is not asked by every
// read. What other processes learn of it is its code.
func ExampleRememberedError() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load: func(context.Context, int64) (User, error) {
			fmt.Println("load")
			return User{}, errors.New("too many connections")
		},
		Policy: policy.Patch{ErrorTTL: new(10 * time.Second)},
	})
	defer done()

	_, _ = users.Get(ctx, 42)
	_, err := users.Get(ctx, 42)
	if e, ok := errors.AsType[*cache.RememberedError](err); ok {
		fmt.Println(e.Code, "·", e.Err)
	}
	// Output:
	// load
	// error · too many connections
}

// A call may leave a tier out: for a value that only this process should hold, or one that
// is read once and should not push others out.
func ExampleSkipLocal() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	scan := []cache.Option{cache.SkipLocal(), cache.SkipRemote()} // shares a load with others, keeps nothing
	_, _ = users.GetOrLoad(ctx, 42, nil, scan...)
	r, err := users.Fetch(ctx, 42, nil, cache.SkipRemote()) // kept in this process alone
	fmt.Println(r.Source, err)
	r, err = users.Fetch(ctx, 42, nil)
	fmt.Println(r.Source, err)
	err = users.Set(ctx, 42, User{Name: "Ada"}, cache.MaxAge(time.Second))
	fmt.Println(errors.Is(err, cache.ErrOption))
	// Output:
	// load 42
	// load 42
	// load <nil>
	// local <nil>
	// true
}
