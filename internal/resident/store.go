package resident

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Spec is a Config without its types.
type Spec struct {
	Namespace, Tenant string
	Policy            policy.Patch
	LocalOnly         bool
	MaxBatch          int
	Codec             codec.Codec
	Schema            string

	Loader    any  // for Kind.Load; nil: none
	LoadsMany bool // it has a LoadMany
	WantsLoad bool // it must have one of them
	Tagged    bool // it has Tags

	Key, Value reflect.Type
	KeyFault   error
	KeyHashed  bool                // see key.Hashes
	Size       func(ptr any) int64 // of a value; nil: estimated
	Item       reflect.Type        // of a key, a value and the entry e
}

// Open makes a store for what c describes, and returns the view of its tenant.
func (s *Store) Open(t *Core, k Kind, c *Spec) (*View, error) {
	if t.Work.Closed() {
		return nil, fmt.Errorf("cache: new %.100q: %w", c.Namespace, fault.ErrClosed)
	}
	c.MaxBatch = cmp.Or(c.MaxBatch, 100)
	if c.Codec == nil {
		c.Codec = codec.JSON
	}
	n, err := c.enrol(t)
	if err != nil {
		return nil, fmt.Errorf("cache: new %.100q: %w", c.Namespace, err)
	}
	s.Core, s.Kind, s.namespace, s.loader, s.LoadsMany, s.Tagged, s.MaxBatch = t, k, c.Namespace, c.Loader, c.LoadsMany, c.Tagged, c.MaxBatch
	s.keyType, s.ValueType, s.Codec, s.Schema = c.Key, c.Value, c.Codec, schemaOf(c.Value, c.Schema)
	if z, ok := t.codecs.Lookup(s.Codec.ID() + "+snappy"); ok {
		s.SnappyID = z.ID()
	}
	if s.Far = t.remote; c.LocalOnly {
		s.Far = nil
	}
	if s.Far == nil {
		s.Skip = SkipRemote
	}
	s.size, s.estimate = c.Size, sizeOf(c.Value)
	s.blanks = blanks(c.Item)
	s.keySize, s.fixed = keySizeOf(c.Key), int64(c.Item.Size())-int64(c.Key.Size())-int64(c.Value.Size())
	s.base, s.Refreshes, s.Remarks = c.Policy.Apply(policy.Default()), &n.refreshes, &n.remarks
	s.others = sync.OnceValue(func() *measure.Counters {
		return t.countersOf(key.Space{Tenant: otherTenant, Namespace: s.namespace})
	})
	v := s.Of(c.Tenant)
	v.warnOfNoLog()
	return v, nil
}

// keySizeOf returns a function that measures the key that a pointer points to. What the key itself
// points to may be shared, and does not count.
func keySizeOf(t reflect.Type) func(ptr any) int64 {
	if isFlat(t) {
		return sizeOf(t)
	}
	return func(any) int64 { return 0 }
}

// isFlat reports whether values of t hold only texts and numbers.
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
func (c *Spec) enrol(t *Core) (*namespace, error) {
	err := c.validate(t)
	u := use{c.Key, c.Value, c.Codec.ID(), c.Schema, c.LocalOnly && t.remote != nil, c.Tagged, c.KeyHashed}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err = errors.Join(err, t.used.clash(c.Namespace, u)); err != nil {
		return nil, err
	}
	return t.used.add(c.Namespace, u, c.Policy.Apply(policy.Default())), nil
}

func (c *Spec) validate(t *Core) error {
	errs := []error{checkNames(c.Tenant, c.Namespace), c.KeyFault}
	if c.MaxBatch < 0 {
		errs = append(errs, fmt.Errorf("field MaxBatch: %d is negative: 0 means 100", c.MaxBatch))
	}
	if c.WantsLoad && c.Loader == nil && !c.LoadsMany {
		errs = append(errs, errors.New("field Load: the loader given to For is nil: pass a loader, or write a Config without one, whose reads return ErrMiss when they find nothing"))
	}
	base := c.Policy.Apply(policy.Default())
	if err := cmp.Or(base.Validate(), t.policies.Load().Validate(base)); err != nil {
		errs = append(errs, fmt.Errorf("field Policy: %w", err))
	}
	// A table is not refused for this: an override may shorten the TTL of many caches.
	if base.LocalTTL > base.TTL {
		errs = append(errs, fmt.Errorf("field Policy: LocalTTL: %v is above TTL %v, so it has no effect: set it below, or raise TTL", base.LocalTTL, base.TTL))
	}
	if _, ok := t.codecs.Lookup(c.Codec.ID()); !ok {
		errs = append(errs, fmt.Errorf("codec %q is not registered: add it to TiersConfig.Codecs", c.Codec.ID()))
	}
	if k := codec.CheckerOf(c.Codec); k != nil && t.remote != nil && !c.LocalOnly {
		if err := k.Check(c.Value); err != nil {
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
