package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// batched is a remote tier with methods for many keys. It counts its calls and their keys.
type batched struct {
	*tiertest.Faulty
	mu    sync.Mutex // protects the rest
	short string     // the call whose last answer is missing
	lost  string     // Unlink fails for keys that end with it, if not empty
	calls map[string]int
	keys  map[string]int
	most  int // keys of one call
}

// count counts a call. It returns how many of its answers arrive.
func (b *batched) count(op string, keys int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls, b.keys = map[string]int{}, map[string]int{}
	}
	b.calls[op]++
	b.keys[op] += keys
	b.most = max(b.most, keys)
	if b.short == op {
		return keys - 1
	}
	return keys
}

// taken returns the calls since its last call.
func (b *batched) taken() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls, b.keys, b.most = nil, nil, 0
	return calls
}

func (b *batched) set(short, lost string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.short, b.lost = short, lost
}

// one is the tier without its methods for many keys.
type one struct{ tier.Remote }

func (b *batched) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	out, err := tier.GetMany(ctx, one{b.Faulty}, keys)
	return out[:min(b.count("get", len(keys)), len(out))], err
}

func (b *batched) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	out, err := tier.ClaimMany(ctx, one{b.Faulty}, keys, claims)
	return out[:min(b.count("claim", len(keys)), len(out))], err
}

func (b *batched) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	out, err := tier.FillMany(ctx, one{b.Faulty}, keys, fills)
	return out[:min(b.count("fill", len(keys)), len(out))], err
}

func (b *batched) Unlink(ctx context.Context, keys ...string) error {
	b.count("unlink", len(keys))
	b.mu.Lock()
	lost := b.lost
	b.mu.Unlock()
	failed := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return lost == "" || !strings.HasSuffix(k, lost) })
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(failed, k) })
	if err := b.Faulty.Unlink(ctx, keys...); err != nil || len(failed) == 0 {
		return err
	}
	return &tier.KeysError{Keys: failed, Err: errRemote}
}

func numbered(n int, prefix string) (keys []int, vals map[int]string) {
	vals = map[int]string{}
	for i := range n {
		keys = append(keys, i)
		vals[i] = fmt.Sprint(prefix, i)
	}
	return keys, vals
}

func TestSetManyRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote, log := &batched{Faulty: faulty()}, logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
		appends := 0
		link := logtest.NewFaulty(log)
		link.Before(func(_ context.Context, op logtest.Op, a invalidate.Append) {
			if op == logtest.Sync && len(a.Keys) > 0 {
				appends++
			}
		})
		tiers := open(t, cache.TiersConfig{Remote: remote, Log: link})
		src := &source{}
		c := with(t, tiers, thingConfig{Load: src.load})
		must(t, tiers.Ready(t.Context()))
		keys, vals := numbered(900, "set")
		must(t, c.SetMany(t.Context(), vals))
		if diff := cmp.Diff(map[string]int{"claim": 1, "fill": 1}, remote.taken()); diff != "" || appends != 1 {
			t.Errorf("SetMany of absent keys: %d appends, want 1 (-want +got):\n%s", appends, diff)
		}
		must(t, c.SetMany(t.Context(), vals))
		if diff := cmp.Diff(map[string]int{"claim": 2, "fill": 1}, remote.taken()); diff != "" || appends != 2 {
			t.Errorf("SetMany of cached keys: %d appends, want 2 (-want +got):\n%s", appends, diff)
		}
		got, err := c.GetMany(t.Context(), keys)
		if diff := cmp.Diff(vals, got); diff != "" || err != nil {
			t.Errorf("GetMany: %v (-want +got):\n%s", err, diff)
		}
		src.wantLoads(t, 0)
		must(t, c.DeleteMany(t.Context(), append(keys, keys...)))
		if diff := cmp.Diff(map[string]int{"unlink": 1}, remote.taken()); diff != "" || appends != 3 {
			t.Errorf("DeleteMany: %d appends, want 3 (-want +got):\n%s", appends, diff)
		}
		equal(t, get(t, c, 7), "7.1", "after DeleteMany")
		remote.taken()
		for call, err := range map[string]error{
			"SetMany": c.SetMany(t.Context(), nil), "DeleteMany": c.DeleteMany(t.Context(), nil),
		} {
			if err != nil || remote.taken() != nil || appends != 3 {
				t.Errorf("%s of no keys: %v, or it made remote calls", call, err)
			}
		}
	})
}

func TestManyWithFailedKeys(t *testing.T) {
	tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	c := with(t, tiers, cache.Config[string, string]{Policy: patch{MaxValueBytes: new(100)}})
	long := strings.Repeat("k", key.MaxLen)
	err := c.SetMany(t.Context(), map[string]string{"a": "1", "": "2", long: "3", "big": strings.Repeat("v", 200)}, cache.Tags("t"))
	be, ok := errors.AsType[*cache.BatchError[string]](err)
	if !ok || len(be.Errs) != 3 {
		t.Fatalf("SetMany: %v, want a BatchError of three keys", err)
	}
	wantError(t, be.Errs[""], "set many", "default:things", key.ErrEmpty)
	wantError(t, be.Errs["big"], "set many", "default:things:big", cache.ErrTooLarge)
	if !errors.Is(be.Errs[long], key.ErrTooLong) {
		t.Errorf("the long key: %v", be.Errs[long])
	}
	if v, ok := c.Peek(t.Context(), "a"); v != "1" || !ok {
		t.Errorf("the valid key has %q, %v", v, ok)
	}
	err = c.DeleteMany(t.Context(), []string{"a", "", "a"}, c.Tag("other"))
	if be, ok := errors.AsType[*cache.BatchError[string]](err); !ok || len(be.Errs) != 1 || !errors.Is(be.Errs[""], key.ErrEmpty) {
		t.Fatalf("DeleteMany: %v, want a BatchError of the empty key", err)
	}
	if _, ok := c.Peek(t.Context(), "a"); ok {
		t.Error("the valid key was not deleted")
	}
	must(t, c.Set(t.Context(), "a", "2"))
	wantError(t, c.DeleteMany(t.Context(), []string{"a"}, c.Tag("")), "delete many", "default:things", invalidate.ErrScope)
	if _, ok := c.Peek(t.Context(), "a"); !ok {
		t.Error("DeleteMany with an invalid scope deleted a key")
	}
	wantError(t, c.SetMany(t.Context(), map[string]string{"a": "1"}, cache.TTL(-1)), "set many", "default:things", nil)
	wantError(t, c.Tenant("a:b").SetMany(t.Context(), map[string]string{"a": "1"}), "set many", "a:b:things", key.ErrSeparator)
	wantError(t, c.Tenant("a:b").DeleteMany(t.Context(), []string{"a"}), "delete many", "a:b:things", key.ErrSeparator)
	var zero cache.Cache[string, string]
	wantError(t, zero.SetMany(t.Context(), nil), "set many", "-", nil)
	wantError(t, zero.DeleteMany(t.Context(), nil), "delete many", "-", nil)
}

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

// While the log hangs, DeleteMany fails for every key, also for those whose cells were removed.
func TestDeleteManyWhileTheLogHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		remote := &batched{Faulty: w.wire[0], lost: ":2"}
		tiers := open(t, cache.TiersConfig{Remote: remote, Log: w.link[0]})
		c := with(t, tiers, thingConfig{Load: w.src.load})
		synctest.Wait()
		w.link[0].Hang(true)
		advance(bound / 3) // the syncer's call of the log hangs
		err := c.DeleteMany(t.Context(), []int{1, 2})
		be, ok := errors.AsType[*cache.BatchError[int]](err)
		if !ok || len(be.Errs) != 2 {
			t.Fatalf("DeleteMany: %v, want an error for each of two keys", err)
		}
		for k, err := range be.Errs {
			if !errors.Is(err, cache.ErrUnavailable) || !errors.Is(err, errRemote) {
				t.Errorf("key %d: %v, want ErrUnavailable and the remote tier's error", k, err)
			}
		}
		remote.set("", "")
		w.link[0].Heal()
	})
}

// A LocalOnly cache would leave the cells of another cache with its namespace.
func TestLocalOnlyBesideOneThatIsNot(t *testing.T) {
	tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	with(t, tiers, thingConfig{})
	_, err := cache.New(tiers, thingConfig{Namespace: "things", LocalOnly: true})
	if err == nil || !strings.Contains(err.Error(), "LocalOnly") {
		t.Errorf("New: %v, want an error that names LocalOnly", err)
	}
}

// Set refuses options that leave it no tier.
func TestSetWithoutATier(t *testing.T) {
	for name, tiers := range map[string]*cache.Tiers{
		"no remote tier": open(t, cache.TiersConfig{}), "LocalOnly": open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}),
	} {
		c := with(t, tiers, thingConfig{LocalOnly: true})
		wantError(t, c.Set(t.Context(), 1, "v", cache.SkipLocal()), "set", cell1, cache.ErrOption)
		err := c.SetMany(t.Context(), map[int]string{1: "v"}, cache.SkipLocal())
		wantError(t, err, "set many", "default:things", cache.ErrOption)
		if s := tiers.Stats(); s.Kinds.Keys != 0 {
			t.Errorf("%s: a refused call had an effect", name)
		}
	}
}

// SetMany waits for the log no longer than InvalidateWait, for any number of records.
func TestSetManyWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{Policy: patch{MaxValueBytes: new(100)}})
		w.link[0].Hang(true)
		begun := time.Now()
		err := w.c[0].SetMany(t.Context(), map[int]string{1: "a", 2: strings.Repeat("v", 200)})
		if !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("SetMany: %v, want ErrUnavailable", err)
		}
		if took := time.Since(begun); took > 260*time.Millisecond {
			t.Errorf("SetMany took %v, want 250ms", took)
		}
		w.link[0].Heal()
	})
}
