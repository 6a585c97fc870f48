package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Each key of a LoadMany has its own outcome.

var (
	errShard = errors.New("shard 7 is down")
	errQuota = codedError{"quota", "no quota"}
)

// saysAbsent is an error whose Is method matches ErrNotFound. It wraps nothing.
type saysAbsent struct{}

func (saysAbsent) Error() string        { return "no such row" }
func (saysAbsent) Is(target error) bool { return target == cache.ErrNotFound }

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
		err:    perKey(map[int]error{2: errShard, 3: cache.ErrNotFound}),
		values: []int{1}, absent: []int{3, 4}, is: errShard,
	},
	{
		name: "a BatchError of an absence and a failure", got: map[int]string{1: "one"},
		err:    perKey(map[int]error{2: fmt.Errorf("no row: %w", cache.ErrNotFound), 3: errShard}),
		values: []int{1}, absent: []int{2, 4}, is: errShard,
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
	{
		name: "ErrNotFound and an error, deep", err: fmt.Errorf("query: %w", errors.Join(
			fmt.Errorf("left: %w", cache.ErrNotFound), fmt.Errorf("right: %w", errors.Join(cache.ErrNotFound, errShard)))),
		is: errShard,
	},
	{
		name: "an error and ErrNotModified", got: map[int]string{1: "one"}, err: errors.Join(cache.ErrNotModified, errShard),
		values: []int{1}, is: errShard,
	},
	{
		name: "an error with a code", err: errors.Join(errQuota, errShard, cache.ErrNotFound, cache.ErrNotModified),
		is: errShard,
	},
	{name: "ErrNotFound", got: map[int]string{1: "one"}, err: cache.ErrNotFound, values: []int{1}, absent: []int{2, 3, 4}},
	{name: "ErrNotFound, wrapped", err: fmt.Errorf("no rows: %w", cache.ErrNotFound), absent: []int{1, 2, 3, 4}},
	{name: "ErrNotFound twice", err: errors.Join(cache.ErrNotFound, cache.ErrNotFound), absent: []int{1, 2, 3, 4}},
	{name: "ErrNotFound by a method", err: saysAbsent{}, absent: []int{1, 2, 3, 4}},
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
	re, remembered := errors.AsType[*cache.RememberedError](err)
	if !remembered && !errors.Is(err, a.is) {
		t.Errorf("%s: %v, want an error that is %v", who, err, a.is)
	}
	if errors.Is(a.err, errQuota) {
		if q, ok := errors.AsType[codedError](err); !ok && !remembered || ok && q != errQuota {
			t.Errorf("%s: errors.As does not find the error with a code in %v", who, err)
		}
		if remembered && re.Code != errQuota.code {
			t.Errorf("%s: remembered as %q, want %q", who, re.Code, errQuota.code)
		}
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
	_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
	keys := []int{1, 2, 3, 4}
	m, err := cs[0].GetMany(t.Context(), keys)
	tt.check(t, "the call that loads", m, err)
	if be, ok := errors.AsType[*cache.BatchError[int]](err); ok {
		for k, err := range be.Errs {
			wantError(t, err, "get many", fmt.Sprint("default:things:", k), tt.is)
		}
	}
	a.since()
	for i, who := range []string{"a later call", "another process"} {
		m, err = cs[i].GetMany(t.Context(), keys)
		tt.check(t, who, m, err)
		if got := a.since(); !slices.Equal(got, again) {
			t.Errorf("%s loads the keys %v, want %v", who, got, again)
		}
	}
	for _, k := range tt.failed() {
		_, err := cs[1].Get(t.Context(), k)
		if err == nil {
			t.Errorf("Get(%d) of a failed key succeeds", k)
			continue
		}
		tt.checkFailed(t, fmt.Sprintf("Get(%d)", k), err)
	}
	one := with(t, open(t, cache.TiersConfig{}), thingConfig{LoadMany: a.loadMany}) // Get follows the same rules for its one key
	for _, k := range keys {
		_, err := one.Get(t.Context(), k)
		if absent := errors.Is(err, cache.ErrNotFound); (err == nil) != slices.Contains(tt.values, k) || absent != slices.Contains(tt.absent, k) {
			t.Errorf("Get(%d) alone: %v", k, err)
		} else if err != nil && !absent {
			tt.checkFailed(t, fmt.Sprintf("Get(%d) alone", k), err)
		}
	}
	for _, k := range tt.absent {
		if _, err := cs[1].Get(t.Context(), k); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("Get(%d) of an absent key: %v", k, err)
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

// A loader may return the unchanged result of another cache's GetMany.
func TestGetManyAsLoader(t *testing.T) {
	for _, remember := range []bool{false, true} {
		bubble(t, fmt.Sprint("ErrorTTL=", remember), func(t *testing.T) {
			tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
			a := &asked{answers: answers{
				got: map[int]string{1: "one"}, err: perKey(map[int]error{2: errors.Join(errShard, cache.ErrNotFound)}),
				values: []int{1}, absent: []int{3, 4}, is: errShard,
			}}
			inner := thingConfig{Namespace: "inner", LoadMany: a.loadMany}
			if remember {
				inner.Policy.ErrorTTL = new(5 * time.Second)
			}
			in := with(t, tiers, inner)
			out := with(t, tiers, thingConfig{
				Namespace: "outer",
				LoadMany:  func(ctx context.Context, keys []int) (map[int]string, error) { return in.GetMany(ctx, keys) },
			})
			for range 2 {
				m, err := out.GetMany(t.Context(), []int{1, 2, 3, 4})
				a.check(t, "the outer cache", m, err)
			}
			want := []int{1, 2, 2, 3, 4}
			if remember {
				want = []int{1, 2, 3, 4}
			}
			same(t, want, a.since(), "keys that the source loaded")
		})
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
