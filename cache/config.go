package cache

import (
	"context"
	"slices"

	"github.com/twofold-go/twofold/internal/fault"
)

// For returns the Config of a cache with the key and value types of load, so the call need not
// name them:
//
//	users, err := cache.New(tiers, cache.For("users:v1", loadUser))
//
// You may set the other fields before New. New refuses the Config if both load and LoadMany are
// nil.
func For[K comparable, V any](namespace string, load Loader[K, V]) Config[K, V] {
	return Config[K, V]{Namespace: namespace, Load: load, wantsLoad: true}
}

// NotFoundIs returns a loader that calls load and turns the given errors, by errors.Is, into
// [ErrNotFound]. Examples are sql.ErrNoRows, pgx.ErrNoRows and redis.Nil. errors.Is and errors.As
// still find the original error. An error that joins one of them with another failure is a
// failure, because the value may exist; list both if both mean absence. A nil load gives a nil
// loader. The slice is not kept.
func NotFoundIs[K comparable, V any](load Loader[K, V], absent ...error) Loader[K, V] {
	if load == nil {
		return nil
	}
	absent = append(slices.Clone(absent), fault.ErrNotFound)
	return func(ctx context.Context, k K) (V, error) {
		v, err := load(ctx, k)
		if err != nil && !fault.Only(err, fault.ErrNotFound) && fault.Only(err, absent...) {
			err = &absence{err}
		}
		return v, err
	}
}

// absence is a loader's error that means ErrNotFound.
type absence struct{ err error }

func (a *absence) Error() string { return fault.ErrNotFound.Error() + ": " + a.err.Error() }

func (a *absence) Is(target error) bool { return target == fault.ErrNotFound }

func (a *absence) Unwrap() error { return a.err }
