package cache

import (
	"github.com/twofold-go/twofold/internal/measure"

	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync"

	"github.com/twofold-go/twofold/codec"
	calls "github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/internal/sizeof"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// spec is a Config without its types.
type spec struct {
	namespace, tenant string
	policy            policy.Patch
	localOnly         bool
	maxBatch          int
	codec             codec.Codec
	schema            string

	loader    any  // for kind.Load; nil: none
	loadsMany bool // it has a LoadMany
	wantsLoad bool // it must have one of them
	tagged    bool // it has Tags

	key, value reflect.Type
	keyFault   error
	size       func(ptr any) int64 // of a value; nil: estimated
	itemSize   int64
}

// open makes a store for what c describes, and returns the view of its tenant.
func (s *store) open(t *core_, k kind, c *spec) (*view, error) {
	if t.closed() {
		return nil, fmt.Errorf("cache: new %.100q: %w", c.namespace, errClosed_)
	}
	c.maxBatch = cmp.Or(c.maxBatch, 100)
	if c.codec == nil {
		c.codec = codec.JSON
	}
	if err := c.enrol(t); err != nil {
		return nil, fmt.Errorf("cache: new %.100q: %w", c.namespace, err)
	}
	s.t, s.kind, s.namespace, s.loader, s.loadsMany, s.tagged, s.maxBatch = t, k, c.namespace, c.loader, c.loadsMany, c.tagged, c.maxBatch
	s.keyType, s.valueType, s.codec, s.schema = c.key, c.value, c.codec, schemaOf(c.value, c.schema)
	if z, ok := t.codecs.Lookup(s.codec.ID() + "+snappy"); ok {
		s.snappyID = z.ID()
	}
	if !c.localOnly {
		s.far = t.remote
	}
	s.size, s.keySize, s.fixed = c.size, keySizeOf(c.key), c.itemSize-int64(c.key.Size())-int64(c.value.Size())
	if s.size == nil {
		s.size = sizeof.Of(c.value)
	}
	s.base, s.refreshes = c.policy.Apply(policy.Default()), t.refreshesOf(s.namespace)
	s.flights = calls.NewGroup[*flight, outcome](t.cfg.MaxFlights)
	s.others = sync.OnceValue(func() *measure.Counters {
		return t.countersOf(key.Space{Tenant: otherTenant, Namespace: s.namespace})
	})
	v := s.of(c.tenant)
	v.warnOfNoLog()
	return v, nil
}

// keySizeOf returns a function that measures the key that a pointer points to. What the key itself
// points to may be shared, and does not count.
func keySizeOf(t reflect.Type) func(ptr any) int64 {
	if isFlat(t) {
		return sizeof.Of(t)
	}
	return func(any) int64 { return 0 }
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

// enrol checks a configuration and records how its namespace is used.
func (c *spec) enrol(t *core_) error {
	err := c.validate(t)
	u := use{c.key, c.value, c.codec.ID(), c.schema, c.localOnly && t.remote != nil}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err = errors.Join(err, t.used.clash(c.namespace, u)); err == nil {
		t.used.add(namedBase{c.namespace, c.policy.Apply(policy.Default())}, u)
	}
	return err
}

func (c *spec) validate(t *core_) error {
	errs := []error{checkNames(c.tenant, c.namespace), c.keyFault}
	if c.maxBatch < 0 {
		errs = append(errs, fmt.Errorf("field MaxBatch: %d is negative: 0 means 100", c.maxBatch))
	}
	if c.wantsLoad && c.loader == nil && !c.loadsMany {
		errs = append(errs, errors.New("field Load: the loader given to For is nil: pass a loader, or write a Config without one, whose reads return ErrMiss when they find nothing"))
	}
	base := c.policy.Apply(policy.Default())
	if err := cmp.Or(base.Validate(), t.policies.Load().Validate(base)); err != nil {
		errs = append(errs, fmt.Errorf("field Policy: %w", err))
	}
	if _, ok := t.codecs.Lookup(c.codec.ID()); !ok {
		errs = append(errs, fmt.Errorf("codec %q is not registered: add it to TiersConfig.Codecs", c.codec.ID()))
	}
	if k := codec.CheckerOf(c.codec); k != nil && t.remote != nil && !c.localOnly {
		if err := k.Check(c.value); err != nil {
			errs = append(errs, fmt.Errorf("value type: %w", err))
		}
	}
	return errors.Join(errs...)
}

func schemaOf(value reflect.Type, extra string) uint64 {
	f := codec.Fingerprint(value)
	if extra == "" {
		return f
	}
	return bits.RotateLeft64(f, 1) ^ invalidate.Tag("schema", extra).Hash()
}
