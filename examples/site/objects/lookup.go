package objects

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/policy"
)

// builder makes caches until one of them fails.
type builder struct {
	c   *Cache
	err error
}

// kept returns a cache of answers that always exist.
func kept[K comparable, V any](b *builder, namespace string, load cache.Loader[K, V]) cache.Cache[K, V] {
	return build(b, b.c.present, namespace, forever, load)
}

func build[K comparable, V any](b *builder, t *cache.Tiers, namespace string, p policy.Patch, load cache.Loader[K, V]) cache.Cache[K, V] {
	if b.err != nil {
		return cache.Cache[K, V]{}
	}
	if load != nil {
		source := load
		load = func(ctx context.Context, k K) (V, error) {
			v, err := source(ctx, k)
			if errors.Is(err, content.ErrNotFound) {
				err = errors.Join(cache.ErrNotFound, err)
			}
			return v, err
		}
	}
	c, err := cache.New(t, cache.Config[K, V]{Namespace: namespace, Policy: p, Load: load})
	b.err = err
	return c
}

// lookup keeps the values of keys that strangers choose: what there is in one
// tier, and that there is nothing in another, where it cannot push out what there is.
type lookup[K comparable, V any] struct {
	present, absent cache.Cache[K, V]
}

func guessed[K comparable, V any](b *builder, namespace string, load cache.Loader[K, V]) (l lookup[K, V]) {
	l.present = build(b, b.c.present, namespace, forever, load)
	remembered := forever
	remembered.NegativeTTL = new(policy.Forever)
	present := l.present
	// What the load returns is kept by present; only its absence is kept here,
	// under the same tags.
	l.absent = build(b, b.c.absent, "no-"+namespace, remembered, func(ctx context.Context, k K) (V, error) {
		v, err := present.Get(ctx, k)
		if err == nil {
			cache.Filling(ctx).NoStore()
		}
		return v, err
	})
	return l
}

// get looks among what there is, then among what there is not, then asks.
func (l lookup[K, V]) get(ctx context.Context, k K) (V, error) {
	if v, ok := l.present.Peek(ctx, k); ok {
		return v, nil
	}
	v, err := translate(l.absent.Get(ctx, k))
	if errors.Is(err, content.ErrNotFound) {
		cache.Filling(ctx).NoStore()
	}
	return v, err
}

// translate makes absence what [content.Reader] calls it.
func translate[V any](v V, err error) (V, error) {
	if errors.Is(err, cache.ErrNotFound) {
		return v, content.ErrNotFound
	}
	return v, err
}
