package index_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
)

// A site looks up the pages that show a post before it changes the post.
func Example() {
	ctx := context.Background()
	ix := index.New(index.Config{MaxEntries: 100_000, MaxPairs: 1_000_000})
	tiers, err := cache.Open(cache.TiersConfig{OnStored: ix.Stored, OnRemoved: ix.Removed})
	if err != nil {
		log.Fatal(err)
	}
	defer tiers.Close(ctx)
	pages, err := cache.New(tiers, cache.Config[string, string]{
		Namespace: "pages",
		Load: func(ctx context.Context, path string) (string, error) {
			cache.Depend(ctx, "nav", "post:7")
			return "the page at " + path, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"home", "post-7"} {
		if _, err := pages.Get(ctx, path); err != nil {
			log.Fatal(err)
		}
	}

	post := invalidate.Tag(cache.DefaultTenant, "post:7")
	fmt.Println("post 7 is on", ix.KeysOf(post))
	fmt.Println("the front page shows", ix.TagsOf("default:pages:home"))
	if e, ok := ix.EntryOf("default:pages:home"); ok {
		fmt.Println("it is old:", e.Age() > time.Hour, "and stale:", e.Stale())
	}
	if s := ix.Stats(); s.Missing == 0 { // KeysOf has found all of them
		fmt.Println(s.Entries, "entries,", s.Tags, "tags,", s.Pairs, "pairs")
	}

	if err := tiers.Invalidate(ctx, post); err != nil {
		log.Fatal(err)
	}
	fmt.Println("post 7 is on", ix.KeysOf(post))
	// Output:
	// post 7 is on [default:pages:home default:pages:post-7]
	// the front page shows [default:nav default:post:7]
	// it is old: false and stale: false
	// 2 entries, 2 tags, 4 pairs
	// post 7 is on []
}
