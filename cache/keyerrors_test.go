package cache_test

import (
	"errors"
	"testing"

	"github.com/twofold-go/twofold/cache"
)

// KeyErrors returns the error of a LoadMany whose given keys failed.
func TestKeyErrors(t *testing.T) {
	for name, errs := range map[string]map[int]error{"nil": nil, "empty": {}} {
		if err := cache.KeyErrors(errs); err != nil {
			t.Errorf("KeyErrors of %s = %v, want nil", name, err)
		}
	}
	err := cache.KeyErrors(map[int]error{2: errShard, 3: cache.ErrNotFound})
	be, ok := errors.AsType[*cache.BatchError[int]](err)
	if !ok || len(be.Errs) != 2 || be.Errs[2] != errShard || !errors.Is(err, errShard) { //nolint:errorlint // the very errors
		t.Errorf("KeyErrors = %#v, want a *BatchError with both keys", err)
	}
}
