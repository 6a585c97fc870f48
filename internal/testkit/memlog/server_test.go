package memlog_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func keyFence(n uint64) []invalidate.Fence {
	k, _ := key.Parse(fmt.Sprint("t:n:", n)) // is valid
	return []invalidate.Fence{{Scope: invalidate.Key(k)}}
}

func tagFence(n uint64) []invalidate.Fence {
	return []invalidate.Fence{{Scope: invalidate.Tag("t", fmt.Sprint(n))}}
}

func both(n uint64) invalidate.Append {
	return invalidate.Append{Keys: keyFence(n), Scopes: tagFence(n)}
}

func mustSync(t *testing.T, l invalidate.Log, at invalidate.Cursor, a invalidate.Append) invalidate.Page {
	t.Helper()
	page, err := l.Sync(t.Context(), at, a)
	if err != nil {
		t.Fatalf("Sync = %v", err)
	}
	return page
}

// end returns the cursor after a page.
func end(p invalidate.Page) invalidate.Cursor {
	return invalidate.Cursor{Key: p.Keys[len(p.Keys)-1].At, Scope: p.Scopes[len(p.Scopes)-1].At}
}

func TestMishaps(t *testing.T) {
	var old memlog.Snapshot
	for _, tc := range []struct {
		name       string
		mishap     func(m *memlog.Log)
		byFresh    bool   // a caller that knows nothing starts an epoch
		byKnowing  bool   // a caller that knows the end starts one
		prevKey    uint32 // number of the record that the bump names
		keys, scps int    // records left
	}{
		{"none", func(*memlog.Log) {}, false, false, 0, 4, 4},
		{"restart", (*memlog.Log).Restart, true, true, 3, 4, 4},
		{"restore", func(m *memlog.Log) { m.Restore(old) }, true, true, 1, 2, 2},
		{"lose", func(m *memlog.Log) { m.Lose(1) }, true, true, 2, 3, 3},
		{"lose all", func(m *memlog.Log) { m.Lose(99) }, true, true, 0, 0, 0},
		{"rewind", func(m *memlog.Log) { m.Rewind(1) }, false, true, 2, 3, 3},
		{"trim", func(m *memlog.Log) { m.Trim(1) }, false, false, 0, 1, 1},
		{"trim all", func(m *memlog.Log) { m.Trim(0) }, true, true, 0, 0, 0},
		{"delete", func(m *memlog.Log) { m.Delete() }, true, true, 0, 0, 0},
		{"delete meta", func(m *memlog.Log) { m.Delete(memlog.Meta) }, true, true, 3, 4, 4},
		{"delete keys", func(m *memlog.Log) { m.Delete(memlog.Keys) }, true, true, 0, 0, 4},
		{"delete scopes", func(m *memlog.Log) { m.Delete(memlog.Scopes) }, true, true, 3, 4, 0},
	} {
		for caller, bump := range map[string]bool{"fresh": tc.byFresh, "knowing": tc.byKnowing} {
			t.Run(tc.name+" "+caller, func(t *testing.T) {
				m := memlog.New(memlog.Config{})
				mustSync(t, m, invalidate.Cursor{}, both(1))
				old = m.Snapshot()
				mustSync(t, m, invalidate.Cursor{}, both(2))
				at := end(mustSync(t, m, invalidate.Cursor{}, both(3)))
				if tc.mishap(m); caller == "fresh" {
					at = invalidate.Cursor{}
				}
				if keys, scopes := m.Len(); keys != tc.keys || scopes != tc.scps {
					t.Errorf("Len = %d, %d; want %d, %d", keys, scopes, tc.keys, tc.scps)
				}
				page := mustSync(t, m, at, both(4))
				if got := m.Bumps() == 2; got != bump {
					t.Fatalf("bumped: %v, want %v", got, bump)
				}
				if bump {
					wantBumped(t, m, page, tc.prevKey)
				}
			})
		}
	}
}

// wantBumped checks the last two records of keys.
func wantBumped(t *testing.T, m *memlog.Log, page invalidate.Page, prev uint32) {
	t.Helper()
	keys, scopes := m.Records()
	b, s := keys[len(keys)-2], scopes[len(scopes)-2]
	if !b.Bump || !s.Bump || b.At != s.At || b.Prev.N() != prev || page.Key != b.At+1 || page.Scope != b.At+1 {
		t.Errorf("the log ends with %+v, want a bump after number %d, and a record", keys[len(keys)-2:], prev)
	}
}

// Positions stay unique after every event of the server, also when no time passes in between.
func TestNeverReusesAPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memlog.New(memlog.Config{})
		old := m.Snapshot()
		seen := map[uint64]bool{}
		for range 4 {
			for _, mishap := range []func(){
				m.Restart, func() { m.Restore(old) }, func() { m.Lose(2) }, func() { m.Delete() }, func() { m.Trim(0) },
			} {
				id := mustSync(t, m, invalidate.Cursor{}, both(1)).End.KeyID
				if seen[id] {
					t.Fatalf("id %x is used twice", id)
				}
				seen[id] = true
				mishap()
			}
		}
	})
}

func TestEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memlog.New(memlog.Config{})
		epoch := func(at invalidate.Cursor) uint32 { return mustSync(t, m, at, both(1)).Key.Epoch() }
		if got := epoch(invalidate.Cursor{}); got != 1 {
			t.Errorf("first epoch = %d, want 1: no clock is asked", got)
		}
		m.Restart()
		if got := epoch(invalidate.Cursor{}); got != 2 {
			t.Errorf("epoch after a restart = %d, want 2", got)
		}
		m.Delete()
		if got := epoch(invalidate.Cursor{Key: invalidate.At(7, 3)}); got != 8 {
			t.Errorf("epoch of an empty log whose caller knows 7 = %d, want 8", got)
		}
		m.Delete()
		if got := epoch(invalidate.Cursor{}); got != 1 { // its id differs from the first
			t.Errorf("epoch of an empty log whose caller knows nothing = %d, want 1", got)
		}
		last := invalidate.Cursor{Key: invalidate.At(1<<32-1, 0)}
		if _, err := m.Sync(t.Context(), last, both(1)); !errors.Is(err, memlog.ErrEpochs) {
			t.Errorf("Sync in the last epoch = %v, want %v", err, memlog.ErrEpochs)
		}
	})
}

func TestRetain(t *testing.T) {
	m := memlog.New(memlog.Config{Retain: 3, Limit: 2})
	for i := range 10 {
		mustSync(t, m, invalidate.Cursor{}, both(uint64(i)))
	}
	page := mustSync(t, m, invalidate.Cursor{}, invalidate.Append{})
	if keys, scopes := m.Len(); keys != 3 || scopes != 3 || len(page.Keys) != 2 || !page.More {
		t.Errorf("log holds %d, %d records and gives %d, want 3, 3 and 2", keys, scopes, len(page.Keys))
	}
	if n := page.Keys[0].At.N(); n != 8 || m.Bumps() != 1 {
		t.Errorf("first record is number %d after %d bumps, want 8 after 1", n, m.Bumps())
	}
}

func TestHandles(t *testing.T) {
	m := memlog.New(memlog.Config{Bound: time.Second})
	wide := m.Handle(time.Minute)
	if got := wide.Bound(); got != time.Minute {
		t.Errorf("Bound = %v, want a minute", got)
	}
	if got := mustSync(t, m, invalidate.Cursor{}, invalidate.Append{}).Bound; got != time.Second {
		t.Errorf("Page.Bound = %v, want a second: nobody else has synced", got)
	}
	mustSync(t, wide, invalidate.Cursor{}, invalidate.Append{})
	if got := mustSync(t, m, invalidate.Cursor{}, invalidate.Append{}).Bound; got != time.Minute {
		t.Errorf("Page.Bound = %v, want the other's minute", got)
	}
	if got := new(memlog.Log).Bound(); got != memlog.DefaultBound {
		t.Errorf("Bound of the zero Log = %v, want %v", got, memlog.DefaultBound)
	}
}

func TestRefusesABadAppend(t *testing.T) {
	m := new(memlog.Log)
	for _, a := range []invalidate.Append{{Keys: tagFence(1)}, {Scopes: keyFence(1)}, {Scopes: []invalidate.Fence{{}}}, {Scopes: []invalidate.Fence{{Scope: invalidate.Tag("t", "")}}}} {
		if _, err := m.Sync(t.Context(), invalidate.Cursor{}, a); !errors.Is(err, memlog.ErrAppend) {
			t.Errorf("Sync of %+v = %v, want %v", a, err, memlog.ErrAppend)
		}
	}
	if m.Bumps() != 0 {
		t.Errorf("a refused append started an epoch")
	}
}

func TestTailIsPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memlog.New(memlog.Config{Bound: 8 * time.Second})
		at := end(mustSync(t, m, invalidate.Cursor{}, both(1)))
		start := time.Now()
		page, err := m.Tail(t.Context(), at)
		if err != nil || len(page.Keys) > 0 || time.Since(start) != 2*time.Second {
			t.Errorf("Tail of nothing = %+v, %v after %v; want an empty page after 2s", page, err, time.Since(start))
		}
	})
}
