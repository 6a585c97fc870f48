package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// before runs f once, right before the nth message of process 0 to the remote tier or to the
// log. It returns the number of messages so far.
func (w *logged) before(n int64, f func()) (sent *atomic.Int64) {
	sent = new(atomic.Int64)
	var once sync.Once
	count := func() {
		if sent.Add(1) == n {
			once.Do(f)
		}
	}
	w.wire[0].Before(func(context.Context, tiertest.Op, []string) { count() })
	w.link[0].Before(func(_ context.Context, op logtest.Op, _ invalidate.Append) {
		if op == logtest.Sync {
			count()
		}
	})
	return sent
}

// A Delete comes at each step of a Set. In the end all processes agree, even one that starts
// after the log has forgotten both. All read the value of Set, or no process does.
func TestSetRacesDelete(t *testing.T) {
	for _, cached := range []bool{false, true} {
		for n := int64(1); n <= 6; n++ {
			bubble(t, fmt.Sprintf("cached %v, before message %d", cached, n), func(t *testing.T) {
				w := newLogged(t, thingConfig{})
				if cached {
					w.want(t, 0, 1, "1.1")
					w.want(t, 1, 1, "1.1")
				}
				sent := w.before(n, func() {
					succeeds(t, w.c[1].Delete(t.Context(), 1))
				})
				succeeds(t, w.c[0].Set(t.Context(), 1, "set"))
				if sent.Load() < n {
					t.Skipf("a Set sends %d messages", sent.Load())
				}
				w.wire[0].Before(nil)
				w.link[0].Before(nil)
				advance(bound)
				succeeds(t, w.c[1].Delete(t.Context(), 2))
				w.log.Trim(1) // the scope log never had more than one record
				late := with(t, open(t, cache.TiersConfig{Remote: w.memory, Log: w.log}), thingConfig{Load: w.src.load})
				synctest.Wait()
				fresh := get(t, late, 1)
				for i := range w.c {
					if got := get(t, w.c[i], 1); got != fresh {
						t.Errorf("process %d reads %q, and the late process reads %q", i, got, fresh)
					}
				}
			})
		}
	}
}

// A Set begins before a Delete and ends after it. The Set does not undo the Delete, because its
// claim is gone.
func TestDeleteTakesTheClaimOfASet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.wire[0].Before(func(_ context.Context, op tiertest.Op, _ []string) {
			if op != tiertest.Fill {
				return
			}
			w.wire[0].Before(nil)
			succeeds(t, w.c[1].Delete(t.Context(), 1))
			if got := get(t, w.c[1], 1); got != "1.1" {
				t.Errorf("Get after the Delete = %q, want a load", got)
			}
		})
		succeeds(t, w.c[0].Set(t.Context(), 1, "set"))
		w.want(t, 0, 1, "1.1")
		w.want(t, 1, 1, "1.1")
		if s := total(w.tiers[0]); s.FillsLost != 1 {
			t.Errorf("%d fills lost, want 1", s.FillsLost)
		}
	})
}

// Set replaces a value, and the claim of a load in any process.
func TestSetTakesTheClaimOfALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		mem := tiertest.NewMemory()
		_, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{Load: src.load})
		done := make(chan string)
		go func() { done <- get(t, cs[1], 1) }()
		advance(time.Millisecond)
		succeeds(t, cs[0].Set(t.Context(), 1, "set"))
		if got := <-done; got != "1.1" {
			t.Errorf("the load's caller reads %q, want the loaded value", got)
		}
		for i := range cs {
			wantFetch(t, cs[i], 1, fetched{"set", cache.Source(2 - min(1, 1-i)), false, nil})
		}
	})
}

// When the record of a Set does not reach the log, the Set gives its claim back. Its value holds
// in its own process, and no process waits for the claim.
func TestPendingSetGivesTheClaimBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.want(t, 0, 1, "1.1")
		w.link[0].Fail(errors.New("down"))
		err := w.c[0].Set(t.Context(), 1, "set")
		if _, ok := errors.AsType[*invalidate.PendingError](err); !ok {
			t.Fatalf("Set = %v, want a PendingError", err)
		}
		if w.memory.Len() != 0 {
			t.Errorf("%d cells, want neither the old value nor a claim", w.memory.Len())
		}
		w.want(t, 0, 1, "set")
		w.link[0].Heal()
		advance(bound)
		w.want(t, 1, 1, "1.2")
	})
}
