// Command quickstart reads an article through a cache, as two processes would. Each line says what
// happened, and which call of the library did it. The examples of package cache show the other
// calls.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func main() {
	if err := tell(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

type article struct {
	Title   string
	Version int64
}

// process opens the tiers and the cache of a process.
func process(remote tier.Remote, log invalidate.Log, load cache.Loader[string, article]) (*cache.Tiers, cache.Cache[string, article], error) {
	// The default logger would warn about the link that the program cuts.
	tiers, err := cache.Open(cache.TiersConfig{Remote: remote, Log: log, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, cache.Cache[string, article]{}, err
	}
	articles, err := cache.New(tiers, cache.Config[string, article]{
		Namespace: "articles:v1",
		Load:      load,
		Tags:      func(string, article) []string { return []string{"section:news"} },
		Policy:    policy.Patch{TTL: new(10 * time.Minute)},
	})
	return tiers, articles, err
}

func tell(ctx context.Context, out io.Writer) error {
	// In production, these are redistier.New and redislog.New, or those of a database.
	remote, log := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second})
	link := logtest.NewFaulty(log) // from the second process to the log
	var loads atomic.Int64
	load := func(_ context.Context, path string) (article, error) {
		time.Sleep(10 * time.Millisecond) // a slow database
		return article{"About " + path, loads.Add(1)}, nil
	}
	first, a, err := process(remote, log, load)
	if err != nil {
		return err
	}
	defer first.Close(ctx) //nolint:errcheck // every step is over
	second, b, err := process(remote, link, load)
	if err != nil {
		return err
	}
	defer second.Close(ctx) //nolint:errcheck // every step is over

	const path = "news/1"
	read := func(name string, articles cache.Cache[string, article]) error {
		start := time.Now()
		r, err := articles.Fetch(ctx, path, nil)
		fmt.Fprintf(out, "%s: articles.Fetch: version %d from %v in %v\n", name, r.Value.Version, r.Source, time.Since(start).Round(time.Microsecond))
		return err
	}
	if err := errors.Join(read("process 1", a), read("process 1", a), read("process 2", b)); err != nil {
		return err
	}

	if err := errors.Join(first.Invalidate(ctx, a.Tag("section:news")), first.Settle(ctx)); err != nil {
		return err
	}
	var readers errgroup.Group
	for range 32 {
		for _, articles := range []cache.Cache[string, article]{a, b} {
			readers.Go(func() error {
				_, err := articles.Get(ctx, path)
				return err
			})
		}
	}
	if err := readers.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(out, "tiers.Invalidate of a tag and tiers.Settle, then 64 goroutines of both processes call articles.Get: %d loads so far\n", loads.Load())

	link.Fail(errors.New("the link is cut"))
	start := time.Now()
	if err := errors.Join(a.Delete(ctx, path), first.Settle(ctx)); err != nil {
		return err
	}
	fmt.Fprintf(out, "articles.Delete and tiers.Settle while process 2 cannot reach the log: %v, one bound, until its lease has run out\n", time.Since(start).Round(100*time.Millisecond))
	return read("process 2", b)
}
