package cache

import (
	"context"
	"errors"
	"slices"

	"github.com/twofold-go/twofold/internal/errtree"
)

// For returns the Config of a cache whose keys and values are those of load, which need
// not be named then:
//
//	users, err := cache.New(tiers, cache.For("users:v1", loadUser))
//
// The other fields may be set before New. New refuses it when load is nil and LoadMany is
// not set either.
func For[K comparable, V any](namespace string, load Loader[K, V]) Config[K, V] {
	return Config[K, V]{Namespace: namespace, Load: load, wantsLoad: true}
}

// NotFoundIs returns a loader that calls load and returns [ErrNotFound] in place of errors
// that are one of those given, by errors.Is: sql.ErrNoRows, for example. The error itself
// stays in reach of errors.Is and errors.As. An error that joins one of them with another
// failure is passed on as it is. A nil load gives a nil loader. The slice is not kept.
func NotFoundIs[K comparable, V any](load Loader[K, V], absent ...error) Loader[K, V] {
	if load == nil {
		return nil
	}
	absent = slices.Clone(absent)
	return func(ctx context.Context, k K) (V, error) {
		v, err := load(ctx, k)
		if err != nil && slices.ContainsFunc(absent, func(a error) bool { return isWholly(err, a) }) {
			err = &absence{err}
		}
		return v, err
	}
}

// isWholly reports whether err is the target and says nothing else.
func isWholly(err, target error) bool {
	return errors.Is(err, target) && errtree.Only(err, target)
}

// absence is an error of a loader that means ErrNotFound.
type absence struct{ err error }

func (a *absence) Error() string { return ErrNotFound.Error() + ": " + a.err.Error() }

// Is says what the error means.
func (a *absence) Is(target error) bool { return target == ErrNotFound }

// Unwrap returns the error that the loader returned.
func (a *absence) Unwrap() error { return a.err }
