package cache_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/cache"
)

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
