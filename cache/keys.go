package cache

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/key"
)

// fullKey spells a key of a view.
func fullKey[K comparable](v *resident.View, k K) (key.Key, error) {
	if again := k; again != k { // no look-up would find it again
		return key.Key{}, fmt.Errorf("%w: the key holds a NaN, which is not equal to itself; use another key for it", key.ErrNumber)
	}
	full, err := v.Spell(any(k))
	if err == nil && full == (key.Key{}) {
		var id string
		if id, err = key.Of(k); err == nil {
			full, err = v.Space.Key(id)
		}
	}
	return full, err
}

// idOf returns the last part of a key's text, or "" if the key cannot be spelled.
func idOf[K comparable](k K) string {
	if id, err := key.Of(k); err == nil && len(id) <= key.MaxLen {
		return id
	}
	return ""
}

// fail returns the error of a call for a key.
func (c Cache[K, V]) fail(op string, k K, err error) error {
	if c.s == nil {
		return errZero(op)
	}
	return &Error{Op: op, Key: c.v.NameOf(idOf(k)), Err: err}
}

// changes makes j, which is zero, a job that changes an entry and has no flight. It waits for no
// load, so a loader may change the entry that it loads.
func (c Cache[K, V]) changes(j *resident.Job, op string, k K, o *resident.Options) error {
	if c.s == nil {
		return errZero(op)
	}
	err := c.v.Unusable()
	if err == nil {
		var full key.Key
		if full, err = fullKey(c.v, k); err == nil {
			j.Begin(c.v, op, full, c.slot(k), o)
			return nil
		}
	}
	return c.fail(op, k, err)
}

// asked returns the key of an ask. Its functions stay on the stack.
func (c Cache[K, V]) asked(k K) engine.Asked {
	return engine.Asked{
		Same:  func(e *resident.Entry) bool { return itemOf[K, V](e).key == k },
		Blank: func() *resident.Entry { return blank[K, V](c.v, k) },
	}
}
