package tier

import (
	"context"
	"errors"
	"fmt"
)

// AnswersError says that a [Batcher] did not return one answer for each key. The helpers then use
// none of the answers, because they cannot know which key an answer belongs to.
type AnswersError struct {
	Op            string // the method's name
	Keys, Answers int    // how many keys and answers there were
}

// Error returns the method and the two numbers.
func (e *AnswersError) Error() string {
	return fmt.Sprintf("tier: %s gave %d answers to %d keys", e.Op, e.Answers, e.Keys)
}

// GetMany reads keys from r, in one call when r is a [Batcher], and one by one otherwise. The
// answers are in the order of keys. An answer is nil when there is no frame or the key could not
// be read. The error joins all failures. GetMany, ClaimMany and FillMany always return one answer
// for each key; see [AnswersError].
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

// keyByKey returns a Batcher's answers if there is one for each of n keys, and otherwise a zero
// answer for every key. When there are no answers but an error, no key was reached.
func keyByKey[T any](op string, n int, out []T, err error) ([]T, error) {
	if len(out) == n {
		return out, err
	}
	if len(out) > 0 || err == nil {
		err = errors.Join(err, &AnswersError{Op: op, Keys: n, Answers: len(out)})
	}
	return make([]T, n), err
}

// each makes one call for each key and continues after failures: a batch is never all or nothing.
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
