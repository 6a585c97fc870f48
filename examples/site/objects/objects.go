// Package objects is a [content.Reader] in front of the store that caches results until
// they are invalidated. Absences have their own small tier. Only the first pages of a list are
// cached. A page that is built from an absence or an empty list is not cached either.
package objects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/policy"
)

// New returns a Reader that caches r: values in present, absences in absent, hotPages pages of
// lists.
func New(r content.Reader, present, absent *cache.Tiers, hotPages int) (content.Reader, error) {
	b := &builder{present: present, absent: absent}
	feeds, lists := kept[int, []content.Post](b, "feeds", r.FeedItems), kept[string, content.List](b, "lists", nil)
	c := content.Reader{
		Settings:       single(b, "settings", r.Settings),
		Navigation:     single(b, "navigation", r.Navigation),
		Sitemap:        single(b, "sitemap", r.Sitemap),
		TagCounts:      single(b, "tags", r.TagCounts),
		MonthCounts:    single(b, "months", r.MonthCounts),
		PostBySlug:     guessed(b, "slugs", r.PostBySlug),
		PostByID:       guessed(b, "posts", r.PostByID),
		PageBySlug:     guessed(b, "page-slugs", r.PageBySlug),
		PageByID:       guessed(b, "pages", r.PageByID),
		APIKeyByPrefix: guessed(b, "keys", r.APIKeyByPrefix),
		FeedItems:      func(ctx context.Context, n int) ([]content.Post, error) { return value(feeds.Get(ctx, n)) },
		ListPosts: func(ctx context.Context, f content.Filter, w content.Window) (l content.List, err error) {
			if f == (content.Filter{}) && w.Number >= 1 && w.Number <= hotPages {
				l, err = value(lists.GetOrLoad(ctx, fmt.Sprintf("%d/%d", w.Number, w.Size), func(ctx context.Context, _ string) (*content.List, error) {
					return pointer(r.ListPosts(ctx, f, w))
				}))
			} else {
				l, err = r.ListPosts(ctx, f, w)
			}
			if err == nil && len(l.Posts) == 0 {
				cache.Filling(ctx).NoStore()
			}
			return l, err
		},
	}
	if b.err != nil {
		return content.Reader{}, fmt.Errorf("objects: %w", b.err)
	}
	return c, nil
}

// forever is the policy of all caches here: invalidations end entries, time does not.
var forever = policy.Patch{TTL: new(policy.Forever), NegativeTTL: new(time.Duration(0)), Jitter: new(0.0)}

// builder creates caches until one fails.
type builder struct {
	present, absent *cache.Tiers
	err             error
}

func kept[K comparable, V any](b *builder, namespace string, load func(context.Context, K) (V, error)) cache.Cache[K, *V] {
	return build(b, b.present, namespace, forever, load)
}

// build creates a cache of pointers: the compiler builds the code of a cache once for all pointers
// under one type of key. It stays local, because a nil slice behind a pointer would come back from
// a codec as a nil pointer.
func build[K comparable, V any](b *builder, t *cache.Tiers, namespace string, p policy.Patch, load func(context.Context, K) (V, error)) (c cache.Cache[K, *V]) {
	if b.err != nil {
		return c
	}
	cfg := cache.Config[K, *V]{Namespace: namespace, Policy: p, LocalOnly: true}
	if load != nil {
		cfg.Load = func(ctx context.Context, k K) (*V, error) { return pointer(load(ctx, k)) }
	}
	c, b.err = cache.New(t, cfg)
	return c
}

func pointer[V any](v V, err error) (*V, error) { return &v, err }

func value[V any](p *V, err error) (v V, _ error) {
	if err == nil {
		v = *p
	}
	return v, err
}

func single[V any](b *builder, namespace string, read func(context.Context) (V, error)) func(context.Context) (V, error) {
	c := kept(b, namespace, func(ctx context.Context, _ string) (V, error) { return read(ctx) })
	return func(ctx context.Context) (V, error) { return value(c.Get(ctx, "-")) }
}

// guessed returns a read by keys that strangers choose. It stores absences in their own
// tier, where they cannot evict values.
func guessed[K comparable, V any](b *builder, namespace string, load func(context.Context, K) (V, error)) func(context.Context, K) (V, error) {
	present := kept(b, namespace, load)
	remembered := forever
	remembered.NegativeTTL = new(policy.Forever)
	// present stores what the load returns. absent stores its absence, under the same tags.
	absent := build(b, b.absent, "no-"+namespace, remembered, func(ctx context.Context, k K) (V, error) {
		v, err := value(present.Get(ctx, k))
		if err == nil {
			cache.Filling(ctx).NoStore()
		}
		return v, err
	})
	return func(ctx context.Context, k K) (v V, err error) {
		if s, ok := any(k).(string); ok && len(s) > content.MaxSlug {
			return v, content.ErrNotFound // too long for a cache key
		}
		if cache.Filling(ctx).Auditing() { // of a page: Peek is not audited itself
			return load(ctx, k)
		}
		if p, ok := present.Peek(ctx, k); ok {
			return *p, nil
		}
		v, err = value(absent.Get(ctx, k))
		if errors.Is(err, content.ErrNotFound) {
			cache.Filling(ctx).NoStore()
		}
		return v, err
	}
}
