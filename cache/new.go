package cache

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"reflect"

	"github.com/twofold-go/twofold/codec"
	calls "github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/internal/sizeof"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// New returns the cache that cfg describes. It refuses a faulty configuration and names all
// faults. Several caches may share a namespace of t if their key types, value types, codecs,
// schemas and LocalOnly are the same.
func New[K comparable, V any](t *Tiers, cfg Config[K, V]) (Cache[K, V], error) {
	if err := t.check(); err != nil {
		return Cache[K, V]{}, fmt.Errorf("cache: new %.100q: %w", cfg.Namespace, err)
	}
	cfg.Tenant = cmp.Or(cfg.Tenant, DefaultTenant)
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, 100)
	if cfg.Codec == nil {
		cfg.Codec = codec.JSON
	}
	if err := enrol(t, &cfg); err != nil {
		return Cache[K, V]{}, fmt.Errorf("cache: new %.100q: %w", cfg.Namespace, err)
	}
	s := &shared[K, V]{
		t: t, cfg: cfg, codec: cfg.Codec,
		schema:  schemaOf[V](cfg.Schema),
		size:    sizeof.For[V](),
		keySize: keySizeOf[K](),
		flights: calls.NewGroup[*flight[K, V], outcome[K, V]](t.cfg.MaxFlights),
		views:   newViews(t, cfg.Namespace, cfg.Policy),
	}
	if c, ok := t.codecs.Lookup(cfg.Codec.ID() + "+snappy"); ok {
		s.snappyID = c.ID()
	}
	if !cfg.LocalOnly {
		s.far = t.remote
	}
	if cfg.Size != nil {
		s.size = func(v *V) int64 { return cfg.Size(*v) }
	}
	return Cache[K, V]{s: s, v: s.views.of(cfg.Tenant)}, nil
}

// keySizeOf returns a function that measures a key. What a key points to may be shared, and does
// not count.
func keySizeOf[K comparable]() func(*K) int64 {
	if t := reflect.TypeFor[K](); isFlat(t) {
		return sizeof.For[K]()
	}
	return func(*K) int64 { return 0 }
}

// isFlat reports whether values of t hold texts and numbers alone.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Chan, reflect.UnsafePointer:
		return false
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if !isFlat(f.Type) {
				return false
			}
		}
	}
	return true
}

// Tenant returns the handle for another tenant's keys. If the name is empty or has a colon,
// every call of the handle fails.
func (c Cache[K, V]) Tenant(name string) Cache[K, V] {
	if c.s == nil {
		return c
	}
	return Cache[K, V]{s: c.s, v: c.s.views.of(name)}
}

// enrol checks a configuration and records how its namespace is used.
func enrol[K comparable, V any](t *Tiers, cfg *Config[K, V]) error {
	err := validate(t, cfg)
	u := use{reflect.TypeFor[K](), reflect.TypeFor[V](), cfg.Codec.ID(), cfg.Schema, cfg.LocalOnly && t.remote != nil}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err = errors.Join(err, t.used.clash(cfg.Namespace, u)); err == nil {
		t.used.add(namedBase{cfg.Namespace, cfg.Policy.Apply(policy.Default())}, u)
	}
	return err
}

func validate[K comparable, V any](t *Tiers, cfg *Config[K, V]) error {
	errs := []error{checkNames(cfg.Tenant, cfg.Namespace), key.CheckType[K]()}
	if cfg.MaxBatch < 0 {
		errs = append(errs, fmt.Errorf("field MaxBatch: %d is negative: 0 means 100", cfg.MaxBatch))
	}
	if cfg.wantsLoad && cfg.Load == nil && cfg.LoadMany == nil {
		errs = append(errs, errors.New("field Load: the loader given to For is nil: pass a loader, or write a Config without one, whose reads return ErrMiss when they find nothing"))
	}
	base := cfg.Policy.Apply(policy.Default())
	if err := cmp.Or(base.Validate(), t.policies.Load().Validate(base)); err != nil {
		errs = append(errs, fmt.Errorf("field Policy: %w", err))
	}
	if _, ok := t.codecs.Lookup(cfg.Codec.ID()); !ok {
		errs = append(errs, fmt.Errorf("codec %q is not registered: add it to TiersConfig.Codecs", cfg.Codec.ID()))
	}
	if c := codec.CheckerOf(cfg.Codec); c != nil && t.remote != nil && !cfg.LocalOnly {
		if err := c.Check(reflect.TypeFor[V]()); err != nil {
			errs = append(errs, fmt.Errorf("value type: %w", err))
		}
	}
	return errors.Join(errs...)
}

func schemaOf[V any](extra string) uint64 {
	f := codec.Fingerprint(reflect.TypeFor[V]())
	if extra == "" {
		return f
	}
	return bits.RotateLeft64(f, 1) ^ invalidate.Tag("schema", extra).Hash()
}
