package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func ints(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// A GetMany takes few calls. A key that repeats counts once, whether it has a value, is absent or has to
// be loaded.
func TestGetManyIsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		cfg := thingConfig{LoadMany: src.loadMany, MaxBatch: 100}
		c := with(t, tiers, cfg)
		for _, keys := range [][]int{nil, {}} {
			if m, err := c.GetMany(t.Context(), keys); m == nil || len(m) != 0 || err != nil || remote.Calls() != 0 {
				t.Errorf("GetMany(%v) = %v, %v after %d remote calls", keys, m, err, remote.Calls())
			}
		}
		counted := func(when string, hits, misses, loads, negatives int64) {
			t.Helper()
			n := total(tiers)
			equal(t, [4]int64{n.Reads.LocalHits, n.Reads.Misses, n.Loads.Calls, n.Reads.Negatives}, [4]int64{hits, misses, loads, negatives}, "hits, misses, loads and negatives %s", when)
		}
		keys := append(ints(0, 250), 1000, 1001, 3, 1001, 3, 1001) // the source does not have those from 1000
		m, err := c.GetMany(t.Context(), keys)
		counted("at first", 0, 252, 3, 2)
		if err != nil || len(m) != 250 || m[249] != "249.1" {
			t.Errorf("GetMany = %d values, %v, want 250", len(m), err)
		}
		wantCalls(t, remote, "GetMany", 1, 1, 3, 0) // a fill for each chunk of LoadMany; the chunks end at different times
		var sizes []int
		for _, b := range src.batches {
			sizes = append(sizes, len(b))
		}
		slices.Sort(sizes)
		if !slices.Equal(sizes, []int{52, 100, 100}) {
			t.Errorf("LoadMany was called with %v keys, want 100, 100 and 52", sizes)
		}
		// Absences are remembered in both tiers.
		if m, err := c.GetMany(t.Context(), keys); err != nil || len(m) != 250 || remote.Calls() != 0 {
			t.Errorf("second GetMany = %d values, %v, %d remote calls", len(m), err, remote.Calls())
		}
		counted("after the second call", 252, 252, 3, 4)
		d := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		if m, err := d.GetMany(t.Context(), keys); err != nil || len(m) != 250 || remote.Calls() != 1 {
			t.Errorf("in another process: %d values, %v, %d remote calls, want one", len(m), err, remote.Calls())
		}
		src.wantLoads(t, 252)
		_, err = c.Get(t.Context(), 1000)
		wantError(t, err, "get", "default:things:1000", cache.ErrNotFound)
	})
}

// A call that is cancelled returns the keys that it has, and its loads end.
func TestGetManyCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		mem := tiertest.NewMemory()
		_, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{LoadMany: src.loadMany})
		succeeds(t, errOf(cs[0].GetMany(t.Context(), []int{1, 2})))
		src.took = time.Minute / 3
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m, err := cs[1].GetMany(ctx, []int{1, 2, 3, 4})
		if len(m) != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("GetMany = %v, %v, want two values and the deadline", m, err)
		}
		synctest.Wait()
		src.mu.Lock()
		defer src.mu.Unlock()
		if len(src.ctxErrs) != 1 {
			t.Errorf("the load goes on without a caller: %v", src.ctxErrs)
		}
	})
}

// SoftTimeout counts once for a call, for any number of keys. The loads go on. Without an old value of
// one key the call waits for its load.
func TestGetManySoftTimeout(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(10 * time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(50 * time.Millisecond)}}
	for _, many := range []bool{false, true} {
		for harm, on := range map[string]ground{"": "alone paired", "a's remote hangs": paired} {
			play(t, scene{name: fmt.Sprintf("LoadMany %v, %s", many, harm), on: on, many: many, cfg: cfg, steps: `
				a batches 0-39; wait 1m; source takes=5s; ` + harm + `; a batches 0-39; took 50ms; a gets 1.1 stale; took 50ms
				wait 6s; a's remote well; wait 2s; a batches 0-40; took 5s; a gets 7.2 local key=7; a gets 40.1 local key=40`})
		}
	}
}

// A GetMany in chunks waits for one deadline on a remote tier that hangs.
func TestGetManyChunksOfAHungTier(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}, steps: "remote hangs; a batches 0-19999; took 50ms"})
}

// When Clone panics for one key of a GetMany, the call gives up its other keys. Their loads lose
// their last caller and are cancelled. The next read starts its own load.
func TestGetManyCloneThatPanics(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, fmt.Sprint("LoadMany=", many), func(t *testing.T) { cloneThatPanics(t, many) })
	}
}

func cloneThatPanics(t *testing.T, many bool) {
	src, fine := &source{}, true
	cfg := thingConfig{Policy: patch{LoadTimeout: new(2 * time.Hour)}, Load: src.load, Clone: func(v string) string {
		if !fine {
			panicHere("Clone")
		}
		return v
	}}
	if many {
		cfg.LoadMany = src.loadMany
	}
	w := newDuo(t, paired, cache.TiersConfig{MaxFlights: 4}, cfg, asIs)
	get(t, w.c[1], 1)
	src.takes(time.Hour)
	fine = false
	// The value of 1 comes from the remote tier; the others load for an hour.
	if p := panicOf(func() { _, _ = w.c[0].GetMany(t.Context(), []int{1, 2, 3, 4}) }); p == nil {
		t.Error("GetMany does not panic when Clone panics")
	}
	synctest.Wait()
	src.set(func(s *source) { equal(t, s.running, 0, "loads that go on after the call") })
	src.takes(0)
	fine = true
	start := time.Now()
	for _, k := range []int{1, 2, 3, 4, 5, 6, 7, 8} { // more than MaxFlights
		get(t, w.c[0], k)
	}
	equal(t, time.Since(start), 0, "the time of the reads after the panic")
	if err := errors.Join(src.ctxErrs...); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the loads ended with %v, want Canceled", err)
	}
}

// Each key of a LoadMany has its own outcome.

var errShard = errors.New("shard 7 is down")

// perKey returns an error that names the failed keys, as a loader does.
func perKey(errs map[int]error) error { return &cache.BatchError[int]{Errs: errs} }

// answers is what a LoadMany returns for the keys 1 to 4, and what its callers must get.
type answers struct {
	name   string
	got    map[int]string
	err    error
	values []int // keys with a value; those neither here nor in absent have failed
	absent []int
	is     error // the error of every failed key
}

var manyAnswers = []answers{
	{name: "nil", got: map[int]string{1: "one"}, values: []int{1}, absent: []int{2, 3, 4}},
	{name: "nil, nothing", absent: []int{1, 2, 3, 4}},
	{
		name: "a BatchError", got: map[int]string{1: "one", 2: "two"},
		err:    perKey(map[int]error{2: errShard, 3: fmt.Errorf("no row: %w", cache.ErrNotFound)}),
		values: []int{1}, absent: []int{3, 4}, is: errShard,
	},
	{
		name: "a BatchError of mixed errors", got: map[int]string{1: "one"},
		err:    perKey(map[int]error{2: errors.Join(errShard, cache.ErrNotFound)}),
		values: []int{1}, absent: []int{3, 4}, is: errShard,
	},
	{
		name: "an empty BatchError", got: map[int]string{1: "one"}, err: perKey(nil),
		values: []int{1}, absent: []int{2, 3, 4},
	},
	{
		name: "an error around a BatchError", got: map[int]string{1: "one", 2: "two"},
		err:    fmt.Errorf("%w: %w", errShard, perKey(map[int]error{2: errShard, 3: cache.ErrNotFound})),
		values: []int{1}, absent: []int{3}, is: errShard, // 4 fails with the whole error
	},
	{
		name: "a joined BatchError", got: map[int]string{1: "one"},
		err:    errors.Join(errShard, perKey(map[int]error{3: cache.ErrNotFound})),
		values: []int{1}, absent: []int{3}, is: errShard,
	},
	{
		name: "an error", got: map[int]string{1: "one"}, err: errShard,
		values: []int{1}, is: errShard,
	},
	{
		name: "an error and ErrNotFound", got: map[int]string{1: "one"}, err: errors.Join(errShard, cache.ErrNotFound),
		values: []int{1}, is: errShard,
	},
	{name: "ErrNotFound", got: map[int]string{1: "one"}, err: fmt.Errorf("no rows: %w", cache.ErrNotFound), values: []int{1}, absent: []int{2, 3, 4}},
	{
		name: "another cache's ErrNotFound", err: &cache.Error{Op: "get", Key: "k", Err: cache.ErrNotFound},
		absent: []int{1, 2, 3, 4},
	},
}

func (a answers) failed() (keys []int) {
	for _, k := range []int{1, 2, 3, 4} {
		if !slices.Contains(a.values, k) && !slices.Contains(a.absent, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// check checks what a GetMany of the keys 1 to 4 returned.
func (a answers) check(t *testing.T, who string, m map[int]string, err error) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, a.values) {
		t.Errorf("%s: values for keys %v, want %v", who, got, a.values)
	}
	var failed []int
	if be, ok := errors.AsType[*cache.BatchError[int]](err); ok {
		failed = slices.Sorted(maps.Keys(be.Errs))
		for _, err := range be.Errs {
			a.checkFailed(t, who, err)
		}
	} else if err != nil {
		t.Errorf("%s: %v (%T), want a *BatchError", who, err, err)
	}
	if !slices.Equal(failed, a.failed()) {
		t.Errorf("%s: failed keys %v, want %v: %v", who, failed, a.failed(), err)
	}
}

func (a answers) checkFailed(t *testing.T, who string, err error) {
	t.Helper()
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrNotModified) {
		t.Errorf("%s: the failure is taken for ErrNotFound or ErrNotModified: %v", who, err)
	}
	if _, remembered := errors.AsType[*cache.RememberedError](err); !remembered && !errors.Is(err, a.is) {
		t.Errorf("%s: %v, want an error that is %v", who, err, a.is)
	}
}

// asked is a LoadMany that returns the answers and records the keys of its calls.
type asked struct {
	answers
	mu   sync.Mutex // protects keys
	keys []int
}

func (a *asked) loadMany(_ context.Context, keys []int) (map[int]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, keys...)
	return a.got, a.err
}

// since returns the keys loaded since its last call, sorted.
func (a *asked) since() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys := slices.Sorted(slices.Values(a.keys))
	a.keys = nil
	return keys
}

func TestLoadManyAnswers(t *testing.T) {
	for _, tt := range manyAnswers {
		for _, remember := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, ErrorTTL=%v", tt.name, remember), func(t *testing.T) { loadManyAnswers(t, tt, remember) })
		}
	}
}

func loadManyAnswers(t *testing.T, tt answers, remember bool) {
	a := &asked{answers: tt}
	cfg := thingConfig{LoadMany: a.loadMany}
	again := tt.failed() // the keys that are loaded again
	if remember {
		cfg.Policy.ErrorTTL = new(5 * time.Second)
		again = nil
	}
	ts, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
	// A loader may return the unchanged result of another cache's GetMany.
	outer := with(t, ts[1], thingConfig{Namespace: "outer", LoadMany: func(ctx context.Context, keys []int) (map[int]string, error) { return cs[1].GetMany(ctx, keys) }})
	keys := []int{1, 2, 3, 4}
	m, err := cs[0].GetMany(t.Context(), keys)
	tt.check(t, "the call that loads", m, err)
	if be, ok := errors.AsType[*cache.BatchError[int]](err); ok {
		for k, err := range be.Errs {
			wantError(t, err, "get many", fmt.Sprint("default:things:", k), tt.is)
		}
	}
	a.since()
	for i, c := range []things{cs[0], cs[1], outer} {
		who := []string{"a later call", "another process", "another cache"}[i]
		m, err = c.GetMany(t.Context(), keys)
		tt.check(t, who, m, err)
		if got := a.since(); !slices.Equal(got, again) {
			t.Errorf("%s loads the keys %v, want %v", who, got, again)
		}
	}
	// Get follows the same rules for its one key.
	for i, c := range []things{cs[1], with(t, open(t, cache.TiersConfig{}), thingConfig{LoadMany: a.loadMany})} {
		for _, k := range keys {
			who := fmt.Sprintf("Get(%d), cached before: %v", k, i == 0)
			_, err := c.Get(t.Context(), k)
			if absent := errors.Is(err, cache.ErrNotFound); (err == nil) != slices.Contains(tt.values, k) || absent != slices.Contains(tt.absent, k) {
				t.Errorf("%s: %v", who, err)
			} else if err != nil && !absent {
				tt.checkFailed(t, who, err)
			}
		}
	}
}

// A refresh that failed does not count as one that found the value unchanged.
func TestFailedRefreshIsNotUnmodified(t *testing.T) {
	for _, many := range []bool{false, true} {
		loads := 0
		play(t, scene{name: fmt.Sprint("LoadMany ", many), cfg: loading(func(context.Context, int) (string, error) {
			if loads++; loads > 1 {
				return "", errors.Join(errSource, cache.ErrNotModified)
			}
			return "v", nil
		}, many), steps: "a gets v; a refreshes failed"})
	}
}

// KeyErrors returns the error of a LoadMany whose given keys failed.
func TestKeyErrors(t *testing.T) {
	for _, errs := range []map[int]error{nil, {}} {
		succeeds(t, cache.KeyErrors(errs))
	}
	err := cache.KeyErrors(map[int]error{2: errShard, 3: cache.ErrNotFound})
	be, ok := errors.AsType[*cache.BatchError[int]](err)
	if !ok || len(be.Errs) != 2 || be.Errs[2] != errShard || !errors.Is(err, errShard) { //nolint:errorlint // the very errors
		t.Errorf("KeyErrors = %#v, want a *BatchError with both keys", err)
	}
	equal(t, cache.KeyErrors(map[int]error{2: errSource}).Error(), "cache: 1 key failed: the source is down", "the text of one error")
	two := cache.KeyErrors(map[int]error{2: errSource, 3: errSource})
	equal(t, two.Error(), "cache: 2 keys failed, one of them: the source is down", "the text of two errors")
	pending := &invalidate.PendingError{Pending: 1, Err: errSource}
	equal(t, pending.Error(), "invalidate: 1 scope waits for the log: the source is down", "the text of a PendingError")
}

// A command to the remote tier has at most a thousand keys, because a larger one would block the server
// for too long. Each has its own deadline: a tier that answers every command in time answers all of them,
// although together they take longer than a RemoteTimeout.
func TestManyChunksOfASlowTier(t *testing.T) {
	const n = 20_000
	synctest.Test(t, func(t *testing.T) {
		remote, src := faulty(), &source{}
		cfg := thingConfig{LoadMany: src.loadMany, Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}
		first := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		second := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		remote.Delay(20 * time.Millisecond)
		remote.Before(func(_ context.Context, op tiertest.Op, keys []string) {
			if len(keys) > 1000 {
				t.Errorf("operation %v has %d keys, want at most 1000", op, len(keys))
			}
		})
		keys, vals := numbered(n, "set")
		succeeds(t, first.SetMany(t.Context(), vals))
		m, err := second.GetMany(t.Context(), keys)
		if err != nil || !maps.Equal(m, vals) {
			t.Errorf("GetMany = %d values, %v; want what SetMany has set", len(m), err)
		}
		src.wantLoads(t, 0)

		// The first command closes a breaker that is half-open, and the others follow it.
		remote.Hang(true)
		for range 5 {
			_, _ = second.Peek(t.Context(), -1)
		}
		remote.Heal()
		remote.Delay(20 * time.Millisecond)
		advance(time.Second)
		m, err = second.GetMany(t.Context(), keys, cache.SkipLocal())
		if err != nil || !maps.Equal(m, vals) {
			t.Errorf("GetMany by a breaker that is half-open = %d values, %v; want those of the remote tier", len(m), err)
		}
		src.wantLoads(t, 0)
	})
}
