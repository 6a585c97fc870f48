package cache_test

import (
	"context"
	"fmt"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// With a secret, a process serves only values that processes with the same secret have stored.
func ExampleTiersConfig_secret() {
	ctx := context.Background()
	remote := tiertest.NewMemory() // what the processes share; in production, redistier.New
	process := func(secret, previous string) (*cache.Tiers, cache.Cache[int, string]) {
		cfg := cache.TiersConfig{Remote: remote, Secret: []byte(secret)}
		if previous != "" {
			cfg.PreviousSecret = []byte(previous) // read, and not written: for a rotation
		}
		tiers, err := cache.Open(cfg)
		if err != nil {
			panic(err)
		}
		names, err := cache.New(tiers, cache.Config[int, string]{Namespace: "names:v1"})
		if err != nil {
			panic(err)
		}
		return tiers, names
	}

	const old, next = "random bytes, 16 or more of them", "other random bytes for a rotation"
	a, names := process(old, "")
	defer a.Close(ctx)
	_ = names.Set(ctx, 1, "Ada")

	b, names := process(next, old)
	defer b.Close(ctx)
	name, found := names.Peek(ctx, 1)
	fmt.Println(name, found)

	c, names := process(next, "")
	defer c.Close(ctx)
	_, found = names.Peek(ctx, 1)
	fmt.Println(found, c.Stats().Total.Cells.Unauthentic)
	// Output:
	// Ada true
	// false 1
}
