package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// wantCalls checks the calls since its last call.
func wantCalls(t *testing.T, f *tiertest.Faulty, what string, gets, claims, fills, removals int) {
	t.Helper()
	got := [...]int{f.Calls(tiertest.Get), f.Calls(tiertest.Claim), f.Calls(tiertest.Fill), f.Calls(tiertest.Remove)}
	equal(t, got, [...]int{gets, claims, fills, removals}, "%s: gets, claims, fills and removals", what)
	f.ResetCalls()
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
		w := newLogged(t, thingConfig{})
		c, appends := w.c[0], 0
		w.link[0].Before(func(_ context.Context, op logtest.Op, a invalidate.Append) {
			if op == logtest.Sync && len(a.Keys) > 0 {
				appends++
			}
		})
		want := func(what string, gets, claims, fills, removals int) {
			t.Helper()
			wantCalls(t, w.wire[0], what, gets, claims, fills, removals)
			equal(t, appends, 1, "%s: appends", what)
			appends = 0
		}
		keys, vals := numbered(900, "set")
		must(t, c.SetMany(t.Context(), vals))
		want("SetMany of absent keys", 0, 1, 1, 0)
		must(t, c.SetMany(t.Context(), vals))
		want("SetMany of cached keys", 0, 2, 1, 0)
		got, err := c.GetMany(t.Context(), keys)
		must(t, err)
		same(t, vals, got, "GetMany")
		w.src.wantLoads(t, 0)
		must(t, c.DeleteMany(t.Context(), append(keys, keys...)))
		want("DeleteMany", 0, 0, 0, 1)
		equal(t, get(t, c, 7), "7.1", "after DeleteMany")
		w.wire[0].ResetCalls()
		must(t, errors.Join(c.SetMany(t.Context(), nil), c.DeleteMany(t.Context(), nil)))
		wantCalls(t, w.wire[0], "no keys", 0, 0, 0, 0)
		equal(t, appends, 0, "appends of no keys")
	})
}

func TestManyWithFailedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
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
			_, vals := numbered(n, "first ")
			_, again := numbered(n, "second ")
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
	keys, vals := numbered(n, "v")
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

// The claims of a large SetMany do not end before its values are stored.
func TestSetManyOutlivesClaims(t *testing.T) {
	const n = 40_000
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, paired, cache.TiersConfig{ClaimTTL: 400 * time.Millisecond}, thingConfig{Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}, asIs)
		w.wire[0].Delay(45 * time.Millisecond)
		_, vals := numbered(n, "set")
		succeeds(t, w.c[0].SetMany(t.Context(), vals))
		equal(t, total(w.tiers[0]).Fills.Stored, n, "fills")
		equal(t, total(w.tiers[0]).Fills.Lost, 0, "lost fills")
	})
}

// A DeleteMany of more keys than may be pending takes its time, if the remote tier and the log answer.
// It must not become an invalidation of everything.
func TestDeleteManyOfVeryManyKeys(t *testing.T) {
	const n = 70_000
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		must(t, w.c[0].Set(t.Context(), -1, "of another key"))
		w.wire[0].Delay(10 * time.Millisecond)
		succeeds(t, w.c[0].DeleteMany(t.Context(), ints(0, n)))
		w.want(t, 0, -1, "of another key")
	})
}

// If the log hangs, or a node of the remote tier, a large DeleteMany or SetMany waits no longer than one of a
// single key. Its error names every key that may not be done, also those whose cells were removed, or whose
// values cannot be stored. If the log has a part of the keys, it names only those of them whose cells may be
// left.
func TestLargeWritesAndAFault(t *testing.T) {
	deletes := func(ctx context.Context, c things, n int) error { return c.DeleteMany(ctx, ints(0, n)) }
	sets := func(ctx context.Context, c things, n int) error {
		_, vals := numbered(n, "set")
		vals[7] = "much too large"
		return c.SetMany(ctx, vals)
	}
	for _, tt := range []struct {
		name  string
		n     int
		hangs bool
		write func(ctx context.Context, c things, n int) error
		want  int // keys that the error names
	}{
		{"the log hangs", 20_000, true, deletes, 20_000},
		{"the log hangs, one part", 10, true, deletes, 10},
		{"the first cell fails", 20_000, false, deletes, 20_000 - 8_191},
		{"the log hangs, SetMany", 25_000, true, sets, 25_000},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newDuo(t, logged, cache.TiersConfig{InvalidateWait: 100 * time.Millisecond}, thingConfig{Policy: patch{MaxValueBytes: new(10)}}, asIs)
			first := keyScope(t, 0).Text()
			w.wire[0].FailKeys(&tier.KeysError{Keys: []string{first}, Err: errRemote}, first) // the cells of the others are removed
			w.link[0].Hang(tt.hangs)
			advance(bound / 3) // a call of the log hangs
			start := time.Now()
			err := tt.write(t.Context(), w.c[0], tt.n)
			equal(t, time.Since(start), 100*time.Millisecond, "the call took")
			be, ok := errors.AsType[*cache.BatchError[int]](err)
			if !ok || len(be.Errs) != tt.want {
				t.Fatalf("%.200v, want an error for %d keys", err, tt.want)
			}
			for k, err := range be.Errs {
				_, pending := errors.AsType[*invalidate.PendingError](err)
				if k != 7 && (!pending || !errors.Is(err, cache.ErrUnavailable)) || k < 2 && tt.n < 25_000 && !errors.Is(err, errRemote) {
					t.Fatalf("key %d: %v, want a PendingError, and with the remote tier's error for the first keys", k, err)
				}
			}
			w.wire[0].FailKeys(nil, first)
			w.link[0].Heal()
		})
	}
}

// If the remote tier ends the goroutine of one of the commands of a large call, as t.FailNow does, the keys of
// that command have failed.
func TestLargeCallsAndGoexit(t *testing.T) {
	const n = 2_500
	for _, op := range []tiertest.Op{tiertest.Get, tiertest.Claim, tiertest.Fill} {
		bubble(t, fmt.Sprint(op), func(t *testing.T) {
			w := newDuo(t, paired, cache.TiersConfig{}, thingConfig{}, asIs)
			keys, old := numbered(n, "old")
			must(t, w.c[1].SetMany(t.Context(), old))
			var exited atomic.Int64
			w.wire[0].Before(func(_ context.Context, o tiertest.Op, keys []string) {
				if o == op && exited.CompareAndSwap(0, int64(len(keys))) {
					runtime.Goexit()
				}
			})
			if op == tiertest.Get {
				got, err := w.c[0].GetMany(t.Context(), keys)
				must(t, err)
				equal(t, len(got), n, "values")
				equal(t, w.tiers[0].Stats().Remote.GetErrors, 1, "failed commands")
				return
			}
			_, vals := numbered(n, "new")
			failed := failedKeys(w.c[0].SetMany(t.Context(), vals))
			equal(t, int64(len(failed)), exited.Load(), "keys that failed")
			got, err := with(t, open(t, cache.TiersConfig{Remote: w.memory}), thingConfig{Load: w.src.load}).GetMany(t.Context(), keys)
			must(t, err)
			for k, v := range vals {
				if failed[k] == nil && got[k] != v {
					t.Fatalf("key %d: another process reads %q, and the error does not name it", k, got[k])
				}
			}
		})
	}
}

// If the log fails between two parts of a large DeleteMany, the error names the keys of the parts that are not
// in the log, and no others. It says so if the other scopes are not in the log either.
func TestLargeDeleteManyFailsInPart(t *testing.T) {
	const n, part = 10_000, 8_192 // a part is two records
	tag := invalidate.Tag("default", "x")
	for _, tt := range []struct {
		name   string
		n      int
		more   []invalidate.Scope
		stuck  bool // the first key's cell cannot be removed
		failed int  // keys
		also   bool // an error about the other scopes
	}{
		{name: "keys and a tag", n: n, more: []invalidate.Scope{tag}, failed: n - part, also: true},
		{name: "all keys and a tag", n: part / 2, more: []invalidate.Scope{tag}},
		{name: "a tag", n: part, more: []invalidate.Scope{tag}, also: true},
		{name: "a cell", n: 10, stuck: true, failed: 1},
		{name: "a cell and a tag", n: part, more: []invalidate.Scope{tag}, stuck: true, failed: 1, also: true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newDuo(t, logged, cache.TiersConfig{InvalidateWait: 100 * time.Millisecond}, thingConfig{}, asIs)
			keys, vals := numbered(tt.n, "old")
			must(t, w.c[0].SetMany(t.Context(), vals))
			if first := keyScope(t, 0).Text(); tt.stuck {
				w.wire[0].FailKeys(&tier.KeysError{Keys: []string{first}, Err: errRemote}, first)
				defer w.wire[0].FailKeys(nil, first)
			}
			w.failRecords(2)
			err := w.c[0].DeleteMany(t.Context(), keys, tt.more...)
			failed := failedKeys(err)
			equal(t, len(failed), tt.failed, "the keys that failed")
			for k, err := range failed {
				if _, ok := errors.AsType[*invalidate.PendingError](err); !ok || 0 < k && k < part && tt.failed < tt.n {
					t.Fatalf("key %d: %v, want PendingErrors of the other keys", k, err)
				}
			}
			about := &cache.Error{}
			if also := errors.As(err, &about) && about.Key == "default:things"; also != tt.also {
				t.Errorf("DeleteMany = %.200v, want an error about the tag: %v", err, tt.also)
			}
			synctest.Wait()
			got, err := w.c[1].GetMany(t.Context(), keys)
			must(t, err)
			for k := range keys {
				if failed[k] == nil && got[k] == vals[k] {
					t.Fatalf("key %d: another process reads the old value, and the error does not name it", k)
				}
			}
			w.link[0].Heal()
		})
	}
}

// It is the same with SetMany: the keys that it does not name are set.
func TestLargeSetManyFailsInPart(t *testing.T) {
	const n, part = 10_000, 8_192 // a part is two records
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{InvalidateWait: 100 * time.Millisecond}, thingConfig{}, asIs)
		keys, vals := numbered(n, "new")
		w.failRecords(2)
		failed := failedKeys(w.c[0].SetMany(t.Context(), vals))
		equal(t, len(failed), n-part, "the keys that failed")
		got, err := w.c[1].GetMany(t.Context(), keys)
		must(t, err)
		for k, v := range vals {
			if failed[k] == nil && got[k] != v {
				t.Fatalf("key %d: another process reads %q, and the error does not name it", k, got[k])
			}
		}
		w.link[0].Heal()
	})
}

// failRecords makes the log refuse what process 0 appends after this many records.
func (w *duo) failRecords(after int) {
	w.link[0].Before(func(_ context.Context, op logtest.Op, a invalidate.Append) {
		if op != logtest.Sync || len(a.Keys)+len(a.Scopes) == 0 {
			return
		}
		if after--; after < 0 {
			w.link[0].Fail(errDown, logtest.Sync)
			w.link[0].Before(nil)
		}
	})
}

// failedKeys returns the keys that the error of a call for many keys names.
func failedKeys(err error) map[int]error {
	if be, ok := errors.AsType[*cache.BatchError[int]](err); ok {
		return be.Errs
	}
	return nil
}

// A large SetMany that is cancelled between its parts names exactly the keys that it has not set. Their old
// values are gone everywhere, as after a Delete.
func TestLargeSetManyIsCancelled(t *testing.T) {
	const n = 25_000
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		keys, vals := numbered(n, "old")
		must(t, w.c[0].SetMany(t.Context(), vals))
		got, err := w.c[1].GetMany(t.Context(), keys)
		must(t, err)
		equal(t, maps.Equal(got, vals), true, "another process reads what SetMany has set")
		_, vals = numbered(n, "new")
		w.wire[0].Delay(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Millisecond)
		defer cancel()
		be, ok := errors.AsType[*cache.BatchError[int]](w.c[0].SetMany(ctx, vals))
		if !ok || len(be.Errs) == 0 || len(be.Errs) == n {
			t.Fatalf("SetMany = %.200v, want an error for some keys", be)
		}
		w.wire[0].Delay(0)
		advance(bound)
		got, err = w.c[1].GetMany(t.Context(), keys)
		must(t, err)
		for k, v := range vals {
			if got[k] == fmt.Sprint("old", k) || be.Errs[k] == nil && got[k] != v {
				t.Fatalf("key %d: %q in another process, and its error in SetMany is %v", k, got[k], be.Errs[k])
			}
		}
	})
}
