package tier

import (
	"context"
	"errors"
	"fmt"
)

// AnswersError says that a [Batcher] did not answer key by key. No answer is used
// then: nobody can tell which key it is about.
type AnswersError struct {
	Op            string // the method's name
	Keys, Answers int    // how many were asked about, and answered
}

// Error names the method and the two numbers.
func (e *AnswersError) Error() string {
	return fmt.Sprintf("tier: %s gave %d answers to %d keys", e.Op, e.Answers, e.Keys)
}

// GetMany reads keys from r in one call when r is a [Batcher], one by one
// otherwise. The answers stand in the order of keys, nil where there is no
// frame or the key could not be read; the error joins what failed. There are as many
// answers as keys, whatever r does; see [AnswersError]. So it is with ClaimMany and
// FillMany.
func GetMany(ctx context.Context, r Remote, keys []string) ([][]byte, error) {
	if b, ok := r.(Batcher); ok {
		out, err := b.GetMany(ctx, keys)
		return keyByKey("GetMany", len(keys), out, err)
	}
	return each(keys, func(i int) ([]byte, error) { return r.Get(ctx, keys[i]) })
}

// ClaimMany claims keys[i] by claims[i], in one call when r is a [Batcher].
func ClaimMany(ctx context.Context, r Remote, keys []string, claims []Claim) ([]Claimed, error) {
	if b, ok := r.(Batcher); ok {
		out, err := b.ClaimMany(ctx, keys, claims)
		return keyByKey("ClaimMany", len(keys), out, err)
	}
	return each(keys, func(i int) (Claimed, error) { return r.Claim(ctx, keys[i], claims[i]) })
}

// FillMany fills keys[i] with fills[i], in one call when r is a [Batcher].
func FillMany(ctx context.Context, r Remote, keys []string, fills []Fill) ([]bool, error) {
	if b, ok := r.(Batcher); ok {
		out, err := b.FillMany(ctx, keys, fills)
		return keyByKey("FillMany", len(keys), out, err)
	}
	return each(keys, func(i int) (bool, error) { return r.Fill(ctx, keys[i], fills[i]) })
}

// keyByKey passes on a Batcher's answers if there is one for each of n keys. Otherwise
// it answers every key with zero. No answers beside an error mean that no key was
// reached.
func keyByKey[T any](op string, n int, out []T, err error) ([]T, error) {
	if len(out) == n {
		return out, err
	}
	if len(out) > 0 || err == nil {
		err = errors.Join(err, &AnswersError{Op: op, Keys: n, Answers: len(out)})
	}
	return make([]T, n), err
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
