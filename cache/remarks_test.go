package cache_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Each wrong use is said once for a namespace, with the remedy. Its values are still returned.
func TestRemarks(t *testing.T) {
	value := func(v string, err error) func(context.Context, int) (string, error) {
		return func(context.Context, int) (string, error) { return v, err }
	}
	tagged := func(tag string) func(ctx context.Context, _ int) (string, error) {
		return func(ctx context.Context, _ int) (string, error) { cache.Depend(ctx, tag); return "v", nil }
	}
	only1 := func(err error) func(context.Context, []int) (map[int]string, error) {
		return func(_ context.Context, keys []int) (map[int]string, error) {
			if slices.Contains(keys, 1) {
				return map[int]string{1: "v"}, err
			}
			return nil, nil
		}
	}
	for name, tt := range map[string]struct {
		cfg    cache.Config[int, string]
		remote bool
		want   string // in the log; empty: nothing
	}{
		"well":                     {cache.Config[int, string]{Load: tagged("tag")}, true, ""},
		"an empty tag":             {cache.Config[int, string]{Load: tagged("")}, true, "tag that is empty, too long or not valid"},
		"a long tag":               {cache.Config[int, string]{Load: tagged(strings.Repeat("t", 1000))}, false, "shorten long ones"},
		"an empty tag by Tags":     {cache.Config[int, string]{Load: value("v", nil), Tags: func(int, string) []string { return []string{""} }}, true, "leave out empty tags"},
		"a long value":             {cache.Config[int, string]{Load: value(strings.Repeat("v", 1<<21), nil)}, false, "raise MaxValueBytes in the policy"},
		"a long value, far":        {cache.Config[int, string]{Load: value(strings.Repeat("v", 1<<21), nil)}, true, "max_value_bytes=1048576"},
		"no rows":                  {cache.Config[int, string]{Load: value("", fmt.Errorf("user: %w", sql.ErrNoRows))}, true, "wrap the loader in cache.NotFoundIs"},
		"no rows, mapped":          {cache.Config[int, string]{Load: cache.NotFoundIs(value("", fmt.Errorf("user: %w", sql.ErrNoRows)), sql.ErrNoRows)}, true, ""},
		"another failure":          {cache.Config[int, string]{Load: value("", errSource)}, true, ""},
		"keys that nobody asked":   {cache.Config[int, string]{LoadMany: func(context.Context, []int) (map[int]string, error) { return map[int]string{1: "v", 17: "w"}, nil }}, false, "LoadMany returned keys that it was not asked for"},
		"fewer keys than asked":    {cache.Config[int, string]{LoadMany: only1(nil)}, false, ""},
		"an error beside its keys": {cache.Config[int, string]{LoadMany: only1(&cache.BatchError[int]{Errs: map[int]error{1: errSource}})}, false, ""},
	} {
		bubble(t, name, func(t *testing.T) {
			var said bytes.Buffer
			tc := cache.TiersConfig{Logger: slog.New(slog.NewTextHandler(&said, nil))}
			if tt.remote {
				tc.Remote, tc.Policies = tiertest.NewMemory(), remoteTimeout(time.Minute)
			}
			tiers := open(t, tc)
			for range 2 {
				c := with(t, tiers, tt.cfg)
				for k := range 3 {
					_, _ = c.Get(t.Context(), k)
					_, _ = c.GetMany(t.Context(), []int{k, 1})
				}
			}
			lines := 0
			for line := range strings.Lines(said.String()) {
				if strings.Contains(line, "there is a remote tier and no log") {
					continue
				}
				if lines++; tt.want == "" || !strings.Contains(line, tt.want) || !strings.Contains(line, "namespace=") {
					t.Errorf("log: %s", line)
				}
			}
			if want := min(len(tt.want), 1); lines != want {
				t.Errorf("%d lines, want %d", lines, want)
			}
		})
	}
}

// Processes share values and not their log, so neither hears the other's invalidations. Each counts the other's
// values as misses, and one line says why.
func TestRemarkOfAnotherLog(t *testing.T) {
	bubble(t, "logs", func(t *testing.T) {
		mem := tiertest.NewMemory()
		var said bytes.Buffer
		var caches []cache.Cache[int, string]
		for i := range 2 {
			tiers := open(t, cache.TiersConfig{Remote: mem, Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second}), Policies: remoteTimeout(time.Minute),
				Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			must(t, tiers.Ready(t.Context()))
			caches = append(caches, with(t, tiers, cache.Config[int, string]{Load: func(context.Context, int) (string, error) {
				return fmt.Sprint("v", i), nil
			}}))
		}
		for k := range 200 {
			equal(t, get(t, caches[k%2], k), fmt.Sprint("v", k%2), "loaded")
			equal(t, get(t, caches[1-k%2], k), fmt.Sprint("v", 1-k%2), "loaded by the other one, too")
			advance(time.Second)
		}
		if n := strings.Count(said.String(), "follow another log"); n != 2 {
			t.Errorf("%d lines, want one of each process:\n%s", n, said.String())
		}
	})
}

// A release that adds a tag serves no value that an earlier release stored without it. Otherwise an invalidation of that tag
// would not reach the value.
func TestTagsOfAnotherRelease(t *testing.T) {
	org := func(_ int, v string) []string { return []string{"org:" + v[:1]} }
	both := func(k int, v string) []string { return append(org(k, v), "all") }
	many := func(int, string) (tags []string) {
		for i := range 300 {
			tags = append(tags, fmt.Sprint("t", i))
		}
		return tags
	}
	type tags = func(int, string) []string
	for name, tt := range map[string]struct {
		old, new tags
		want     string
	}{
		"none, then one":     {nil, org, "v2"},
		"one, then two":      {org, both, "v2"},
		"two, then one":      {both, org, "v1"},
		"the same":           {both, both, "v1"},
		"one, then none":     {org, nil, "v1"},
		"more than a cell's": {many, org, "v1"}, // it stands for any tag
		"a tag that is bad":  {org, func(int, string) []string { return []string{""} }, "v1"},
	} {
		for _, call := range []string{"Get", "GetMany", "Peek"} {
			bubble(t, name+", "+call, func(t *testing.T) {
				mem, n := tiertest.NewMemory(), 0
				start := func(tags tags) (*cache.Tiers, cache.Cache[int, string]) {
					tiers := open(t, cache.TiersConfig{Remote: mem, Policies: remoteTimeout(time.Minute), Logger: slog.New(slog.DiscardHandler)})
					return tiers, with(t, tiers, cache.Config[int, string]{Tags: tags, Load: func(context.Context, int) (string, error) {
						n++
						return fmt.Sprint("v", n), nil
					}})
				}
				_, old := start(tt.old)
				equal(t, get(t, old, 1), "v1", "the old release")
				tiers, c := start(tt.new)
				got := ""
				switch call {
				case "Get":
					got = get(t, c, 1)
				case "GetMany":
					m, err := c.GetMany(t.Context(), []int{1})
					must(t, err)
					got = m[1]
				case "Peek":
					if v, ok := c.Peek(t.Context(), 1); ok {
						got = v
					} else {
						got = "v2" // would be loaded
					}
				}
				equal(t, got, tt.want, "the new release")
				equal(t, total(tiers).Cells.Untagged > 0, tt.want == "v2", "a counted miss")
			})
		}
	}
}

// Two caches of one namespace agree on whether they have Tags.
func TestTagsOfOneNamespace(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	cfg := cache.Config[int, string]{Namespace: "users", Tags: func(int, string) []string { return nil }}
	with(t, tiers, cfg)
	with(t, tiers, cfg)
	cfg.Tags = nil
	misuse{newErr(tiers, cfg), nil, []string{"field Tags", `"users"`, "give both the same Tags"}}.check(t)
}
