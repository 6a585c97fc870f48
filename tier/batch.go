package tier

import (
	"context"
	"errors"
)

// GetMany reads keys from r in one call when r is a [Batcher], one by one
// otherwise. The answers stand in the order of keys, nil where there is no
// frame or the key could not be read; the error joins what failed.
func GetMany(ctx context.Context, r Remote, keys []string) ([][]byte, error) {
	if b, ok := r.(Batcher); ok {
		return b.GetMany(ctx, keys)
	}
	return each(keys, func(i int) ([]byte, error) { return r.Get(ctx, keys[i]) })
}

// ClaimMany claims keys[i] by claims[i], in one call when r is a [Batcher].
func ClaimMany(ctx context.Context, r Remote, keys []string, claims []Claim) ([]Claimed, error) {
	if b, ok := r.(Batcher); ok {
		return b.ClaimMany(ctx, keys, claims)
	}
	return each(keys, func(i int) (Claimed, error) { return r.Claim(ctx, keys[i], claims[i]) })
}

// FillMany fills keys[i] with fills[i], in one call when r is a [Batcher].
func FillMany(ctx context.Context, r Remote, keys []string, fills []Fill) ([]bool, error) {
	if b, ok := r.(Batcher); ok {
		return b.FillMany(ctx, keys, fills)
	}
	return each(keys, func(i int) (bool, error) { return r.Fill(ctx, keys[i], fills[i]) })
}

// each runs one call per key and keeps going past failures: a batch is never
// all or nothing.
func each[T any](keys []string, call func(i int) (T, error)) ([]T, error) {
	out := make([]T, len(keys))
	var errs []error
	for i := range keys {
		v, err := call(i)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[i] = v
	}
	return out, errors.Join(errs...)
}
