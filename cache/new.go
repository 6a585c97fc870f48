package cache

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/key"
)

// New returns the cache that cfg describes. It refuses a faulty configuration and names all
// faults. Several caches may share a namespace of t if their key types, value types, codecs,
// schemas and LocalOnly are the same, and all or none has Tags. They share the values. Each load is
// made with the loader, the Tags and the policy of the cache that is called, so give all the same Tags.
func New[K comparable, V any](t *Tiers, cfg Config[K, V]) (Cache[K, V], error) {
	core, err := t.engine()
	if err != nil {
		return Cache[K, V]{}, fmt.Errorf("cache: new %.100q: %w", cfg.Namespace, err)
	}
	s := &shared[K, V]{cfg: cfg}
	v, err := engine.Open(&s.store, core, s, &resident.Spec{
		Namespace: cfg.Namespace, Tenant: cmp.Or(cfg.Tenant, DefaultTenant), Policy: cfg.Policy, LocalOnly: cfg.LocalOnly,
		MaxBatch: cfg.MaxBatch, Codec: cfg.Codec, Schema: cfg.Schema,
		Loader: anyOf(cfg.Load), LoadsMany: cfg.LoadMany != nil, WantsLoad: cfg.wantsLoad, Tagged: cfg.Tags != nil,
		Key: reflect.TypeFor[K](), Value: reflect.TypeFor[V](), KeyFault: key.CheckType[K](), KeyHashed: key.Hashes[K](),
		Size: sizeOf(cfg.Size), Item: reflect.TypeOf((*item[K, V])(nil)).Elem(), //nolint:modernize // TypeFor of an item would add a kilobyte to each pair of types
	})
	if err != nil {
		return Cache[K, V]{}, err
	}
	return Cache[K, V]{s: s, v: v}, nil
}

// anyOf returns a loader for a store, or nil.
func anyOf[K comparable, V any](load Loader[K, V]) any {
	if load == nil {
		return nil
	}
	return load
}

// sizeOf returns a function that measures the value that a pointer points to, or nil.
func sizeOf[V any](size func(V) int64) func(ptr any) int64 {
	if size == nil {
		return nil
	}
	return func(ptr any) int64 { return size(*ptr.(*V)) }
}

// Tenant returns the handle for another tenant's keys. If the name is empty or has a colon,
// every call of the handle fails.
func (c Cache[K, V]) Tenant(name string) Cache[K, V] {
	if c.s == nil {
		return c
	}
	return Cache[K, V]{s: c.s, v: c.s.store.Of(name)}
}
