package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// One node of the remote tier fails, and the cells exist. SetMany names the key of that node, and
// stores all others for every process.
func TestSetManyWithOneFailingCell(t *testing.T) {
	const n = 50
	for _, logged := range []bool{false, true} {
		bubble(t, fmt.Sprint("log ", logged), func(t *testing.T) {
			wire := tiertest.NewFaulty(tiertest.NewMemory())
			tc := cache.TiersConfig{}
			if logged {
				tc.Log = logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
			}
			_, c := fleet(t, 2, wire, tc, thingConfig{})
			vals, again := map[int]string{}, map[int]string{}
			for k := range n {
				vals[k], again[k] = fmt.Sprint("first ", k), fmt.Sprint("second ", k)
			}
			must(t, c[0].SetMany(t.Context(), vals))
			down := errors.New("the node hangs")
			wire.FailKeys(down, keyScope(t, 7).Text())
			err := c[0].SetMany(t.Context(), again)
			be, ok := errors.AsType[*cache.BatchError[int]](err)
			if !ok || len(be.Errs) != 1 || !errors.Is(be.Errs[7], down) {
				t.Fatalf("SetMany = %v, want a BatchError of key 7", err)
			}
			wire.FailKeys(nil, keyScope(t, 7).Text())
			advance(bound)
			for k := range n {
				for i := range c {
					if v, err := c[i].Get(t.Context(), k); k != 7 && (err != nil || v != again[k]) {
						t.Errorf("process %d reads %d: %q, %v; want %q", i, k, v, err, again[k])
					}
				}
			}
		})
	}
}

// The remote tier is down. SetMany and DeleteMany name every key, in a time that grows with their
// number. With its square, each call took over 20 s.
func TestManyKeysWithoutARemoteTier(t *testing.T) {
	n, most := 100_000, 10*time.Second // in quadratic time it takes minutes
	if race.Enabled {
		n = 20_000
	}
	wire := faulty()
	wire.Fail(errors.New("down"))
	_, c := fleet(t, 1, wire, cache.TiersConfig{}, thingConfig{})
	vals, keys := make(map[int]string, n), make([]int, n)
	for k := range n {
		vals[k], keys[k] = "v", k
	}
	for name, call := range map[string]func() error{
		"SetMany":    func() error { return c[0].SetMany(t.Context(), vals) },
		"DeleteMany": func() error { return c[0].DeleteMany(t.Context(), keys) },
	} {
		begun := time.Now()
		err := call()
		if took := time.Since(begun); took > most {
			t.Errorf("%s of %d keys took %v, want less than %v", name, n, took, most)
		}
		if be, ok := errors.AsType[*cache.BatchError[int]](err); !ok || len(be.Errs) != n {
			t.Errorf("%s does not name every key", name)
		}
	}
}
