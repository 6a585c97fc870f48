package cache_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
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

func TestKeyErrorsOfALoadMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [][]int
		_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{
			LoadMany: func(_ context.Context, keys []int) (map[int]string, error) {
				asked = append(asked, slices.Sorted(slices.Values(keys)))
				m, errs := map[int]string{}, map[int]error{}
				for _, k := range keys {
					switch k {
					case 1:
						m[k] = "one"
					case 2:
						errs[k] = errShard
					case 3:
						errs[k] = cache.ErrNotFound
					}
				}
				return m, cache.KeyErrors(errs)
			},
		})
		for _, c := range cs {
			m, err := c.GetMany(t.Context(), []int{1, 2, 3, 4})
			if !maps.Equal(m, map[int]string{1: "one"}) {
				t.Errorf("GetMany = %v, want one value", m)
			}
			be, ok := errors.AsType[*cache.BatchError[int]](err)
			if !ok || len(be.Errs) != 1 {
				t.Fatalf("GetMany: %v, want a *BatchError for key 2 only", err)
			}
			wantError(t, be.Errs[2], "get many", "default:things:2", errShard)
		}
		if len(asked) != 2 || !slices.Equal(asked[1], []int{2}) {
			t.Errorf("LoadMany was called with %v, want only the failed key in the second call", asked)
		}
	})
}
