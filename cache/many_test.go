package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
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

// batched is a remote tier with methods for many keys. It counts its calls.
type batched struct {
	*tiertest.Faulty
	mu    sync.Mutex // protects calls
	calls map[string]int
}

func (b *batched) count(op string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls = map[string]int{}
	}
	b.calls[op]++
}

// taken returns the calls since its last call.
func (b *batched) taken() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls = nil
	return calls
}

// one is the tier without its methods for many keys.
type one struct{ tier.Remote }

func (b *batched) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	b.count("get")
	return tier.GetMany(ctx, one{b.Faulty}, keys)
}

func (b *batched) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	b.count("claim")
	return tier.ClaimMany(ctx, one{b.Faulty}, keys, claims)
}

func (b *batched) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	b.count("fill")
	return tier.FillMany(ctx, one{b.Faulty}, keys, fills)
}

func (b *batched) Unlink(ctx context.Context, keys ...string) error {
	b.count("unlink")
	return b.Faulty.Unlink(ctx, keys...)
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
		if v := get(t, c, 7); v != "7.1" {
			t.Errorf("after DeleteMany: %q, want the value of a load", v)
		}
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

// SetMany and DeleteMany do the same as single calls, despite concurrent readers and faults of
// the remote tier. The writer reads its own writes. Its process reads no value from before an
// invalidation. With a log, all processes agree in the end.
func TestManyRaces(t *testing.T) {
	seed := seedOf(t)
	for run := range uint64(12) {
		bubble(t, fmt.Sprint(run), func(t *testing.T) { manyRaces(t, rand.New(rand.NewPCG(seed, run)), run%2 == 0, run%3 == 0) })
	}
}

func manyRaces(t *testing.T, r *rand.Rand, logged, harmed bool) {
	const n = 8
	remote, log := &batched{Faulty: faulty()}, logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
	var mu sync.Mutex // protects now and floor
	now, floor := [n]int{}, [n]int{}
	load := func(_ context.Context, k int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return now[k], nil
	}
	cs := make([]cache.Cache[int, int], 2)
	for i := range cs {
		cfg := cache.TiersConfig{Remote: remote}
		if logged {
			cfg.Log = log
		}
		cs[i] = with(t, open(t, cfg), cache.Config[int, int]{Load: load})
	}
	writer := cs[0]
	for range 300 {
		from, size := r.IntN(n), 1+r.IntN(n)
		set := r.IntN(3) > 0
		if harmed {
			switch r.IntN(6) {
			case 0:
				remote.Fail(errRemote)
			case 1:
				remote.Fills(tiertest.FillsLost)
			default:
				remote.Heal()
			}
		}
		done := make(chan struct{})
		go func() { // concurrent readers
			defer close(done)
			for i := range 20 {
				k := (from + i) % n
				mu.Lock()
				least := floor[k]
				mu.Unlock()
				if v, err := writer.Get(t.Context(), k); err != nil || v < least {
					t.Errorf("key %d: version %d, %v, but everything below %d was invalidated", k, v, err, least)
				}
				_, _ = cs[1].Get(t.Context(), k)
			}
		}()
		vals, keys := map[int]int{}, []int{}
		mu.Lock()
		for i := range size {
			k := (from + i) % n
			now[k]++
			vals[k], keys = now[k], append(keys, k)
		}
		mu.Unlock()
		var err error
		if set {
			err = writer.SetMany(t.Context(), vals)
		} else {
			err = writer.DeleteMany(t.Context(), keys)
		}
		if err != nil && !harmed {
			t.Fatalf("set %v: %v", set, err)
		}
		mu.Lock()
		for k, v := range vals {
			floor[k] = v
		}
		mu.Unlock()
		for k, v := range vals {
			if got := get(t, writer, k); got != v {
				t.Fatalf("set %v: reads %d of key %d, want %d", set, got, k, v)
			}
		}
		<-done
	}
	remote.Heal()
	advance(2 * time.Minute)
	if !logged {
		return
	}
	for k := range n {
		if got := get(t, cs[1], k); got != now[k] {
			t.Errorf("the other process reads %d of key %d, want %d", got, k, now[k])
		}
	}
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

// partial is a remote tier with one unreachable node.
type partial struct {
	*tiertest.Faulty
	down string // the suffix of that node's keys
	up   atomic.Bool
}

func (p *partial) Unlink(ctx context.Context, keys ...string) error {
	var ok, failed []string
	for _, k := range keys {
		if !p.up.Load() && strings.HasSuffix(k, p.down) {
			failed = append(failed, k)
		} else {
			ok = append(ok, k)
		}
	}
	if err := p.Faulty.Unlink(ctx, ok...); err != nil || len(failed) == 0 {
		return err
	}
	return &tier.KeysError{Keys: failed, Err: errRemote}
}

// While the log hangs, DeleteMany fails for every key, also for those whose cells were removed.
func TestDeleteManyWhileTheLogHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		remote := &partial{Faulty: w.wire[0], down: ":2"}
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
			if !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("key %d: %v, want ErrUnavailable", k, err)
			}
		}
		remote.up.Store(true)
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
