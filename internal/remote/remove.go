package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// Remove removes cells. It continues after a failure, so keys on a hanging node do
// not block the others. Its error is a [*tier.KeysError].
func (t *Tier) Remove(ctx context.Context, timeout time.Duration, keys []string) error {
	var failed []string
	var errs []error
	for some := range slices.Chunk(keys, maxKeys) {
		err := t.remove(ctx, timeout, some)
		if err == nil {
			continue
		}
		if e, ok := errors.AsType[*tier.KeysError](err); ok {
			some, err = e.Keys, e.Err
		}
		failed, errs = append(failed, some...), append(errs, err)
	}
	if len(failed) == 0 {
		return nil
	}
	return &tier.KeysError{Keys: failed, Err: errors.Join(errs...)}
}
