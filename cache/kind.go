package cache

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/errtree"
	"github.com/twofold-go/twofold/key"
)

// kind is what the engine asks about the types of one cache. Load, LoadMany, Tags, Clone and
// Empty run the user's code, so each may panic. Every entry that a method gets is of the cache's
// Tiers and space, and so of its types.
type kind interface {
	// Same reports whether two entries hold the same key. Blank returns a new entry with the key of
	// another, and Slot the key's address in the local tier. Spell spells the key, and ID the part
	// after the namespace, or "" if it cannot be spelled.
	Same(a, b *entry) bool
	Blank(like *entry) *entry
	Slot(e *entry) uint64
	Spell(e *entry) (key.Key, error)
	ID(e *entry) string

	// Load calls a loader for one entry and stores the value in it. LoadMany does so for many, and
	// returns the error of each, and that of the whole call. An entry with an error keeps no value.
	Load(ctx context.Context, loader any, e *entry) error
	LoadMany(ctx context.Context, es []*entry) (perKey []error, whole error)

	// Adopt gives an entry the value of another. Clone replaces an entry's value by a copy, if the
	// Config has Clone.
	Adopt(e, prev *entry)
	Clone(e *entry)

	// Tags returns the tags of Config.Tags, and Empty what Config.Empty says.
	Tags(e *entry) []string
	Empty(e *entry) bool

	// Equal is Config.Equal of two values, if known.
	Equal(a, b *entry) (equal, known bool)

	// Key and Value return pointers to the key and the value: a *K and a *V.
	Key(e *entry) any
	Value(e *entry) any
}

func (s *shared[K, V]) Same(a, b *entry) bool { return itemOf[K, V](a).key == itemOf[K, V](b).key }

func (s *shared[K, V]) Blank(like *entry) *entry {
	return blank[K, V](like.view, itemOf[K, V](like).key)
}

func (s *shared[K, V]) Slot(e *entry) uint64 { return slotOf(e.view, itemOf[K, V](e).key) }

func (s *shared[K, V]) Spell(e *entry) (key.Key, error) {
	return fullKey(e.view, itemOf[K, V](e).key)
}

func (s *shared[K, V]) ID(e *entry) string { return idOf(itemOf[K, V](e).key) }

func (s *shared[K, V]) Load(ctx context.Context, loader any, e *entry) error {
	it := itemOf[K, V](e)
	v, err := loader.(Loader[K, V])(ctx, it.key)
	if err != nil {
		return notAbsent(err)
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
func (s *shared[K, V]) LoadMany(ctx context.Context, es []*entry) (perKey []error, whole error) {
	keys := make([]K, len(es))
	for i, e := range es {
		keys[i] = itemOf[K, V](e).key
	}
	vals, whole := s.cfg.LoadMany(ctx, keys)
	batch, _ := errors.AsType[*BatchError[K]](whole)
	only, _ := whole.(*BatchError[K]) //nolint:errorlint // itself, not what it wraps
	perKey = make([]error, len(es))
	for i, e := range es {
		it := itemOf[K, V](e)
		if batch != nil && batch.Errs[it.key] != nil {
			perKey[i] = notAbsent(batch.Errs[it.key])
		} else if v, ok := vals[it.key]; ok {
			it.val = v
		} else if whole == nil || only != nil {
			perKey[i] = errNotFound_
		} else {
			perKey[i] = notAbsent(whole)
		}
	}
	return perKey, whole
}

// notAbsent removes ErrNotFound from an error that also reports other failures. Otherwise a key
// that failed in part would be remembered as absent.
func notAbsent(err error) error {
	if err == nil || errtree.Only(err, errNotFound_) || errtree.Only(err, errNotModified_) {
		return err
	}
	return errtree.Without(err, errNotFound_, errNotModified_)
}

func (s *shared[K, V]) Adopt(e, prev *entry) { itemOf[K, V](e).val = itemOf[K, V](prev).val }

func (s *shared[K, V]) Clone(e *entry) {
	if it := itemOf[K, V](e); s.cfg.Clone != nil {
		it.val = s.cfg.Clone(it.val)
	}
}

func (s *shared[K, V]) Tags(e *entry) []string {
	if s.cfg.Tags == nil {
		return nil
	}
	it := itemOf[K, V](e)
	return s.cfg.Tags(it.key, it.val)
}

func (s *shared[K, V]) Empty(e *entry) bool {
	return s.cfg.Empty != nil && s.cfg.Empty(itemOf[K, V](e).val)
}

func (s *shared[K, V]) Equal(a, b *entry) (equal, known bool) {
	if s.cfg.Equal == nil {
		return false, false
	}
	return s.cfg.Equal(itemOf[K, V](a).val, itemOf[K, V](b).val), true
}

func (s *shared[K, V]) Key(e *entry) any { return &itemOf[K, V](e).key }

func (s *shared[K, V]) Value(e *entry) any { return &itemOf[K, V](e).val }
