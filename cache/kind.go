package cache

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/key"
)

func (s *shared[K, V]) Same(a, b *resident.Entry) bool {
	return itemOf[K, V](a).key == itemOf[K, V](b).key
}

func (s *shared[K, V]) Blank(like *resident.Entry) *resident.Entry {
	return blank[K, V](resident.ViewOf(like), itemOf[K, V](like).key)
}

func (s *shared[K, V]) Slot(e *resident.Entry) uint64 {
	return slotOf(resident.ViewOf(e), itemOf[K, V](e).key)
}

func (s *shared[K, V]) Spell(e *resident.Entry) (key.Key, error) {
	return fullKey(resident.ViewOf(e), itemOf[K, V](e).key)
}

func (s *shared[K, V]) ID(e *resident.Entry) string { return idOf(itemOf[K, V](e).key) }

func (s *shared[K, V]) Load(ctx context.Context, loader any, e *resident.Entry) error {
	it := itemOf[K, V](e)
	v, err := loader.(Loader[K, V])(ctx, it.key)
	if err != nil {
		return fault.Unmixed(err)
	}
	it.val = v
	return nil
}

// LoadMany shares out what the loader returned:
//
//	LoadMany returned           a key in the map        another key
//	nil                         its value               absent
//	a *BatchError[K]            its error in Errs,      its error in Errs, else absent
//	                            else its value
//	an error that wraps one     the same                its error in Errs, else the whole error
//	any other error             its value               absent if the whole error is
//	                                                    ErrNotFound, else the error
func (s *shared[K, V]) LoadMany(ctx context.Context, es []*resident.Entry) (perKey []error, whole error) {
	keys := make([]K, len(es))
	for i, e := range es {
		keys[i] = itemOf[K, V](e).key
	}
	vals, whole := s.cfg.LoadMany(ctx, keys)
	batch, _ := errors.AsType[*BatchError[K]](whole)
	only, _ := whole.(*BatchError[K]) //nolint:errorlint // itself, not what it wraps
	perKey = make([]error, len(es))
	known := 0
	for i, e := range es {
		it := itemOf[K, V](e)
		if batch != nil && batch.Errs[it.key] != nil {
			perKey[i] = fault.Unmixed(batch.Errs[it.key])
		} else if v, ok := vals[it.key]; ok {
			it.val = v
			known++
		} else if whole == nil || only != nil {
			perKey[i] = fault.ErrNotFound
		} else {
			perKey[i] = fault.Unmixed(whole)
		}
	}
	if known < len(vals) && anyOther(vals, keys) {
		s.store.WarnOfUnasked()
	}
	return perKey, whole
}

// anyOther reports whether vals has a key that is not in keys.
func anyOther[K comparable, V any](vals map[K]V, keys []K) bool {
	asked := 0
	for _, k := range keys {
		if _, ok := vals[k]; ok {
			asked++
		}
	}
	return asked < len(vals)
}

func (s *shared[K, V]) Adopt(e, prev *resident.Entry) { itemOf[K, V](e).val = itemOf[K, V](prev).val }

func (s *shared[K, V]) Clone(e *resident.Entry) {
	if it := itemOf[K, V](e); s.cfg.Clone != nil {
		it.val = s.cfg.Clone(it.val)
	}
}

func (s *shared[K, V]) Tags(e *resident.Entry) []string {
	if s.cfg.Tags == nil {
		return nil
	}
	it := itemOf[K, V](e)
	return s.cfg.Tags(it.key, it.val)
}

func (s *shared[K, V]) Empty(e *resident.Entry) bool {
	return s.cfg.Empty != nil && s.cfg.Empty(itemOf[K, V](e).val)
}

func (s *shared[K, V]) Equal(a, b *resident.Entry) (equal, known bool) {
	if s.cfg.Equal == nil {
		return false, false
	}
	return s.cfg.Equal(itemOf[K, V](a).val, itemOf[K, V](b).val), true
}

func (s *shared[K, V]) Key(e *resident.Entry) any { return &itemOf[K, V](e).key }

func (s *shared[K, V]) Value(e *resident.Entry) any { return &itemOf[K, V](e).val }
